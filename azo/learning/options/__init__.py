"""Options of self-play and learning, one module each; the core names none of them.

Read `interface` first, then `registry`, which lists those that settings switch on: `resignation`,
`unplayed`, `adjudication` with `endings`, `duplicates`.
"""
