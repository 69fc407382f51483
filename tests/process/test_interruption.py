import gc
import os
import signal
import subprocess
import sys
import time

import pytest

from azo.process import interruption

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
        signal.raise_signal(number)  # by a wrapper that passes on what the terminal has sent too
        time.sleep(interruption._TOGETHER)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    with interruption.handled_by(interruption.interrupt), pytest.raises(KeyboardInterrupt) as error:
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


def test_a_hook_that_is_set_within_the_block_stays(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", before := sys.unraisablehook)
    with interruption.signals_end_computations():
        assert sys.unraisablehook is not before
    assert sys.unraisablehook is before
    with interruption.signals_end_computations():
        sys.unraisablehook = print
    assert sys.unraisablehook is print


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


def test_a_signal_during_garbage_collection_interrupts_all_the_same():
    def interrupt(*_):
        gc.callbacks.remove(interrupt)
        signal.raise_signal(signal.SIGTERM)

    def collect_and_wait():
        gc.collect()
        time.sleep(10)

    gc.callbacks.append(interrupt)
    with (
        interruption.signals_end_computations(),
        interruption.handled_by(interruption.interrupt),
        pytest.raises(KeyboardInterrupt) as error,
    ):
        collect_and_wait()
    assert error.value.args == (signal.SIGTERM,)


COMPUTES = """
import hashlib, threading
from azo.process import interruption
with interruption.signals_end_computations(), interruption.StopRequest():
    threading.Timer(0.5, print, ("begun",), {{"flush": True}}).start()
    {}
"""


def started(statement):
    """Returns a process that runs a statement where signals end computations."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMPUTES.format(statement)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "begun\n"
    return process


def test_a_second_signal_ends_a_computation_that_python_cannot_interrupt():
    with started("hashlib.pbkdf2_hmac('sha256', b'', b'', 100_000_000)") as process:
        process.send_signal(signal.SIGINT)
        assert "Ctrl-C again stops at once" in process.stderr.readline()
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM


ANSWERS = """
def answer(*_):
    interruption.acknowledge()
with interruption.handled_by(answer):
    input()
"""


def test_a_signal_that_is_answered_prints_nothing():
    with started(ANSWERS.replace("\n", "\n    ")) as process:  # its handler runs, input goes on
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(interruption._PATIENCE * 2)
        process.kill()
        assert process.stderr.read() == ""


ENDS = """
import signal, threading, time
from azo.process import interruption
with interruption.StopRequest() as stop:
    signal.raise_signal({})
print(stop.is_made)
threading.Thread(target=time.sleep, args=({},)).start()
interruption.end_process(7)
"""


@pytest.mark.parametrize(
    ("number", "seconds", "printed"), [(signal.SIGTERM, 3600, "True"), (signal.SIGURG, 2, "False")]
)
def test_after_a_signal_a_process_does_not_wait_for_its_threads(number, seconds, printed):
    command = [sys.executable, "-c", ENDS.format(int(number), seconds)]
    start = time.monotonic()
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, printed + "\n", "")
    assert number == signal.SIGTERM or time.monotonic() - start > seconds
