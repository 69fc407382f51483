"""Batched tree search: it turns a network's policy and value into better ones.

Read in this order: `evaluations` (what a search asks of a network), `search_tree` (nodes, slots),
`mcts` (descend, expand, evaluate, back up), `puct` and `gumbel` (which move is followed and played)
with their interface `rules`, `proofs` (bounds that pass up), `improvement` (`search`, the entry
point), `settings`, `explored` (unplayed positions of a search), `rollouts` (random games as
evaluations). Nothing here knows of networks, replay or files.
"""
