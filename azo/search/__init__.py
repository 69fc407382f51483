"""Batched tree search: it turns a network's policy and value into better ones.

Read in this order: `settings`, `search_tree` (nodes, slots, evaluations), `selection` (PUCT and its
relatives), `proofs` (bounds that pass up), `simulation` (descend, expand, evaluate, back up),
`improvement` (the algorithms; `improvement.search` is the entry point), `explored` (unplayed
positions of a search), `rollouts` (random games as evaluations). Nothing here knows of networks,
replay or files.
"""
