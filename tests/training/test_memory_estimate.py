"""The estimate of memory before a program is compiled, against compiled programs."""

import json
import pathlib

import pytest

from azo.games import registry
from azo.networks import network
from azo.settings import shipped_files
from azo.training import config, memory_estimate

PROGRAMS = json.loads(
    (pathlib.Path(__file__).parents[1] / "data" / "program_memory.json").read_text()
)
RECIPE = config.load_file(shipped_files.CONFIGS / "azo8-gpu.toml")
PLATFORMS = {"h100": "gpu", "v5e": "tpu"}


def settings_of(program):
    """The settings of a compiled program; those of self-play learn from one position."""
    tower = {"num_blocks": program["blocks"], "num_channels": program["channels"]}
    net = RECIPE.network.model_copy(update=tower)
    if program["network"] == "patterns":
        net = network.NetworkConfig(kind="patterns")
    batch = 1 if program["program"] == "self-play" else program["batch"]
    changes = {
        "replay": {"capacity": program["capacity"]},
        "learner": {"batch_size": batch},
        "selfplay": {"num_games": program["games"], "num_plies": program["plies"]},
        "search": {"num_simulations": program["simulations"]},
    }
    changed = {
        name: getattr(RECIPE, name).model_copy(update=update) for name, update in changes.items()
    }
    return RECIPE.model_copy(update=changed | {"network": net})


@pytest.mark.parametrize(
    "program",
    PROGRAMS,
    ids=lambda x: "-".join(str(x[name]) for name in x if name != "mib"),
)
def test_the_estimate_is_within_a_fifth_of_the_compiled_program(program):
    settings, platform = settings_of(program), PLATFORMS[program["target"]]
    game = registry.make(settings.game)
    parts = memory_estimate.of_iteration(settings, game, program["devices"], platform)
    total = sum(parts.values())
    if program["program"] == "learning" and platform == "tpu":  # it inserts nothing
        copies = memory_estimate.COPIES_OF_REPLAY_ON_TPU
        total -= parts["replay.capacity"] * copies // (copies + 1)
    ratio = total / 2**20 / program["mib"]
    assert 0.8 < ratio < 1.2


@pytest.mark.parametrize(
    ("section", "setting", "factor"),
    [("replay", "capacity", 100), ("selfplay", "num_games", 16), ("learner", "batch_size", 16)],
)
def test_the_largest_part_is_that_of_the_setting_that_was_raised(section, setting, factor):
    part = getattr(RECIPE, section)
    raised = part.model_copy(update={setting: getattr(part, setting) * factor})
    settings = RECIPE.model_copy(update={section: raised})
    if section == "selfplay":  # learning would need more than self-play
        learner = RECIPE.learner.model_copy(update={"batch_size": 64})
        settings = settings.model_copy(
            update={"learner": learner, "replay": RECIPE.replay.model_copy(update={"capacity": 9})}
        )
    game = registry.make(settings.game)
    parts = memory_estimate.of_iteration(settings, game, 1, "gpu")
    assert max(parts, key=parts.get) == f"{section}.{setting}"
