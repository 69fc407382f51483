"""Networks: towers, patterns, their kernels, and their files.

Read `base` (the `Network` interface and what a network predicts), `network` (by its settings
`network_config`), `residual`, `pattern_network` with `pattern_tables`, `kernels/`;
`initial_variables` (fresh ones, or carried over from another board); `exported_network` and
`network_files` (folders of networks), `checkpoint_folder` (those of a run), `origin` (what a
network learned from), `portable` with `portable_files` (StableHLO). `shipped/` has the networks
that come with azo. Nothing here knows how a network is trained.
"""
