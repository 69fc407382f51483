"""Alpha-beta on a linear pattern evaluation: the player `patterns:DEPTH`.

Reading order: `evaluation` (the value of a position), `shipped` (weights and ProbCut of the shipped
file), `search` (alpha-beta with a table, iterative deepening and ProbCut). docs/classical.md says
how the file is made.
"""
