"""Alpha-beta on a linear evaluation of patterns that was learned by self-play.

Reading order: `evaluation` (the value of a position), `search` (principal variation search with a
table and ProbCut), `weights` (the file of both, beside a network), `fitting` (how an evaluation is
fitted).
"""
