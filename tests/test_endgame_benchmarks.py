"""The benchmarks of the solvers and of what is learned, on tiny boards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games, slow_minimax

from azo.formats import obf
from azo.games import othello
from azo.play.engine_settings import EngineConfig
from benchmarks import engine_accuracy, labels, measure, solver

FOUR = othello.Othello(4)


@pytest.mark.slow
def test_solver_report_has_a_row_for_the_device_and_one_for_the_host(monkeypatch):
    monkeypatch.setattr(measure, "MIN_TURN_SECONDS", 0.0)
    config = solver.SolverBenchConfig(
        size=4,
        empties=(5,),
        host_empties=(5,),
        batch=16,
        num_lanes=8,
        num_devices=1,
        repeats=1,
    )
    device, host = (line.split(" | ") for line in solver.report(config)[2].splitlines()[2:])
    assert device[0] == "| 5, every move"
    assert host[0] == "| 5, score, 16 by the host"
    assert device[6] == host[6] == "0"  # unsolved
    assert 1 <= float(device[4]) <= float(device[5])


def test_labels_are_compared_with_exact_results_by_empty_squares(tmp_path):
    games = random_games.play(FOUR, 32, seed=1)
    t, b = np.nonzero(~games.is_over)
    position = jax.tree.map(lambda words: words[t, b], games.position)
    sides = [random_games.to_squares(x, 4) for x in (position.player, position.opponent)]
    boards = sides[0].astype(np.int8) - sides[1]
    num_empties = (boards == 0).sum(axis=(1, 2))
    few = np.flatnonzero(num_empties <= 6)
    result = np.zeros(len(t))
    result[few] = np.sign(slow_minimax.scores(boards[few], is_reversed=False))
    row = few[num_empties[few] == 6]
    wrong = row[::4]
    label = result.copy()
    label[wrong] = np.where(result[wrong] == 0, 1, -result[wrong])
    hard = tmp_path / "hard.obf"
    config = labels.LabelsBenchConfig(folders=(), empties=(5, 6, 15), hard=hard)
    board = np.asarray(FOUR.pack(jax.tree.map(jnp.asarray, position)))
    five, six, fifteen = labels.compare(config, FOUR, board, label, name="run")
    count = (num_empties == 5).sum()
    assert (five.split(",")[0], five.split()[-1]) == ("1.000", str(count))
    assert six.startswith(f"{1 - len(wrong) / len(row):.3f},")
    assert fifteen == "none"
    kept = list(obf.parse_lines(hard.read_text().splitlines(), "hard.obf"))
    assert [problem.num_empties for problem in kept] == [5, 6]


def test_an_engine_with_exact_leaves_finds_all_results_and_best_moves(capsys):
    config = engine_accuracy.AccuracyBenchConfig(
        sets=("random:8",),
        size=6,
        limit=20,
        engine=EngineConfig(
            num_simulations=200,
            solve_empties=0,
            probe_nodes=0,
            has_proofs=False,
            score_share=0.9,
            prior_temperature=10.0,
        ),
    )
    *_, row = engine_accuracy.report(config)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:3] == ["random:8", "20", "engine, 200 simulations"]
    assert cells[4].startswith("1.000")  # right sign
    assert cells[5].startswith("1.000")  # best move
    assert cells[6].startswith("0.00")  # discs lost
    assert capsys.readouterr().err.strip() == row
