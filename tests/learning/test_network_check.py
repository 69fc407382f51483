"""Networks of users: each promise of `azo.Network` is checked, and a sound network is played."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import pytest
from support.builders import tiny_run

import azo
from azo.networks import network


class Good(azo.Network):
    """A layer with normalisation; mutants change one step each."""

    momentum: float = 0.9

    def read(self, planes):
        return planes.reshape(planes.shape[0], -1).astype(jnp.float32)

    def normalise(self, x):
        axis_name = self.axis_name if self.is_training else None
        norm = nn.BatchNorm(not self.is_training, momentum=self.momentum, axis_name=axis_name)
        return nn.relu(norm(x))

    def output(self, x):
        logits = nn.Dense(self.num_actions, name="policy_logits")(x)
        return self.predict(logits, nn.Dense(len(self.scores), name="score_output")(x))

    @nn.compact
    def __call__(self, planes):
        return self.output(self.normalise(nn.Dense(8, name="hidden")(self.read(planes))))


def mutant(**methods):
    return type("Mutant", (Good,), methods)


def with_parameter(name, factor, dtype=jnp.float32):
    def output(self, x):
        extra = self.param(name, nn.initializers.ones, (1, 8), dtype)
        return Good.output(self, x + factor(extra))

    return mutant(output=output)


def with_output(change):
    return mutant(output=lambda self, x: change(Good.output(self, x)))


def counting(self, x):
    self.variable("counts", "calls", jnp.zeros, (1,))
    return Good.normalise(self, x)


def growing(self, x):
    average = self.variable("batch_stats", "mean", jnp.zeros, (1,))
    if self.is_training:
        average.value = x.mean(axis=0)
    return nn.relu(x - average.value.mean())


def for_float(self, planes):
    return Good.read(self, planes) * (1.0 if planes.dtype == bool else 2.0)


MUTANTS = {
    "no 'params'": mutant(__call__=lambda self, planes: None),
    "variables may be 'params' and 'batch_stats', not counts": mutant(normalise=counting),
    "params/extra is float16, but should be float32": with_parameter(
        "extra", lambda x: x.astype(jnp.float32), jnp.float16
    ),
    "no parameter may be named tables": with_parameter("tables", lambda x: x),
    "__call__ returns no azo.Prediction": with_output(lambda y: y.value),
    r"prior_logits is \[6, 8\], but should be \[6, 9\]": with_output(
        lambda y: y.replace(prior_logits=y.prior_logits[:, :8])
    ),
    "value is float16, but should be float32": with_output(
        lambda y: y.replace(value=y.value.astype(jnp.float16))
    ),
    "score is not finite": with_output(lambda y: y.replace(score=y.score / 0)),
    r"value is 3.*, but should be in \[-1, 1\]": with_output(
        lambda y: y.replace(value=y.value + 3)
    ),
    "the prior_logits of float32 planes differs": mutant(read=for_float),
    "in play, the prior_logits of a position depends on others": mutant(
        normalise=lambda self, x: nn.relu(x - x.mean(axis=0, keepdims=True))
    ),
    "no program for a symbolic batch size": mutant(
        read=lambda self, planes: planes.reshape(int(planes.shape[0]), -1).astype(jnp.float32)
    ),
    "training changes the structure, shapes or types of batch_stats": mutant(normalise=growing),
    "in training, the prior_logits ignores the examples of other": mutant(
        normalise=lambda self, x: nn.relu(nn.BatchNorm(not self.is_training)(x))
    ),
    "the gradient of extra is not finite": with_parameter(
        "extra", lambda x: jnp.sqrt(x - jax.lax.stop_gradient(x))
    ),
    "no gradient reaches the parameter extra": with_parameter("extra", jax.lax.stop_gradient),
}


@pytest.mark.thorough
@pytest.mark.parametrize("broken", MUTANTS)
def test_a_broken_promise_is_named(broken):
    with pytest.raises(ValueError, match=f"network: .*{broken}"):
        azo.check_network(MUTANTS[broken], azo.TicTacToe())


def test_a_class_that_is_no_network_is_refused():
    config = network.NetworkConfig(kind="flax.linen:Dense")
    with pytest.raises(ValueError, match=r"network\.kind: .*Dense.* is not a subclass of azo"):
        azo.check_network(config, azo.TicTacToe())


def test_a_sound_network_passes_and_the_engine_plays_it(tmp_path):
    kind = f"{Good.__module__}:Good"
    azo.check_network(Good, azo.TicTacToe())
    game = {"name": "othello", "size": 4}
    folder = tiny_run.export(
        tmp_path / "own", network={"kind": kind}, game=game, replay={"capacity": 256}
    )
    assert azo.load_network(folder).settings.network.kind == kind
    engine = azo.load_engine(folder, num_simulations=8)
    assert engine.think().action in engine.legal_actions
