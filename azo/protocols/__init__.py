"""Protocols of other programs: `gtp`, `nboard`, and JSON.

`json_server` answers `json_queries`; `line_reader` reads lines while a search runs.
"""
