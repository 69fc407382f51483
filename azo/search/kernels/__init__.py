"""Kernels of the search for NVIDIA GPUs: one program for each game, written with Pallas.

`descent` and `expansion` do what the loops of `mcts` do, with equal visits. At the start of a run
`check` compares the two; after that, searches with `kernels = "auto"` use the kernels.
"""

_TRUSTED: list[bool] = []


def are_trusted() -> bool:
    """Returns whether `trust` was called in this process."""
    return bool(_TRUSTED)


def trust() -> None:
    """Lets searches with `kernels = "auto"` use the kernels, if they are compiled from now on."""
    _TRUSTED.append(True)
