"""The compiled iteration, with the recipe of `tiny_run`."""

import jax
import numpy as np
import pytest
from support.builders import tiny_run

from azo.learning import iteration, replay, sharding, statistics

needs_devices = pytest.mark.skipif(jax.device_count() < 8, reason="needs eight devices")


def run(num_iterations, num_devices=1):
    """State and metrics of every iteration, on the host."""
    iterate, state, all_metrics = tiny_run.iteration(num_devices), tiny_run.begin(num_devices), []
    for _ in range(num_iterations):
        state, metrics = iterate(state, 0.0)
        all_metrics.append(jax.device_get(metrics))
    return state, all_metrics


def test_nothing_is_traced_or_compiled_again_after_the_first_iteration():
    state, _ = run(1)
    work = []

    def note(event, seconds, **_):
        del seconds
        work.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        for _ in range(3):
            state, _ = tiny_run.iteration(1)(state, 0.0)
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    assert not [event for event in work if "trace" in event or "compile" in event]


@pytest.mark.thorough
def test_a_state_of_another_type_is_refused_and_forgotten_programs_are_compiled_again():
    iterate = tiny_run.iteration(1)
    state, _ = iterate(tiny_run.begin(1), 0.0)
    with pytest.raises(AssertionError, match="traced again"):
        iterate(state, jax.numpy.bool_(0))
    jax.clear_caches()  # as after a change of the code of any game
    state, _ = iterate(state, 0.0)
    assert int(state.iteration) == 2


@needs_devices
@pytest.mark.parametrize("num_devices", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_the_state_keeps_its_structure_types_and_places(num_devices):
    before = tiny_run.begin(num_devices)
    places = jax.tree.map(lambda x: (x.shape, x.dtype, x.sharding), before)
    after, _ = tiny_run.iteration(num_devices)(before, 0.0)
    assert jax.tree.structure(before) == jax.tree.structure(after)

    def check(new, place):
        shape, dtype, sharding = place
        assert (new.shape, new.dtype) == (shape, dtype)
        assert new.sharding.is_equivalent_to(sharding, new.ndim)

    jax.tree.map(check, after, places)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(before))  # the state is given away
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(after))


def test_learning_waits_for_enough_positions():
    state, iterate = tiny_run.begin(1), tiny_run.iteration(1)
    num_steps, sizes = [], []
    for _ in range(6):
        state, metrics = iterate(state, 0.0)
        sizes.append(int(metrics.replay_size))
        num_steps.append(int(state.learner.num_steps))
        assert np.isnan(metrics.others["learner/policy_loss"]) == (sizes[-1] < 32)
    learning = np.array(sizes) >= 32
    assert 0 < learning.sum() < 6
    np.testing.assert_array_equal(num_steps, 2 * learning.cumsum())


@pytest.mark.slow
@needs_devices
@pytest.mark.parametrize("num_devices", [1, 8])
def test_games_plies_and_evaluations_are_counted_over_all_devices(num_devices):
    state, all_metrics = run(5, num_devices)
    assert int(state.iteration) == 5
    assert int(state.num_games) == sum(int(m.selfplay.num_games) for m in all_metrics) > 8
    assert state.replay.size.shape == (num_devices,)
    assert int(all_metrics[-1].replay_size) == int(state.replay.size.sum())
    board = np.asarray(state.history.board)
    assert len({board[:, game].tobytes() for game in range(8)}) == 8  # devices play different games
    state, all_metrics = run(3, num_devices)
    # Every recorded ply is in the buffer or waits for the end of its game.
    assert int(all_metrics[-1].replay_size) + int(state.history.is_waiting.sum()) == 3 * 8 * 4
    # Every position was evaluated once, and once more in each of four simulations.
    assert state.num_evaluations() == 3 * 8 * 4 * (1 + 4)
    for metrics in all_metrics:
        assert int(metrics.selfplay.num_devices) == num_devices
        figures = statistics.describe(metrics.selfplay)
        assert 5 <= figures["selfplay/mean_plies"] <= 9
        assert 0 <= figures["selfplay/first_player_score"] <= 1
        assert 0 <= figures["selfplay/policy_entropy"] <= np.log(9)
        assert figures["selfplay/legal_mass"] <= 1


def test_evaluations_are_counted_beyond_a_million():
    state = tiny_run.begin(1)
    for more, expected in [(2_999_999, 2_999_999), (1, 3_000_000), (2_000_000_000, 2_003_000_000)]:
        state = state.with_evaluations(more)
        assert state.num_evaluations() == expected
    for _ in range(3):  # more than 32 bits hold
        state = state.with_evaluations(2_000_000_000)
    assert state.num_evaluations() == 8_003_000_000


@pytest.mark.slow
def test_the_window_of_iterations_turns_with_each_of_them():
    recipe = tiny_run.settings(replay={"window_iterations": 2, "min_positions": 1})
    iterate = iteration.build(tiny_run.game(), recipe, sharding.make_mesh(1))
    state, sizes = tiny_run.begin(1), [0, 0]
    for _ in range(5):
        state, metrics = iterate(state, 0.0)
        sizes.append(int(metrics.replay_size))
        # Rows enter in order, so the window has the positions of the last two iterations.
        assert int(replay.num_in_window(state.replay, 2)[0]) == sizes[-1] - sizes[-3]
    # Examples are recent, or have waited for the end of their game.
    assert float(metrics.others["replay/age"]) < 3
