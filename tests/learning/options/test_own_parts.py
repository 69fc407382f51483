"""Parts of your own by import path: the examples, and a run with all of them."""

import pathlib
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.builders import made_plies, tiny_run

import azo
from azo.games import tictactoe
from azo.learning import iteration, learner, replay, sharding, targets, trajectories
from azo.learning.options import interface, registry
from azo.networks import initial_variables, network
from azo.settings import import_paths
from azo.training import config
from examples import n_step, nnx_network, prioritised_replay

GAME = tictactoe.TicTacToe()
EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
OWN = {
    "selfplay": {"options": [f"{__name__}:Own", "examples.prioritised_replay:Surprise"]},
    "targets": {"value": "examples.n_step:value"},
    "replay": {"sampling": "examples.prioritised_replay:sample"},
    "learner": {"optimiser": f"{__name__}:lion"},
}
SEEN = []


class Own(interface.Option):
    """Plays the first legal action, counts plies, and adds a term to the loss."""

    fields: ClassVar = {"sum": jax.ShapeDtypeStruct((2,), jnp.int16)}

    def begin_run(self):
        return jnp.int32(0)

    def begin_games(self, key, num_games):
        return jax.random.randint(key, (num_games,), 0, 1000)

    def after_search(self, games, result):
        legal = self.game.legal_mask(games.position)
        return result.replace(action=legal.argmax(axis=-1).astype(jnp.int32))

    def field_values(self, turn):
        return {"sum": jnp.stack([turn.games.ply, turn.result.action], axis=1)}

    def after_step(self, turn, part, state):
        return turn, part, part + state

    def next_state(self, state, trajectory, record, total):
        return state + total(jnp.int32(record.size))

    def loss(self, prediction, examples):
        SEEN.append(examples.extras)
        return 0.1 * jnp.square(prediction.value - examples.extras["sum"][:, 0]).mean()

    def metrics(self, state):
        return {"own/plies": state.astype(jnp.float32)}


def lion(rate, config):
    return optax.lion(rate, weight_decay=config.weight_decay)


def not_an_option():
    """Is a function."""


@pytest.mark.parametrize("name", ["n_step", "prioritised_replay", "forced_playouts"])
def test_the_examples_have_at_most_thirty_lines(name):
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 30


def test_n_step_returns_are_the_result_near_the_end_and_the_search_value_before():
    rng = np.random.default_rng(0)
    value = rng.integers(-8, 9, 9) / 8
    discount = np.array([-1, -1, -1, -1, -1, -1, 0, -1, -1])
    reward = np.array([0, 0, 0, 0, 0, 0, 1, 0, 0])
    plies = made_plies.make(
        GAME,
        (9, 1),
        search_value=value[:, None],
        discount=discount[:, None],
        reward=reward[:, None],
    )
    history = trajectories.empty_history(GAME, 1)
    settings = targets.TargetsConfig(value="examples.n_step:value")
    _, labels, _ = targets.label(settings, history, plies)
    steps = n_step.NUM_PLIES
    expected = [value[t + steps] if t + steps <= 6 else (-1.0) ** (6 - t) for t in range(7)]
    played = labels.is_new[GAME.max_plies :, 0]
    np.testing.assert_array_equal(played, [True] * 7 + [False] * 2)
    np.testing.assert_allclose(labels.value[GAME.max_plies :, 0][:7], expected)


def test_rows_are_drawn_in_proportion_to_their_priority():
    surprise = np.array([0.0, 0.4, 0.9, 0.0, 1.9, 0.0, 0.0, 0.0])
    buffer = replay.empty_buffer(GAME, 8, fields=prioritised_replay.Surprise.fields)
    buffer = buffer.replace(
        extras={"surprise": jnp.asarray(surprise, jnp.float16)},
        size=jnp.array([5]),
        next_row=jnp.array([5]),
    )
    rows = jax.jit(prioritised_replay.sample, static_argnums=(2, 3))(
        buffer, jax.random.key(0), 20_000, 0
    )
    weight = (surprise + 0.1) * (np.arange(8) < 5)
    counts = np.bincount(rows, minlength=8)
    expected = 20_000 * weight / weight.sum()
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected)).all()
    assert not counts[5:].any()


@pytest.mark.thorough
def test_a_run_learns_with_parts_of_its_own():
    recipe = tiny_run.settings(**OWN)
    state = sharding.begin(GAME, recipe, sharding.make_mesh(1), seed=0)
    iterate = iteration.build(GAME, recipe, sharding.make_mesh(1))
    drawn = np.asarray(state.games.options["Own"])
    assert len(set(drawn)) > 1
    for number in range(1, 5):
        state, metrics = iterate(state, 0.0)
        assert metrics.others["own/plies"] == 32 * number
    assert 0 < metrics.others["learner/Own_loss"] < 100
    assert int(state.learner.num_steps) > 0
    # Each row has what was recorded when its position was played.
    size = int(state.replay.size[0])
    assert size >= 32
    board = GAME.unpack(state.replay.board[:size])
    ply, action = np.asarray(state.replay.extras["sum"][:size]).T
    np.testing.assert_array_equal(ply, GAME.planes(board).sum(axis=(1, 2, 3)))
    np.testing.assert_array_equal(action, GAME.legal_mask(board).argmax(axis=-1))
    assert (np.asarray(state.replay.extras["surprise"][:size]) > 0).any()
    assert SEEN[-1]["sum"].shape == (16, 2)
    moments = jax.tree.leaves(state.learner.optimiser_state)
    assert all(np.isfinite(np.asarray(x)).all() for x in moments)


def test_a_wrong_part_is_refused_in_one_line():
    def use(**sections):
        recipe = tiny_run.settings(**sections)
        registry.active(GAME, recipe)
        history = trajectories.empty_history(GAME, 1)
        targets.label(recipe.targets, history, history)

    def refused(match, **sections):
        with pytest.raises(ValueError, match=match) as error:
            use(**sections)
        assert "\n" not in str(error.value)

    option = {"options": [f"{__name__}:not_an_option"]}
    refused("should be a subclass of azo.learning.options.interface.Option", selfplay=option)
    refused("two options or fields are named Own", selfplay={"options": [f"{__name__}:Own"] * 2})
    refused("no 'absent'; its own names: value", targets={"value": "examples.n_step:absent"})
    refused("should return an array of shape", targets={"value": f"{__name__}:not_values"})
    with pytest.raises(ValueError, match="should be an import path such as"):
        tiny_run.settings(selfplay={"options": ["surprise"]})


def not_values(trajectory):
    return trajectory.search_value[0]


@pytest.mark.parametrize(
    "setting",
    [
        *("selfplay.options", "targets.value", "replay.sampling", "learner.optimiser"),
        "search.algorithm",
    ],
)
def test_a_file_does_not_decide_which_parts_run(setting, tmp_path, monkeypatch):
    monkeypatch.setattr(import_paths, "_allowed", set())
    path = "nobody.allowed:this"
    value = f'["{path}"]' if setting == "selfplay.options" else f'"{path}"'
    file = tmp_path / "theirs.toml"
    file.write_text(f'base = "tictactoe"\n{setting} = {value}\n')
    with pytest.raises(ValueError, match=f"--allow-import {path}"):
        config.load_file(file)
    import_paths.allow([path])
    assert path in str(config.load_file(file))


@pytest.mark.thorough
def test_a_network_in_nnx_keeps_the_contract():
    azo.check_network(nnx_network.Network, GAME)
    settings = network.NetworkConfig(kind="examples.nnx_network:Network")
    variables = initial_variables.init(GAME, settings, jax.random.key(0))
    optimiser = learner.make_optimiser(learner.LearnerConfig(), settings)
    assert learner.init(optimiser, variables).params["layers"]["hidden"]["kernel"].shape == (18, 64)
