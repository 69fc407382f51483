"""Front ends of text: `terminal` with `interruptible` and `kept_game`, `gtp`, `nboard`.

`json_server` answers `json_queries` of programs.
"""
