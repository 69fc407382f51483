import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azo.games import tictactoe
from azo.learning import network
from azo.measure import diagnostics, players
from azo.search import improvement

GAME = tictactoe.TicTacToe()
SMALL = network.NetworkConfig(num_blocks=0, num_channels=4, value_units=4)
SEARCH = improvement.SearchConfig(algorithm="puct", num_simulations=8, leaves_per_step=4)


def repeats(board, policies, value, is_used):
    found = jax.jit(functools.partial(diagnostics.repeats, GAME))(
        jnp.array(board, jnp.uint32),
        jnp.array(policies, jnp.float32),
        jnp.array(value, jnp.float32),
        jnp.array(is_used),
    )
    return jax.device_get(found)


def on_actions(**shares):
    """Returns a policy from such as `a0=0.5`."""
    return [shares.get(f"a{action}", 0.0) for action in range(9)]


def test_labels_of_repeated_positions_are_compared_as_by_hand():
    # Position [1, 2] three times, [4, 8] twice, [1, 0] once, and a row that is not used.
    board = [[1, 2], [4, 8], [1, 2], [1, 0], [1, 2], [4, 8], [1, 0]]
    value = [1.0, 0.5, 0.0, 0.3, -1.0, 0.5, -1.0]
    one, two, even = on_actions(a3=1.0), on_actions(a4=1.0), on_actions(a3=0.5, a4=0.5)
    unused = [np.nan] * 9  # what `ply_records.restore` makes of an empty row
    policies = [one, one, two, one, even, one, unused]
    found = repeats(board, policies, value, [True] * 6 + [False])
    assert found.unique_positions == 3
    assert found.repeated_share == pytest.approx(5 / 6)
    # Variances 2/3 and 0, each position once.
    assert found.value_variance == pytest.approx((2 / 3 + 0) / 2)
    # The mean of the three is even: log 2 for each of the first two copies, 0 for the third.
    assert found.policy_conflict == pytest.approx((2 / 3 * np.log(2) + 0) / 2)


def test_without_repeated_positions_their_labels_are_unknown():
    found = repeats([[1, 2], [4, 8]], [on_actions(a3=1.0)] * 2, [1.0, -1.0], [True, True])
    assert found.unique_positions == 2
    assert found.repeated_share == 0
    assert np.isnan(found.value_variance)
    assert np.isnan(found.policy_conflict)


def test_an_empty_replay_has_no_repeats():
    found = repeats([[0, 0], [0, 0]], [on_actions()] * 2, [0.0, 0.0], [False, False])
    assert found.unique_positions == 0
    assert found.repeated_share == 0
    assert np.isnan(found.value_variance)


def test_searches_are_compared_with_the_last_one():
    value = np.array([[0.5, -0.5, 0.0, 0.0], [0.1, 0.0, 0.0, 0.0], [0.1, 0.1, 0.2, 0.0]])
    action = np.array([[1, 2, 3, 4], [1, 2, 5, 4], [1, 0, 5, 4]])
    found = diagnostics.compare((1, 10, 100), value, action)
    # Squares of the differences: 0.16 + 0.36 + 0.04 + 0, and 0 + 0.01 + 0.04 + 0, over 4.
    np.testing.assert_allclose(found.value_rms, [np.sqrt(0.14), np.sqrt(0.0125), 0], atol=1e-12)
    assert found.changed_share == (0.5, 0.25, 0.0)
    assert found.num_positions == 4


def first_free_square(weight):
    """Returns the variables of a network that prefers low squares by `weight` nats a square."""
    variables = network.init(GAME, SMALL, jax.random.key(0))
    logits = variables["params"]["policy_logits"]
    logits = {"kernel": jnp.zeros_like(logits["kernel"]), "bias": -weight * jnp.arange(9.0)}
    return variables | {"params": variables["params"] | {"policy_logits": logits}}


def test_positions_come_uniformly_from_all_plies_of_games_by_the_policy():
    # Squares 0 to 6 in turn: the first player then has the diagonal 2, 4, 6. Seven positions.
    position = diagnostics.sample_positions(
        GAME,
        first_free_square(100.0),
        jax.random.key(1),
        config=SMALL,
        num_positions=700,
        opening_plies=0,
    )
    marks = [0, 0b1, 0b11, 0b111, 0b1111, 0b11111, 0b111111]
    assert set(np.asarray(position.player | position.opponent).tolist()) == set(marks)
    count = [int(((position.player | position.opponent) == x).sum()) for x in marks]
    # 100 of each are expected, with a standard deviation of 9.
    assert min(count) > 64
    assert max(count) < 136


def test_positions_lie_behind_random_openings_and_before_the_end():
    position = diagnostics.sample_positions(
        GAME,
        first_free_square(100.0),
        jax.random.key(2),
        config=SMALL,
        num_positions=700,
        opening_plies=3,
    )
    assert not GAME.is_over(position).any()
    taken = np.asarray(position.player | position.opponent)
    in_turn = np.isin(taken, [2**plies - 1 for plies in range(9)])
    # Without an opening, a quarter of the games, all are in turn; after others few are.
    assert 0.25 < in_turn.mean() < 0.6


def test_fluctuation_is_that_of_searches_worked_by_hand():
    # A network that calls every position even and always goes on with the first free square. With
    # five squares taken the second simulation finds the first player's win, which costs the second
    # player 1 of 3 visits; with six, the first player's value is 1/2 after one and 2/3 after two.
    variables = first_free_square(100.0)
    output = jax.tree.map(jnp.zeros_like, variables["params"]["value_output"])
    variables |= {"params": variables["params"] | {"value_output": output}}
    key = jax.random.key(3)
    found = diagnostics.fluctuation(
        GAME,
        players.TrainedNetwork(variables, SMALL, SEARCH),
        key,
        num_positions=700,
        num_simulations=(2, 1),
        opening_plies=0,
    )
    position = diagnostics.sample_positions(
        GAME,
        variables,
        jax.random.split(key)[0],
        config=SMALL,
        num_positions=700,
        opening_plies=0,
    )
    taken = np.asarray(position.player | position.opponent)
    five, six = (taken == 0b11111).mean(), (taken == 0b111111).mean()
    assert found.num_simulations == (1, 2)
    assert found.value_rms == pytest.approx((np.sqrt(five / 9 + six / 36), 0), rel=1e-5)
    assert found.changed_share == (0, 0)


def test_a_fluctuation_needs_two_searches():
    trained = players.TrainedNetwork(first_free_square(1.0), SMALL, SEARCH)
    with pytest.raises(ValueError) as error:
        diagnostics.fluctuation(GAME, trained, jax.random.key(0), num_simulations=(8, 8))
    assert str(error.value) == "num_simulations is [8, 8]: give two or more numbers"
