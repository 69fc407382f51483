"""Alpha-beta on a linear evaluation of patterns that was learned by self-play.

Reading order: `evaluation` (the value of a position), `search` (principal variation search with a
table and ProbCut), `weights` (the file of both, beside a network), `self_play` (its games with
itself), `fitting` (the fit of an evaluation to positions with known values).
"""
