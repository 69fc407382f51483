"""The examples run as a reader would run them, and do what they say."""

import functools
import importlib
import json
import pathlib
import re
import subprocess
import sys
from unittest import mock

import jax
import numpy as np
import pytest
from support import thorough
from support.builders import random_games
from support.fakes import fake_evaluation

import azo
from examples import alphazero

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
PUBLIC = r"\bazo\.(?!load_engine|action_text|analyse_game|solve_position)\w+"


def output_of(*words):
    """Returns what Python prints for these words in the folder of the repository."""
    done = subprocess.run(
        [sys.executable, *words], cwd=EXAMPLES.parent, capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.thorough
def test_the_engine_plays_analyses_and_solves_by_public_names_alone():
    assert not re.search(PUBLIC, (EXAMPLES / "engine.py").read_text())
    lines = output_of("examples/engine.py").splitlines()
    assert re.fullmatch(r"after f5: [df][46], expected result [+-]0\.\d\d", lines[0])
    assert "black (X) to move" in lines
    assert sum(line.startswith("ply ") for line in lines) == 3
    assert lines[-1] == "black scores +38 by a2"


@pytest.mark.thorough
def test_random_games_by_the_rules_alone_have_the_known_shares_of_results():
    """White wins about half of random games, and one in 23 is drawn."""
    shares = [float(text) for text in re.findall(r"0\.\d+", output_of("examples/step_rules.py"))]
    np.testing.assert_allclose(shares, [0.455, 0.043, 0.502], atol=0.02)  # four standard errors


def scores(*flags):
    """Returns the scores before and after the training of AlphaZero."""
    shown = output_of("examples/alphazero.py", *flags)
    return [float(score) for score in re.findall(r"random moves: score (\S+)", shown)]


@pytest.mark.thorough
def test_alphazero_learns_to_beat_random_moves_at_tic_tac_toe():
    """The network alone, without a search; 0.984 after 15 of 60 iterations."""
    untrained, trained = scores("--num-iterations", "15")
    assert untrained < 0.75
    assert trained > 0.85


AGREED = (azo.TicTacToe(), azo.Othello(4), azo.Othello(6))


@pytest.mark.parametrize("game", thorough.after_first(AGREED), ids=lambda game: game.name)
@pytest.mark.parametrize("num_simulations", thorough.after_first([16, 32, 64]))
def test_the_search_of_the_example_visits_the_nodes_of_azo(game, num_simulations):
    """Early and late positions, finished games left out; the hash has no ties."""
    hashed = fake_evaluation.hashed(game)

    def evaluate(position):
        evaluation = hashed(jax.random.key(0), position)
        return evaluation.prior_logits, evaluation.value

    config = azo.SearchConfig(
        algorithm="puct",
        num_simulations=num_simulations,
        has_proofs=False,
        puct={"c_puct": alphazero.C_PUCT},
    )
    early, late = (random_games.positions(game, plies) for plies in (2, 6))
    position = jax.tree.map(lambda *x: np.concatenate(x), early, late)
    run = functools.partial(alphazero.search, game, evaluate, num_simulations=num_simulations)
    tree = jax.jit(run)(position)
    expected = fake_evaluation.search(game, position, config)
    goes_on = ~np.asarray(game.is_over(position))
    assert goes_on.sum() >= 12
    visits, values = expected.tree.visits[goes_on], expected.tree.value_sum[goes_on]
    np.testing.assert_array_equal(tree.visits[goes_on], visits)  # of every node, in its order
    np.testing.assert_allclose(tree.value_sum[goes_on], values, atol=1e-5)
    of_moves = alphazero.root_visits(tree)[goes_on]
    np.testing.assert_allclose(of_moves / num_simulations, expected.policy[goes_on], atol=1e-6)
    np.testing.assert_array_equal(of_moves.argmax(axis=-1), expected.action[goes_on])


def test_the_value_target_of_the_example_is_the_result_for_the_side_to_move():
    """A win of the second player at the fourth ply, a draw at the third."""
    reward = np.array([[0, 0], [0, 0], [0, 0], [1, 0], [0, 0]], np.float32)
    discount = np.array([[-1, -1], [-1, -1], [-1, 0], [0, 0], [0, 0]], np.float32)
    expected = [[-1, 0], [1, 0], [-1, 0], [1, 0], [0, 0]]
    np.testing.assert_array_equal(alphazero.results(reward, discount), expected)


@pytest.mark.thorough
def test_the_examples_of_the_example_are_the_plies_of_whole_games():
    """Nothing is learned from the plies after the end of a game."""
    game = azo.TicTacToe()
    state = alphazero.start(game, jax.random.key(0))
    examples = jax.jit(alphazero.self_play, static_argnums=0)(
        game, state.variables, jax.random.key(1)
    )
    is_over = np.asarray(game.is_over(examples.position))
    np.testing.assert_array_equal(examples.weight, ~is_over)
    assert is_over.any()
    np.testing.assert_array_equal(np.asarray(examples.value)[is_over], 0)
    illegal = ~np.asarray(game.legal_mask(examples.position))
    assert not np.asarray(examples.policy)[illegal].any()
    np.testing.assert_allclose(examples.policy.sum(axis=-1), 1, atol=1e-6)
    rows = alphazero.remember(state, examples).replay.weight
    assert rows.sum() == (~is_over).sum()


def test_the_example_takes_only_the_rules_from_azo():
    text = (EXAMPLES / "alphazero.py").read_text()
    assert set(re.findall(r"\bazo\.\w+", text)) == {"azo.Game", "azo.TicTacToe", "azo.Othello"}
    assert not re.search(r"^(from azo|import azo\.)", text, re.MULTILINE)


@pytest.mark.thorough
def test_an_own_network_is_trained(tmp_path):
    flags = ("--num-iterations", "4", "--folder", str(tmp_path / "run"))
    lines = output_of("examples/own_network.py", *flags)
    assert re.search(r"^value of the start: [+-]\d", lines, re.MULTILINE)
    with pytest.raises(ValueError, match="give --allow-import own_network:Attention"):
        azo.load_network(tmp_path / "run")
    with pytest.raises(ValueError, match="there is no module 'own_network': install it"):
        azo.load_network(tmp_path / "run", allow_imports=["own_network:Attention"])


def test_the_loggers_get_the_numbers_of_each_event(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    wandb, mlflow = mock.MagicMock(), mock.MagicMock()
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    loggers, settings = importlib.import_module("loggers"), {"run.num_iterations": 2}
    for logger in loggers.LOGGERS.values():
        on_event = logger(settings)
        on_event({"event": "iteration", "iteration": 2, "learner/policy_loss": 1.5, "time/x": None})
        on_event({"event": "end", "iteration": 2, "reason": "done"})
    wandb.init.assert_called_once_with(project="azo", config=settings)
    logged = wandb.init.return_value.log
    calls = [mock.call({"learner/policy_loss": 1.5}, step=2), mock.call({}, step=2)]
    logged.assert_has_calls(calls)
    wandb.init.return_value.finish.assert_called_once_with()
    mlflow.log_params.assert_called_once_with(settings)
    mlflow.log_metrics.assert_any_call({"learner/policy_loss": 1.5}, step=2)
    mlflow.end_run.assert_called_once_with()


@pytest.mark.slow
def test_alphazero_runs_on_6x6_othello():
    assert len(scores("--game", "othello6", "--num-iterations", "10")) == 2


@pytest.mark.thorough
def test_connect_four_is_learned_by_import_path_and_beats_random_moves(tmp_path):
    """0.992 against random moves after 6 iterations of 32 games."""
    flags = ("--iterations", "6", "--folder", str(tmp_path / "run"))
    shown = output_of("-m", "examples.connect_four", *flags)
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert settings["game"]["name"] == "examples.connect_four:ConnectFour"
    assert shown.splitlines()[:2] == [
        "game connect_four: settings of tictactoe, a tower of 1 block of 32 channels",
        f"connect_four in {tmp_path / 'run'}",
    ]
    scores = [float(x) for x in re.findall(r"against random: .*\(score (\d\.\d+)", shown)]
    assert scores[-1] > 0.8
