"""How wrong input is refused."""

import pytest


def message_of(function, *arguments, **settings):
    """Returns the one line of the error that a call ends with."""
    with pytest.raises(ValueError) as caught:
        function(*arguments, **settings)
    message = str(caught.value)
    assert "\n" not in message
    return message
