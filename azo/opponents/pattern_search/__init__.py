"""Alpha-beta on a linear pattern evaluation: the player `patterns:DEPTH`.

Reading order: `evaluation` (the value of a position), `search` (alpha-beta with a table, iterative
deepening and ProbCut, by the weights of the shipped file). docs/notebook/classical.md says how
the file is made.
"""
