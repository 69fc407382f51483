"""Endings that the host's solver labels while the device plays on: whole runs on 4x4."""

import pytest
from support import tiny_run

from azo.games import othello
from azo.run import metrics, trainer

GAME = othello.Othello(4)
EMPTIES = 6


def settings(folder, *, num_devices=1, solver="host", late_share=1.0, **run):
    """Settings of a run whose games are adjudicated."""
    return tiny_run.settings(
        game={"name": "othello", "size": 4},
        network={"has_ownership_head": True},
        selfplay={"num_plies": 5, "explored_share": 1.0, "max_opening_plies": 3},
        resignation={"is_enabled": True, "played_out_share": 0.5, "min_games": 1},
        replay={"capacity": 1024, "min_positions": 16},
        learner={"ownership_weight": 0.1},
        endings={"adjudicate_empties": EMPTIES, "solver": solver, "late_share": late_share},
        run={"folder": str(folder), "num_devices": num_devices, "solver_processes": 1} | run,
    )


class StopAfter:
    """Asks a run to stop once it has done so many iterations."""

    def __init__(self, folder, number):
        self.folder, self.number = folder, number

    @property
    def is_made(self):
        return len(metrics.read(self.folder, "iteration")) >= self.number


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder and the last state of an uninterrupted run of six iterations."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, trainer.train(settings(folder))


@pytest.mark.slow
@pytest.mark.parametrize("stops", [(1,), (2, 3), (5,)])
def test_a_run_stopped_between_labels_resumes_bit_for_bit(whole, tmp_path, stops):
    for number in stops:
        trainer.train(settings(tmp_path, solver_processes=2), StopAfter(tmp_path, number))
        assert len(metrics.read(tmp_path, "iteration")) == number
    state = trainer.train(settings(tmp_path))
    tiny_run.assert_same_bits(state, whole[1])
    assert metrics.read(tmp_path, "iteration")[-1]["endings/solved"] > 0
