"""A model of time for compiled programs, by published figures.

A kernel takes as long as the longest of its launch, its bytes at the memory's bandwidth, and its
products at the peak of the matrix units. Nothing overlaps. The host takes a fixed time for each
choice that it reads. azo's own kernels follow a path through a tree, level by level, and each level
waits for reads that depend on each other. On a TPU the compiler's own cycles are divided by the
clock.

These are calculated figures. Nothing here was measured.
"""

from benchmarks.accelerators import hlo, targets

LAUNCH_SECONDS = 2.5e-6
HOST_READ_SECONDS = 10e-6
NUM_LEVELS = 8  # of the longest path down a tree, with 32 to 64 simulations
NUM_PROOFS = 3  # levels up which a proof passes
LEVEL_SECONDS = 3e-6  # of a path in a kernel: four reads of 0.6 us, and some hundred instructions
# A step of the solver: 19 kernels and a host read; in a program some thousand instructions, which
# partly wait for each other, at 1.7 GHz.
LANE_STEP_SECONDS = 19 * LAUNCH_SECONDS + HOST_READ_SECONDS
PROGRAM_STEP_SECONDS = 1.5e-6
# Steps of the slowest program for the first ply of the endings of 32,768 plies, by `endings`. Its
# 4,111 searches are 129 programs; more wait until a multiprocessor is free. Later plies are left
# out.
PROGRAM_STEPS, PLIES_AT_ONCE = 22_070, 32_768
LEVELS = {"descent": NUM_LEVELS + 1, "expansion": NUM_PROOFS + 1}  # of azo's kernels


def seconds(
    loop: hlo.Loop, target: targets.Target, scale: float = 1.0, scope: str | None = None
) -> float:
    """Returns the seconds of one turn, with the loops inside, for `scale` times the games.

    Of `scope` only, if one is given; host reads belong to no scope. Branches count as not taken.
    """
    if target.hertz:
        total = loop.cycles(scope) / target.hertz
    else:
        total = sum(_kernel_seconds(x, target, scale) for x in loop.kernels(scope))
        total += HOST_READ_SECONDS * len(loop.branches) * (scope is None)
    for inner in loop.loops:
        turns = inner.turns or _turns(inner)
        total += turns * seconds(inner, target, scale, scope)
        if inner.turns is None and scope is None and not target.hertz:
            total += turns * HOST_READ_SECONDS
    return total


def ending_seconds(num_plies: int) -> float:
    """Returns the seconds of the exact endings of so many plies of self-play, in azo's kernel."""
    return PROGRAM_STEP_SECONDS * PROGRAM_STEPS * max(1.0, num_plies / PLIES_AT_ONCE)


def _turns(loop: hlo.Loop) -> int:
    return NUM_PROOFS if "/proofs/" in loop.path else NUM_LEVELS


def _kernel_seconds(operation: hlo.Operation, target: targets.Target, scale: float) -> float:
    memory = operation.num_bytes / target.bytes_per_second
    levels = [n for name, n in LEVELS.items() if f"/{name}/pallas_call" in operation.path]
    return max(
        LAUNCH_SECONDS + LEVEL_SECONDS * sum(levels),
        scale * memory,
        scale * operation.flops / target.flops,
    )
