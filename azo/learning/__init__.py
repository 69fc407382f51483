"""Learning from self-play, all of it pure functions on devices.

Read `loop` first (play, label, insert, learn), then `selfplay` with its options,
`ply_records`, `targets`, `replay`, `learner`, and `run_state`.
`supervised` and `pretraining` learn from recorded games, `endings` from exact ones. This layer must
not know files, clocks, printing, matches or opponents.
"""
