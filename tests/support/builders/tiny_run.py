"""The smallest run that has every part, compiled once for all tests that need it."""

import functools
import json

import jax
import numpy as np

import azo.learning.iteration
from azo.games import registry
from azo.learning import sharding
from azo.networks import initial_variables, network_files
from azo.training import checkpoint, config, metrics

TOWER = {
    "kind": "residual",
    "num_blocks": 1,
    "num_channels": 8,
    "value_units": 8,
    "patterns": {"has_move_counts": False},  # for tests of pattern networks
}
SECTIONS = {
    "game": {"name": "tictactoe"},
    "search": {"num_simulations": 4, "gumbel": {"max_considered_actions": 4}},
    "network": TOWER,
    "selfplay": {"num_games": 8, "num_plies": 4},
    "targets": {"value": "outcome"},
    "replay": {"capacity": 128, "min_positions": 32},
    "learner": {
        "schedule": "constant",
        "batch_size": 16,
        "num_steps": 2,
        "warmup_steps": 2,
        "learning_rate": 1e-2,
        "score_weight": 0.25,
        "augment": True,
    },
    "evaluation": {"every": 1000, "num_games": 2, "num_simulations": 2, "opponent": "random"},
    "run": {"num_iterations": 6, "num_devices": 1, "save_every": 2},
}

# The same with everything switched on that carries something from one iteration to the next.
EVERYTHING = {
    "search": {"num_simulations": 8, "gumbel": {"max_considered_actions": 4}},
    "network": TOWER,
    "selfplay": {"num_games": 8, "num_plies": 4, "explored_share": 1.0},
    "resignation": {"is_enabled": True, "played_out_share": 0.5},
    "targets": {"value": "lambda", "trace_decay": 0.98, "average_duplicates": "same"},
    "replay": {"capacity": 256, "min_positions": 16, "window_generations": 1},
    "learner": {"batch_size": 16, "num_steps": 2, "warmup_steps": 2},
    "generation": {"num_games": 8, "num_samples": 32},
    "gate": {"is_enabled": True, "num_games": 2, "num_simulations": 2, "threshold": 0.4},
    "run": {"num_iterations": 8, "num_devices": 1, "save_every": 1},
}


def settings(*, minutes=None, **sections) -> config.Config:
    """Returns the settings of the run, `sections` changed where given."""
    changed = {name: SECTIONS.get(name, {}) | section for name, section in sections.items()}
    return config.Config.model_validate(SECTIONS | changed | {"minutes": minutes})


@functools.cache
def game():
    return registry.make(settings().game)


def export(folder, **sections):
    """Saves the untrained network of the run, `sections` changed; returns its folder."""
    chosen = settings(**sections)
    variables = initial_variables.init(
        registry.make(chosen.game), chosen.network, jax.random.key(0)
    )
    network_files.save(folder, variables, chosen)
    return folder


def begin(num_devices: int, **sections):
    """Returns the state before the first iteration, new at each call, since runs donate theirs."""
    mesh = sharding.make_mesh(num_devices)
    return sharding.begin(game(), settings(**sections), mesh, seed=0)


@functools.cache
def iteration(num_devices: int):
    """Returns the jitted iteration."""
    recipe, mesh = settings(), sharding.make_mesh(num_devices)
    return azo.learning.iteration.build(game(), recipe, mesh)


@functools.cache
def trained():
    """Returns the state on the host after six iterations on one device."""
    state = begin(1)
    for _ in range(6):
        state, _ = iteration(1)(state, 0.0)
    return jax.device_get(state)


def toml(**sections) -> str:
    """Returns a settings file of the run, `sections` changed where given."""
    chosen = settings(**sections).model_dump(mode="json", include=set(SECTIONS) | set(sections))

    def lines(tree, place=""):
        for name, value in tree.items():
            if isinstance(value, dict):
                yield from lines(value, f"{place}{name}.")
            elif value is not None:
                yield f"{place}{name} = {json.dumps(value)}\n"

    return "".join(lines(chosen))


def train(folder, *flags, name="run", **sections):
    """Returns the command that trains the run in FOLDER/NAME, `sections` changed."""
    path = folder / "tiny.toml"
    path.write_text(toml(**sections))
    return ["train", "--config", path, "--run.folder", folder / name, *flags]


def restored(folder, **sections):
    """Returns the newest saved state of the run, `sections` changed."""
    with checkpoint.Checkpoints(folder, keep=9) as checkpoints:
        return checkpoints.restore(begin(1, **sections))


def iterations(folder):
    """Returns the numbers of the iterations that the metrics have."""
    return [event["iteration"] for event in metrics.read(folder, "iteration")]


def assert_same_bits(left, right):
    """Fails unless two states are equal in structure, types and every bit."""
    assert jax.tree.structure(left) == jax.tree.structure(right)
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(left)]
    for path, a, b in zip(paths, jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        assert a.dtype == b.dtype, path
        one, other = (_bits(x) for x in (a, b))
        assert one.tobytes() == other.tobytes(), path


def _bits(leaf):
    is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)
