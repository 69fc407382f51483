"""`scripts/convert_early_network.py`: the value of a network of commit 7eb9a41 stays the same."""

import importlib.util
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import registry
from azo.learning import heads
from azo.run.config import Config

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "convert_early_network.py"


def test_the_chances_of_scores_give_the_value_through_tanh():
    spec = importlib.util.spec_from_file_location("convert_early_network", SCRIPT)
    convert = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(convert)
    scores = registry.make(Config(game={"size": 6}).game).scores
    units, kernel, bias = (
        jax.random.normal(key, shape)
        for key, shape in zip(
            jax.random.split(jax.random.key(0), 3), [(50, 16), (16, 1), (1,)], strict=True
        )
    )
    layer = convert.score_output({"kernel": kernel, "bias": bias}, jnp.array(scores))
    logits = units @ layer["kernel"] + layer["bias"][None]
    prediction = heads.predict(jnp.zeros((50, 37)), logits, scores)
    expected = jnp.tanh(units @ kernel + bias[None])[:, 0]
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(prediction.value, expected, atol=1e-5)
