"""The profile of a tiny step of self-play, on the CPU."""

import jax
import jax.numpy as jnp
import pytest

from benchmarks import profiling


def test_scopes_are_those_of_the_program():
    def scoped(x):
        with jax.named_scope("descent"):
            return jnp.sort(x @ x)

    text = jax.jit(scoped).lower(jnp.ones((4, 4))).compile().as_text()
    scopes = profiling.scopes_of_operations(text)
    assert "descent" in {profiling.part(scope) for scope in scopes.values()}


@pytest.mark.slow
@pytest.mark.usefixtures("thorough_compilation")
def test_report_attributes_most_of_the_time(tmp_path):
    settings = profiling.ProfilingConfig(
        folder=tmp_path, network="1x8", batch=8, simulations=4, top=5
    )
    lines = "\n".join(profiling.report(settings)).splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.endswith("% |")]
    shares = {name: float(share.strip("%")) for name, _, share in rows}
    assert shares["evaluation"] > 0
    assert shares.get(profiling.UNKNOWN, 0) < 50
    assert sum(shares.values()) == pytest.approx(100, abs=1)
