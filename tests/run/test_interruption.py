import os
import signal

import pytest

from azo.run import interruption

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def handlers():
    """Fails if a test leaves other handlers than it found."""
    before = [signal.getsignal(number) for number in SIGNALS]
    yield
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_a_request_and_the_second_interrupts(number):
    with interruption.StopRequest() as stop:
        assert not stop.is_made
        signal.raise_signal(number)
        assert stop.is_made
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_interrupt_with_their_number(number):
    with interruption.signals_interrupt(), pytest.raises(KeyboardInterrupt) as error:
        signal.raise_signal(number)
    assert error.value.args == (number,)


def test_a_signal_that_is_ignored_at_the_start_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with interruption.StopRequest() as stop:
            signal.raise_signal(signal.SIGHUP)
            assert not stop.is_made
    finally:
        signal.signal(signal.SIGHUP, before)


def test_output_to_a_terminal_that_hung_up_is_discarded(capfd):
    with capfd.disabled():
        terminal, stream = os.openpty()
        kept = os.dup(1)
        try:
            os.dup2(stream, 1)
            with interruption.StopRequest():
                os.close(terminal)
                with pytest.raises(OSError, match="Input/output error"):
                    os.write(1, b"lost")
                signal.raise_signal(signal.SIGHUP)
                assert os.write(1, b"discarded") == 9
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            os.close(stream)
