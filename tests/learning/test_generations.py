"""Generations, the gate with made-up matches, and self-play with a gate."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import tiny_run

from azo.learning import generations, iteration, promotion, replay, sharding

GATED = {"gate": {"is_enabled": True}, "generation": {"num_games": 8}}


def gated(best_scale=2.0, num_devices=1):
    """A run's first state, whose best network has the learner's parameters times a number."""
    state = tiny_run.begin(num_devices, **GATED)
    params = jax.tree.map(lambda x: x * best_scale, state.actor_params["params"])
    return state.replace(actor_params={**state.actor_params, "params": params})


def scale_of(variables, state):
    """The number by which these parameters are the learner's."""
    kernel, own = (
        p["policy_logits"]["kernel"] for p in (variables["params"], state.learner.params)
    )
    return float(kernel[0, 0] / own[0, 0])


@pytest.mark.parametrize(
    ("test", "result", "is_promoted"),
    [
        ("threshold", (56, 0, 44), True),
        ("threshold", (55, 0, 45), False),
        ("threshold", (50, 12, 38), True),  # a draw is half a win
        ("threshold", (0, 100, 0), False),
        ("significant", (26, 0, 14), True),  # 0.040
        ("significant", (25, 0, 15), False),  # 0.077
        ("significant", (5, 35, 0), True),  # 0.031: draws say nothing
        ("significant", (4, 36, 0), False),  # 0.063
        ("significant", (0, 40, 0), False),
    ],
)
def test_a_network_is_promoted_above_the_threshold_or_if_it_wins_significantly(
    test, result, is_promoted
):
    config = generations.GateConfig(test=test, threshold=0.55)
    wins, draws, losses = result
    assert generations.passes(config, wins=wins, draws=draws, losses=losses) == is_promoted


@pytest.mark.parametrize(
    ("num_games", "num_samples", "expected"),
    [
        (0, 0, {(0, 0): "play_and_learn", (1, 0): None}),
        (20, 0, {(0, 0): "play_and_learn", (19, 99): "play_and_learn", (20, 0): None}),
        (20, 50, {(19, 0): "play", (20, 0): "learn", (25, 49): "learn", (25, 50): None}),
    ],
)
def test_a_generation_plays_then_learns_or_does_both(num_games, num_samples, expected):
    config = generations.GenerationConfig(num_games=num_games, num_samples=num_samples)
    for (games, samples), kind in expected.items():
        actual = generations.next_iteration(config, num_games=games, num_samples=samples)
        assert actual == kind, (games, samples)


def advanced(state):
    """The state as if 30 games had been played and 7 steps taken."""
    learner = state.learner.replace(num_steps=jnp.int32(7))
    buffer = state.replay.replace(
        size=jnp.array([20]), window_starts=jnp.full((1, replay.MAX_WINDOW), 20, jnp.int32)
    )
    return state.replace(
        num_games=jnp.int32(30), learner=learner, replay=buffer, iteration=jnp.int32(9)
    )


def test_a_promotion_makes_the_learners_network_the_best_of_the_next_generation():
    before = advanced(gated())
    failed = promotion.failed(before, restarts_games=True)
    after = promotion.next_generation(failed, is_promoted=True, begins_window=True)
    assert int(after.generation) == int(before.generation) + 1
    assert scale_of(before.actor_params, before) == 2.0
    assert scale_of(after.actor_params, after) == 1.0
    assert scale_of(after.variables(), before) == 1.0
    assert (int(after.actor_version), int(before.actor_version)) == (9, 0)
    assert (int(after.generation_games), int(after.generation_steps)) == (30, 7)
    assert int(after.num_failures) == 0
    # A window of one generation is cleared; a window of two keeps its positions.
    assert [int(replay.num_in_window(after.replay, k)[0]) for k in (1, 2, 0)] == [0, 20, 20]
    # It is a copy that outlives the learner's.
    jax.tree.map(lambda x: x.delete(), (after.learner.params, after.learner.batch_stats))
    assert np.isfinite(after.actor_params["params"]["policy_logits"]["kernel"]).all()


def test_after_a_failure_the_same_generation_goes_on_with_or_without_new_games():
    before = advanced(gated())
    learns = promotion.failed(before, restarts_games=False)
    plays = promotion.failed(learns, restarts_games=True)
    assert (int(learns.generation_games), int(learns.generation_steps)) == (0, 7)
    assert (int(plays.generation_games), int(plays.generation_steps)) == (30, 7)
    assert [int(x.num_failures) for x in (before, learns, plays)] == [0, 1, 2]
    assert [int(x.generation) for x in (before, learns, plays)] == [0, 0, 0]
    without_gate = promotion.next_generation(before, is_promoted=False, begins_window=False)
    assert int(without_gate.generation) == 1
    for after in (plays, without_gate):
        assert scale_of(after.actor_params, after) == 2.0
        assert int(replay.num_in_window(after.replay, 1)[0]) == 20


@pytest.mark.slow
def test_self_play_uses_the_best_network_and_learning_leaves_it_alone():
    recipe = tiny_run.settings(replay={"min_positions": 1}, **GATED)
    iterate = iteration.build(tiny_run.game(), recipe, sharding.make_mesh(1))

    def games(best_scale, learner_scale):
        state = gated(best_scale)
        params = jax.tree.map(lambda x: x * learner_scale, state.learner.params)
        since = jnp.full_like(state.actor_version, 5)
        state = state.replace(learner=state.learner.replace(params=params), actor_version=since)
        best = jax.device_get(state.actor_params)
        for _ in range(3):
            state, _ = iterate(state, 0.0)
        assert int(state.learner.num_steps) > 0
        tiny_run.assert_same_bits(best, jax.device_get(state.actor_params))
        # Copies of a position are of one network if they carry the same number.
        assert (np.asarray(state.replay.actor_version)[: int(state.replay.size[0])] == 5).all()
        return np.asarray(state.history.plies.board)

    np.testing.assert_array_equal(games(9.0, 1.0), games(9.0, -1.0))
    assert (games(9.0, 1.0) != games(-9.0, 1.0)).any()


@pytest.mark.skipif(jax.device_count() < 2, reason="needs two devices")
def test_at_a_generations_end_the_compiled_iteration_takes_the_state_as_it_is():
    before = gated(num_devices=2)
    promoted = promotion.next_generation(before, is_promoted=True, begins_window=True)
    for after in (
        promoted,
        promotion.failed(before, restarts_games=True),
        before.with_evaluations(5),
    ):
        assert jax.tree.structure(before) == jax.tree.structure(after)
        for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
            assert (old.shape, old.dtype) == (new.shape, new.dtype)
            assert new.sharding.is_equivalent_to(old.sharding, jnp.ndim(new))
