"""Settings of any kind: bounds and types of fields, TOML and JSON with one-line messages.

Read `setting_types` (bounds, and when a setting has an effect), `validation` (files to models),
`typed_settings` (what a command line has typed), `import_paths` (which code of users may be
imported) and `shipped_files` (settings and networks that come with azo). Nothing here knows a game.
"""
