"""The examples run as a reader would run them, and do what they say."""

import importlib
import json
import pathlib
import re
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

import azo

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
PUBLIC = r"\bazo\.(?!load_engine|action_text|analyse_game|solve_position)\w+"


def output_of(name, *flags):
    command = [sys.executable, str(EXAMPLES / name), *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_engine_plays_analyses_and_solves_by_public_names_alone():
    assert not re.search(PUBLIC, (EXAMPLES / "engine.py").read_text())
    lines = output_of("engine.py").splitlines()
    assert re.fullmatch(r"after f5: [df][46], expected result [+-]0\.\d\d", lines[0])
    assert "black (X) to move" in lines
    assert sum(line.startswith("ply ") for line in lines) == 3
    assert lines[-1] == "black scores +38 by a2"


def test_random_games_by_the_rules_alone_have_the_known_shares_of_results():
    """White wins about half of random games, and one in 23 is drawn."""
    shares = [float(text) for text in re.findall(r"0\.\d+", output_of("step_rules.py"))]
    np.testing.assert_allclose(shares, [0.455, 0.043, 0.502], atol=0.02)  # four standard errors


def scores(lines):
    found = [re.search(r"score (0\.\d+|1\.0+)", line) for line in lines if "random moves" in line]
    return [float(match[1]) for match in found]


def test_alphazero_learns_to_beat_random_moves_at_tic_tac_toe():
    """The network alone, without a search; 0.984 after 15 of 60 iterations."""
    assert len((EXAMPLES / "alphazero.py").read_text().splitlines()) <= 200
    untrained, trained = scores(output_of("alphazero.py", "--num-iterations", "15").splitlines())
    assert untrained < 0.75
    assert trained > 0.85


def test_an_own_network_is_trained(tmp_path):
    lines = output_of("own_network.py", "--num-iterations", "4", "--folder", str(tmp_path / "run"))
    assert re.search(r"^value of the start: [+-]\d", lines, re.MULTILINE)
    with pytest.raises(ValueError, match="there is no module 'own_network': install it"):
        azo.load_network(tmp_path / "run")


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
    lines = output_of("alphazero.py", "--game", "othello6", "--num-iterations", "10").splitlines()
    assert len(scores(lines)) == 2


def test_connect_four_is_learned_by_import_path_and_beats_random_moves(tmp_path):
    """0.992 against random moves after 6 iterations of 32 games."""
    root = EXAMPLES.parent
    command = [sys.executable, "-m", "examples.connect_four", "--iterations", "10"]
    command += ["--folder", str(tmp_path / "run")]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert settings["game"]["name"] == "examples.connect_four:ConnectFour"
    assert done.stdout.startswith("connect_four in ")
    scores = [float(x) for x in re.findall(r"against random: .*\(score (\d\.\d+)", done.stdout)]
    assert scores[-1] > 0.8

    command = [sys.executable, "-m", "azo", "evaluate", str(tmp_path / "run"), "random"]
    lost = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert lost.returncode == 2
    assert "there is no module examples" in lost.stderr
