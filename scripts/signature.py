"""Two numbers for the behaviour of self-play and learning.

`python scripts/signature.py` runs some iterations of shipped recipes from seed 0, one also by PUCT,
and compares the numbers of each run with `scripts/signature.json`:

* `learning`: the sum of all weights and states of the optimiser, each times a fixed random factor.
* `games`: the same sum over the replay and the games, where boards count as their bits.

Rounding differs between processors. It changes `learning` by less than 0.01, and now and then the
course of one game, which changes `games` by about 10; other rules, draws or losses change far
more. A commit with an intended change of behaviour stores new numbers by `--write` and says so.
"""

import argparse
import json
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np

from azo.games import registry
from azo.learning import iteration, sharding
from azo.settings import shipped_files
from azo.training import config

FILE = pathlib.Path(__file__).with_name("signature.json")
# Recipe, iterations and changed settings of each run.
RUNS = {
    "tower6": ("tower6", 2, {}),
    "tictactoe": ("tictactoe", 4, {}),
    "tictactoe-puct": ("tictactoe", 4, {"search.algorithm": "puct"}),
}
NUM_DEVICES = 2
TOLERANCE = {"learning": 0.05, "games": 40.0}


def signature(name: str) -> dict[str, float]:
    """Returns the numbers of a run."""
    recipe, num_iterations, changes = RUNS[name]
    settings = config.load_file(shipped_files.CONFIGS / f"{recipe}.toml")
    settings = config.with_settings(settings, changes)
    game = registry.make(settings.game)
    mesh = sharding.make_mesh(NUM_DEVICES)
    state = sharding.begin(game, settings, mesh, seed=0)
    iterate = iteration.build(game, settings, mesh)
    for number in range(num_iterations):
        state, _ = iterate(state, number / settings.run.num_iterations)
    if not int(state.learner.num_steps):
        raise ValueError(f"{name}: no optimiser step in {num_iterations} iterations")
    parts = {"learning": state.learner, "games": (state.replay, state.games.position)}
    return {part: round(projection(arrays), 4) for part, arrays in parts.items()}


def projection(arrays: object) -> float:
    """Returns the sum of the entries of a pytree, or of their bits, times random factors."""
    total = 0.0
    for leaf in jax.tree.leaves(arrays):
        array = np.asarray(leaf).ravel()
        if array.dtype == np.uint32:
            array = np.unpackbits(array.view(np.uint8))
        total += array.astype(float) @ np.random.default_rng(0).standard_normal(array.size)
    return float(total)


def main(argv: list[str]) -> int:
    """Compares the numbers with the stored ones; returns 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="store the numbers instead of comparing"
    )
    flags = parser.parse_args(argv)
    jax.config.update("jax_num_cpu_devices", NUM_DEVICES)
    found = {name: signature(name) for name in RUNS}
    if flags.write:
        FILE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    expected = json.loads(FILE.read_text(encoding="utf-8"))
    num_different = 0
    for run, numbers in found.items():
        for name, number in numbers.items():
            stored = expected[run][name]
            is_same = abs(number - stored) < TOLERANCE[name]
            num_different += not is_same
            verdict = "as stored" if is_same else "DIFFERENT"
            print(f"{run} {name} {number} (stored: {stored}): {verdict}")
    return int(num_different > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
