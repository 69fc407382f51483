"""Learning from self-play, all of it pure functions on devices.

Read `iteration` first (play, label, insert, learn), then `selfplay`, `trajectories`, `targets`,
`replay`, `learner` and `run_state`. `options` has the parts that settings switch on, one module
each. Between iterations the trainer applies the rules of `generations` and their gate, with
`promotion` of the network that passes. `supervised` and `pretraining` learn from recorded games.
This layer must not know files, clocks, printing, matches or opponents.
"""
