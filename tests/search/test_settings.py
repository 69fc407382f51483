"""Settings of a search that are refused, with their messages."""

import pydantic
import pytest

from azo.search import settings


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
