"""The warning of `azo.check_network` about slow convolutions, with measurements made up here."""

import types
import warnings

import flax.linen as nn
import jax
import jax.numpy as jnp
import pytest

import azo
from azo.networks.kernels import convolution
from azo.training import network_speed

GAME = azo.TicTacToe()


class Convolved(azo.Network):
    """A network of a user with one convolution."""

    @nn.compact
    def __call__(self, planes):
        images = jnp.moveaxis(planes.astype(jnp.float32), -3, -1)
        x = nn.relu(nn.Conv(4, (3, 3))(images)).reshape(planes.shape[0], -1)
        return self.predict(nn.Dense(self.num_actions)(x), nn.Dense(len(self.scores))(x))


class Dense(azo.Network):
    """A network of a user without convolutions."""

    @nn.compact
    def __call__(self, planes):
        x = planes.reshape(planes.shape[0], -1).astype(jnp.float32)
        return self.predict(nn.Dense(self.num_actions)(x), nn.Dense(len(self.scores))(x))


class Advised(azo.Network):
    """A network of a user with the convolution that the warning names."""

    @nn.compact
    def __call__(self, planes):
        kernel = self.param("kernel", nn.initializers.lecun_normal(), (3, 3, planes.shape[1], 4))
        images = jnp.transpose(planes.astype(jnp.float32), (2, 3, 0, 1))
        x = nn.relu(convolution.convolve(images, kernel, None, "auto"))
        x = jnp.moveaxis(x, 2, 0).reshape(planes.shape[0], -1)
        return self.predict(nn.Dense(self.num_actions)(x), nn.Dense(len(self.scores))(x))


@pytest.fixture
def measured(monkeypatch):
    """Makes up the seconds of a step in a loop and of one alone; returns what is measured."""
    calls = []

    def arrange(in_loop, alone):
        seconds = iter([in_loop * network_speed._TIMED_STEPS, alone])

        def take(function, argument):
            calls.append(function)
            jax.eval_shape(function, argument)  # it can be run
            return next(seconds)

        monkeypatch.setattr(network_speed, "_seconds", take)
        return calls

    return arrange


@pytest.mark.thorough
@pytest.mark.parametrize(("in_loop", "times"), [(0.0202, "4"), (0.1264, "25")])
def test_a_network_that_is_slow_in_a_loop_gets_one_line(measured, in_loop, times):
    calls = measured(in_loop, 0.005)
    with pytest.warns(UserWarning, match="nn.Conv") as caught:
        azo.check_network(Convolved, GAME)
    (warning,) = caught
    line = str(warning.message)
    assert "\n" not in line
    assert f"takes {1e3 * in_loop:.3g} ms in the loop" in line
    assert f"but 5 ms outside of it: {times} times as long, for 48 positions" in line
    assert "use azo.networks.kernels.convolution.convolve" in line
    assert warning.filename == __file__
    assert len(calls) == 2


@pytest.mark.thorough
@pytest.mark.parametrize("network", [Convolved, Advised])
@pytest.mark.parametrize("in_loop", [0.0198, 0.001])
def test_a_network_that_is_fast_in_a_loop_gets_no_line(measured, network, in_loop):
    calls = measured(in_loop, 0.005)
    azo.check_network(network, GAME)  # a warning would be an error
    assert len(calls) == 2


def test_without_convolutions_nothing_is_measured(measured):
    calls = measured(1.0, 0.001)
    azo.check_network(Dense, GAME)
    assert not calls


def test_on_a_gpu_nothing_is_measured(measured, monkeypatch):
    calls = measured(1.0, 0.001)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    azo.check_network(Convolved, GAME)
    assert not calls


def test_the_shortest_time_counts_without_that_of_the_first_call(monkeypatch):
    now, durations = [0.0], iter([90.0, 3.0, 2.0])

    def function(argument):
        now[0] += next(durations)
        return argument

    clock = types.SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(network_speed, "time", clock)
    assert network_speed._seconds(function, jnp.zeros(1)) == 2.0
    assert not list(durations)


def test_the_warning_may_be_made_an_error(measured):
    measured(1.0, 0.001)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="1e\\+03 ms in the loop"):
            azo.check_network(Convolved, GAME)
