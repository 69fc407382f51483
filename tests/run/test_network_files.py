import jax
import numpy as np
import pytest
from support import damage, tiny_run

from azo.games import othello, registry
from azo.learning import network, placement
from azo.run import network_files


@pytest.fixture
def exported(tmp_path):
    settings = tiny_run.settings()
    variables = network.init(tiny_run.game(), settings.network, jax.random.key(0))
    network_files.save(tmp_path / "net", variables, settings)
    return tmp_path / "net"


def test_the_game_of_a_player_is_that_of_its_network(exported):
    game = tiny_run.settings().game
    for player in ("{}", "network:{}", "policy:{}", "network:{}:30"):
        assert network_files.game_of(player.format(exported)) == game, player


def test_the_game_of_a_network_is_read_without_its_arrays(exported):
    (exported / "network.npz").write_bytes(b"")
    assert network_files.game_of(str(exported)) == tiny_run.settings().game


@pytest.mark.parametrize("player", ["random", "greedy", "rollouts:100", "absent", "policy:absent"])
def test_players_without_a_network_have_no_game_of_their_own(player):
    assert network_files.game_of(player) is None


def test_a_loaded_network_brings_its_settings(exported):
    trained = network_files.loader(tiny_run.game())(str(exported))
    settings = tiny_run.settings()
    assert trained.network_config == settings.network
    assert trained.search_config == settings.search
    expected = network.init(tiny_run.game(), settings.network, jax.random.key(0))
    tiny_run.assert_same_bits(trained.variables, expected)


def test_a_network_for_another_game_is_refused(exported):
    with pytest.raises(ValueError) as caught:
        network_files.loader(othello.Othello(4))(str(exported))
    assert str(caught.value) == f"{exported}: a network for tictactoe, not for othello4"


def test_a_folder_that_does_not_exist_is_no_network():
    with pytest.raises(FileNotFoundError, match="no such folder"):
        network_files.loader(tiny_run.game())("absent")


@pytest.mark.parametrize("name", ["network.npz", "settings.json", "SHA256SUMS"])
@pytest.mark.parametrize("kind", damage.KINDS, ids=lambda kind: kind.__name__)
def test_a_damaged_export_is_refused_in_one_line(exported, name, kind):
    kind(exported / name)
    if name == "SHA256SUMS" and kind is damage.delete:
        network_files.load(exported)  # as an export of an earlier version
        return
    with pytest.raises(ValueError) as error:
        network_files.load(exported)
    assert str(error.value).startswith(str(exported))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", damage.KINDS[1:4], ids=lambda kind: kind.__name__)
def test_a_damaged_export_of_an_earlier_version_is_refused_in_one_line(exported, kind):
    (exported / "SHA256SUMS").unlink()
    kind(exported / "network.npz")
    with pytest.raises(ValueError) as error:
        network_files.load(exported)
    assert str(error.value).startswith(f"{exported}/network.npz: damaged: ")


def test_an_export_that_fails_leaves_nothing(tmp_path):
    def fail(folder):
        raise OSError(28, "No space left on device", str(folder / "x"))

    new = tmp_path / "net"
    with pytest.raises(ValueError) as error:
        network_files.save(new, tiny_run.begin(1).variables(), tiny_run.settings(), add=fail)
    assert str(error.value) == f"{new}: cannot write here (No space left on device)"
    assert list(tmp_path.iterdir()) == []


OF_ANY_SIZE = {"num_blocks": 1, "num_channels": 4, "value_units": 4, "heads": "pooled"}
FLAT = OF_ANY_SIZE | {"heads": "flat"}


def saved(folder, shape, **game):
    """Saves a network for Othello, on 4x4 by default; returns its variables."""
    settings = tiny_run.settings(
        game={"name": "othello", "size": 4} | game, network=shape, replay={"capacity": 1024}
    )
    variables = network.init(registry.make(settings.game), settings.network, jax.random.key(0))
    network_files.save(folder, variables, settings)
    return variables


def load_start(folder, shape, **game):
    """Returns the start of a run on 6x6."""
    settings = tiny_run.settings(
        game={"name": "othello", "size": 6} | game,
        network=shape,
        replay={"capacity": 1024},
        run={"start_from": str(folder)},
    )
    return network_files.load_start(settings, registry.make(settings.game))


@pytest.mark.parametrize(
    ("shape", "fresh"),
    [(OF_ANY_SIZE, []), (FLAT, ["policy_logits", "score_output", "value_hidden"])],
)
def test_a_run_begins_with_the_layers_of_a_network_for_a_smaller_board(tmp_path, shape, fresh):
    folder = tmp_path / "small"
    variables = saved(folder, shape)
    start, note = load_start(folder, shape)
    names = ", ".join(fresh) or "none"
    assert note == f"run.start_from {folder}: from othello4 to othello6, fresh layers: {names}"
    assert variables["params"].keys() - start["params"].keys() == set(fresh)
    for name in ("stem_kernel", "policy_projection", "stem_norm"):
        tiny_run.assert_same_bits(start["params"][name], variables["params"][name])
    tiny_run.assert_same_bits(start["batch_stats"], variables["batch_stats"])


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ({}, "run.start_from {} holds a network of another shape than [network]"),
        ({"is_reversed": True}, "{}: a network for othello4, not for othello6-reversed"),
    ],
)
def test_only_the_size_of_the_board_may_differ_from_that_of_the_start(tmp_path, game, expected):
    saved(tmp_path, FLAT)
    with pytest.raises(ValueError) as caught:
        load_start(tmp_path, OF_ANY_SIZE, **game)
    assert str(caught.value) == expected.format(tmp_path)


def test_a_run_with_stages_begins_with_a_network_of_one(tmp_path):
    one = {"kind": "patterns", "patterns": {"set": "small", "num_features": 2}}
    several = one | {"patterns": one["patterns"] | {"num_stages": 3}}
    variables = saved(tmp_path / "one", one, size=6)
    start, note = load_start(tmp_path / "one", several)
    assert note is None
    for stage in range(3):
        np.testing.assert_array_equal(
            start["params"]["tables"][stage], variables["params"]["tables"][0]
        )


def test_layers_that_a_start_lacks_are_fresh():
    settings, game = tiny_run.settings(), tiny_run.game()
    whole = tiny_run.begin(1).variables()
    kernel = np.asarray(whole["params"]["stem_kernel"]) + 1
    start = {"params": {"stem_kernel": kernel}, "batch_stats": {}}
    state = placement.begin(game, settings, placement.make_mesh(1), seed=0, start=start)
    expected = whole | {"params": whole["params"] | {"stem_kernel": kernel}}
    tiny_run.assert_same_bits(state.variables(), expected)
