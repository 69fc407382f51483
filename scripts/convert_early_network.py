"""Writes a network of commit 7eb9a41 anew for today's commands: FOLDER as its `azo export` made it.

`python scripts/convert_early_network.py FOLDER NEW`. Towers then had a value through tanh, and now
have chances of all final scores. With the logit x of the value for every win, -x for every loss and
none for a draw, the expected result is the same tanh(x). The expected score means nothing, so
`search.score_share` is 0. Settings that no longer exist are left out.
"""

import argparse
import json
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

from azo.games import registry
from azo.run import config, network_files

DRAW = -1e3  # logit of a chance of 0


def main(argv: Sequence[str]) -> int:
    """Converts one network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="exported network of commit 7eb9a41")
    parser.add_argument("new", type=pathlib.Path, help="folder to write")
    flags = parser.parse_args(argv)
    settings = read_settings(json.loads((flags.folder / "settings.json").read_text()))
    variables = ocp.PyTreeCheckpointer().restore((flags.folder / "network").absolute())
    scores = jnp.array(registry.make(settings.game).scores)
    params = variables["params"]
    params["score_output"] = score_output(params.pop("value_output"), scores)
    network_files.save(flags.new, variables, settings)
    return 0


def score_output(value_output: Mapping[str, jax.Array], scores: jax.Array) -> dict[str, jax.Array]:
    """Returns the layer of the logits of final scores `[Z]`, ascending, whose value is tanh's.

    Args:
      value_output: kernel `[units, 1]` and bias `[1]` of the layer before tanh.
      scores: `[Z]`, symmetric around 0.
    """
    signs = jnp.sign(scores).astype(jnp.float32)
    return {
        "kernel": jnp.outer(value_output["kernel"], signs),
        "bias": jnp.where(signs == 0, DRAW, value_output["bias"] * signs),
    }


def read_settings(early: Mapping[str, Any]) -> config.Config:
    """Returns the settings of the network and its run that still exist."""
    sections = {}
    for name in ("game", "search", "network", "selfplay", "learner", "run"):
        known = config.Config.model_fields[name].annotation.model_fields
        sections[name] = {key: value for key, value in early[name].items() if key in known}
    sections["search"]["score_share"] = 0.0
    return config.Config.model_validate(sections)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
