import jax
import numpy as np
import pytest
from support.builders import tiny_run
from support.drivers.refusals import message_of
from support.faults import damage

from azo.games import othello, registry
from azo.networks import exported_network, initial_variables, network_files
from azo.training import first_network


@pytest.fixture
def exported(tmp_path):
    return tiny_run.export(tmp_path / "net")


def test_the_game_of_a_player_is_read_without_the_arrays_of_its_network(exported):
    (exported / "network.npz").write_bytes(b"")
    for player in ("{}", "network:{}", "policy:{}", "network:{}:30"):
        game = network_files.game_of(player.format(exported))
        assert game == tiny_run.settings().game, player
    for player in ("random", "greedy", "rollouts:100", "absent", "policy:absent"):
        assert network_files.game_of(player) is None, player


def test_equal_rows_of_a_table_are_stored_once(tmp_path):
    random = np.random.default_rng(0)
    table = np.concatenate([np.zeros((1, 9000, 5)), random.normal(size=(1, 9000, 5))], axis=1)
    table = table[:, random.integers(18000, size=20000)].astype(np.float32)
    table[0, :3] = -0.0
    arrays = {"params/tables": table, "params/bias": table[0, 0]}
    exported_network.write(tmp_path, arrays, "{}")
    shapes = {name: array.shape for name, array in arrays.items()}
    found = exported_network.read_arrays(tmp_path, shapes)["params"]
    assert found["tables"].tobytes() == table.tobytes()
    with np.load(tmp_path / "network.npz") as members:
        stored = dict(members)
    num_distinct = np.unique(table.view(np.int32), axis=1).shape[1]
    assert stored["params/tables.rows"].shape == (num_distinct, 5)
    stored["params/tables.numbers"][0, 7] = 20000
    np.savez(tmp_path / "network.npz", **stored)
    with pytest.raises(ValueError, match=r"network.npz: damaged: index 20000 is out of bounds"):
        exported_network.read_arrays(tmp_path, shapes)


@pytest.mark.parametrize("name", ["network.npz", "settings.json", "SHA256SUMS"])
@pytest.mark.parametrize("kind", damage.KINDS, ids=lambda kind: kind.__name__)
def test_a_damaged_export_is_refused_in_one_line(exported, name, kind):
    kind(exported / name)
    if name == "SHA256SUMS" and kind is damage.delete:
        network_files.load(exported)  # as an export of an earlier version
        damage.truncate(exported / "network.npz")
    assert message_of(network_files.load, exported).startswith(str(exported))


OF_ANY_SIZE = {"num_blocks": 1, "num_channels": 4, "value_units": 4, "heads": "pooled"}
FLAT = OF_ANY_SIZE | {"heads": "flat"}


def othello_settings(shape, folder=None, **game):
    return tiny_run.settings(
        game={"name": "othello"} | game,
        network=shape,
        replay={"capacity": 1024},
        run={"start_from": folder and str(folder)},
    )


def saved(folder, shape):
    """Saves a network for 4x4; returns its variables."""
    settings = othello_settings(shape, size=4)
    variables = initial_variables.init(othello.Othello(4), settings.network, jax.random.key(0))
    network_files.save(folder, variables, settings)
    return variables


def load_start(folder, shape, **game):
    """Returns the start of a run on 6x6."""
    settings = othello_settings(shape, folder, size=6, **game)
    return first_network.load_start(settings, registry.make(settings.game))


@pytest.mark.parametrize(
    ("shape", "fresh"),
    [(OF_ANY_SIZE, []), (FLAT, ["policy_logits", "score_output", "value_hidden"])],
)
def test_a_run_begins_with_the_layers_of_a_network_for_a_smaller_board(tmp_path, shape, fresh):
    folder = tmp_path / "small"
    variables = saved(folder, shape)
    start, note = load_start(folder, shape)
    names = ", ".join(fresh) or "none"
    assert note == f"run.start_from {folder}: from othello4 to othello6, new layers: {names}"
    assert variables["params"].keys() - start["params"].keys() == set(fresh)
    for name in ("stem_kernel", "policy_projection", "stem_norm"):
        tiny_run.assert_same_bits(start["params"][name], variables["params"][name])
    tiny_run.assert_same_bits(start["batch_stats"], variables["batch_stats"])


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ({}, "run.start_from {} holds a network of another shape than [network]"),
        ({"is_reversed": True}, "run.start_from: {}: a network for othello4, not for othello6-r"),
    ],
)
def test_only_the_size_of_the_board_may_differ_from_that_of_the_start(tmp_path, game, expected):
    saved(tmp_path, FLAT)
    message = message_of(load_start, tmp_path, OF_ANY_SIZE, **game)
    assert message.startswith(expected.format(tmp_path))
