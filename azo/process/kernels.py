"""Whether programs for NVIDIA GPUs may use azo's own kernels in place of XLA's loops.

A run compares the two at its start, see `training.devices`, before it trusts the kernels.
"""

_TRUSTED: list[bool] = []


def are_trusted() -> bool:
    """Returns whether `trust` was called in this process."""
    return bool(_TRUSTED)


def trust() -> None:
    """Lets programs use the kernels, if they are compiled from now on."""
    _TRUSTED.append(True)
