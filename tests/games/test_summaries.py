"""Objects with many numbers have short texts."""

import jax
import pytest

import azo
from azo.coach import game_analysis
from azo.learning import run_state


def _searched():
    game = azo.TicTacToe()
    network = azo.load_network("zero-fast6")
    return (
        network,
        azo.search_moves(network.game, network.evaluate, jax.random.key(0), network.game.start(2)),
        game,
    )


@pytest.mark.thorough
def test_networks_results_and_states_have_short_texts():
    network, result, game = _searched()
    config = run_state.RecipeConfig(network={"kind": "residual"})
    state = jax.eval_shape(lambda: run_state.create(game, config, seed=0, num_devices=1))
    assert repr(network).startswith("<TrainedNetwork for othello6: patterns, ")
    assert "policy=float32[2,37]" in repr(result)
    assert "iteration=int32[]" in repr(state)
    for thing in (network, result, state):
        assert len(repr(thing)) < 3000
        assert len(str(thing)) < 3000


@pytest.mark.parametrize("number", [1, 60])
def test_an_analysis_has_a_short_text(number):
    analysis = game_analysis.GameAnalysis(azo.load_engine("zero-fast6").game, (None,) * number)
    positions = "1 position" if number == 1 else "60 positions"
    assert repr(analysis) == f"<GameAnalysis of othello6, {positions}>"
