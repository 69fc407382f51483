"""The gate with made-up matches, and self-play behind it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tiny_run

from azo.learning import generations, loop

CONFIG = generations.GateConfig(is_enabled=True, threshold=0.55)


def gated(best_scale=2.0, num_devices=1):
    """A run's first state, whose best network has the learner's parameters times a number."""
    recipe = tiny_run.settings(gate={"is_enabled": True})
    state = loop.begin(tiny_run.game(), recipe, loop.make_mesh(num_devices), seed=0, total_steps=12)
    params = jax.tree.map(lambda x: x * best_scale, state.best["params"])
    return state.replace(best={**state.best, "params": params})


def scale_of(variables, state):
    """The number by which these parameters are the learner's."""
    kernel, own = (
        p["policy_logits"]["kernel"] for p in (variables["params"], state.learner.params)
    )
    return float(kernel[0, 0] / own[0, 0])


@pytest.mark.parametrize(("score", "is_promoted"), [(0.56, True), (0.55, False), (0.1, False)])
def test_a_network_is_promoted_if_it_exceeds_the_threshold(score, is_promoted):
    verdict = generations.judge(CONFIG, lambda *_: score, {}, {}, jax.random.key(0))
    assert verdict == generations.Verdict(score, is_promoted)


def test_the_match_is_the_new_network_against_the_best():
    key = jax.random.key(0)
    seen = []

    def match(*arguments):
        seen.append(arguments)
        return 0.0

    generations.judge(CONFIG, match, {"new": 1}, {"best": 2}, key)
    assert seen == [({"new": 1}, {"best": 2}, key)]


def test_a_promotion_makes_the_learners_network_the_best_of_the_next_generation():
    before = gated()
    after = before.promoted()
    assert int(after.generation) == int(before.generation) + 1
    assert scale_of(before.best, before) == 2.0
    assert scale_of(after.best, after) == 1.0
    assert scale_of(after.variables(), before) == 1.0


def test_the_promoted_network_is_a_copy_that_outlives_the_learners():
    state = gated().promoted()
    jax.tree.map(lambda x: x.delete(), (state.learner.params, state.learner.batch_stats))
    assert np.isfinite(state.best["params"]["policy_logits"]["kernel"]).all()


def test_self_play_uses_the_best_network_and_learning_leaves_it_alone():
    recipe = tiny_run.settings(gate={"is_enabled": True}, replay={"min_positions": 1})
    iterate = loop.build(tiny_run.game(), recipe, loop.make_mesh(1), total_steps=12)

    def games(best_scale, learner_scale):
        state = gated(best_scale)
        params = jax.tree.map(lambda x: x * learner_scale, state.learner.params)
        state = state.replace(learner=state.learner.replace(params=params))
        best = jax.device_get(state.best)
        for _ in range(3):
            state, _ = iterate(state)
        assert int(state.learner.num_steps) > 0
        tiny_run.assert_same_bits(best, jax.device_get(state.best))
        return np.asarray(state.history.plies.board)

    np.testing.assert_array_equal(games(9.0, 1.0), games(9.0, -1.0))
    assert (games(9.0, 1.0) != games(-9.0, 1.0)).any()


def test_after_a_promotion_the_compiled_iteration_takes_the_state_as_it_is():
    if jax.device_count() < 2:
        pytest.skip("needs two devices")
    before = gated(num_devices=2)
    after = before.promoted()
    assert jax.tree.structure(before) == jax.tree.structure(after)
    for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert (old.shape, old.dtype) == (new.shape, new.dtype)
        assert new.sharding.is_equivalent_to(old.sharding, jnp.ndim(new))
