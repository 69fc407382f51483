"""Settings of a search that are refused, with their messages."""

import pydantic
import pytest

from azo.search import settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_simulations": 0},
        {"c_puct": 0.0},
        {"root_noise_fraction": 1.5},
        {"root_noise_alpha": 0.0},
        {"temperature": -1.0},
        {"algorithm": "minimax"},
        {"simulations": 8},
        {"leaves_per_step": 0},
        {"virtual_loss": 0.5},
        {"final_temperature": -0.1},
    ],
)
def test_settings_out_of_bounds_are_refused(wrong):
    with pytest.raises(pydantic.ValidationError, match=next(iter(wrong))):
        settings.SearchConfig(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"num_simulations": 30, "leaves_per_step": 4},
            "num_simulations is 30, but should be a multiple of leaves_per_step, 4",
        ),
        (
            {"num_simulations": 32, "leaves_per_step": 4, "virtual_loss": 3.0},
            "virtual_loss is 3, but should be 1 with algorithm 'gumbel', which counts whole visits",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(wrong, message):
    with pytest.raises(pydantic.ValidationError) as caught:
        settings.SearchConfig(**wrong)
    assert str(caught.value.errors()[0]["ctx"]["error"]) == message
