"""One number for the behaviour of self-play and learning.

`python scripts/signature.py` runs some iterations of two shipped recipes from seed 0. It prints a
number for each, and compares them with `scripts/signature.json`. A number depends on every weight,
every position in the replay and every optimiser state, bit for bit. A commit with an intended
change of behaviour stores new numbers by `--write` and says so; any other commit keeps them.

Code is compiled for AVX2 on every processor, so that results agree.
"""

import argparse
import hashlib
import json
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_max_isa=AVX2"

import jax
import numpy as np

from azo.games import registry
from azo.learning import loop
from azo.run import config, shipped_files

FILE = pathlib.Path(__file__).with_name("signature.json")
NUM_ITERATIONS = {"quickstart": 6, "tictactoe": 4}
NUM_DEVICES = 2


def signature(recipe: str) -> int:
    """Returns the number of a recipe in `configs/`: 48 bits of a hash over the whole run state."""
    settings = config.load_file(shipped_files.CONFIGS / f"{recipe}.toml")
    game = registry.make(settings.game)
    mesh = loop.make_mesh(NUM_DEVICES)
    total_steps = settings.run.num_iterations * settings.learner.num_steps
    state = loop.begin(game, settings, mesh, seed=0, total_steps=total_steps)
    iterate = loop.build(game, settings, mesh, total_steps=total_steps)
    for _ in range(NUM_ITERATIONS[recipe]):
        state, _ = iterate(state)
    if not int(state.learner.num_steps):
        raise ValueError(f"{recipe}: no optimiser step in {NUM_ITERATIONS[recipe]} iterations")
    digest = hashlib.sha256()
    leaves = jax.tree_util.tree_leaves((state.learner, state.replay, state.games.position))
    for leaf in leaves:
        digest.update(np.ascontiguousarray(jax.device_get(leaf)).tobytes())
    return int.from_bytes(digest.digest()[:6], "big")


def main(argv: list[str]) -> int:
    """Compares the numbers with the stored ones; returns 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="store the numbers instead of comparing"
    )
    flags = parser.parse_args(argv)
    jax.config.update("jax_num_cpu_devices", NUM_DEVICES)
    found = {recipe: signature(recipe) for recipe in NUM_ITERATIONS}
    if flags.write:
        FILE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    expected = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for recipe, number in found.items():
        verdict = (
            "as stored" if expected.get(recipe) == number else f"stored: {expected.get(recipe)}"
        )
        print(f"{recipe} {number} ({verdict})")
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
