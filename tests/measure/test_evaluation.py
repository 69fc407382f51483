import jax
import pydantic
import pytest

from azo.games import tictactoe
from azo.learning import network
from azo.measure import evaluation, players
from azo.search import improvement


@pytest.mark.parametrize(
    ("every", "expected"), [(0, [6]), (1, [1, 2, 3, 4, 5, 6]), (2, [2, 4, 6]), (4, [4, 6])]
)
def test_evaluations_come_every_so_often_and_at_the_end(every, expected):
    config = evaluation.EvaluationConfig(every=every)
    due = [i for i in range(1, 7) if evaluation.is_due(config, i, is_last=i == 6)]
    assert due == expected


@pytest.mark.parametrize("wrong", [{"num_games": 3}, {"num_games": 0}, {"opening_plies": 1}])
def test_odd_numbers_are_refused(wrong):
    with pytest.raises(pydantic.ValidationError, match=next(iter(wrong))):
        evaluation.EvaluationConfig(**wrong)


def test_an_untrained_network_that_searches_beats_random_moves():
    game = tictactoe.TicTacToe()
    small = network.NetworkConfig(num_blocks=0, num_channels=4, value_units=4)
    trained = players.TrainedNetwork(
        network.init(game, small, jax.random.key(0)), small, improvement.SearchConfig()
    )
    config = evaluation.EvaluationConfig(num_games=64, num_simulations=30, opening_plies=2)
    result = evaluation.against_opponent(
        game, trained, players.RandomPlayer(game), jax.random.key(0), config
    )
    assert result.num_games == 64
    assert result.interval()[0] > 0.6
