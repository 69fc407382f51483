"""Pondering over GTP and NBoard: only after the engine's own move, until the next line."""

import contextlib
import threading

import pytest
from support.drivers.front_end import QUICK, GtpSession, Input, NBoardSession, quick_engine

PONDERING = QUICK.model_copy(update={"ponder": True})


@contextlib.contextmanager
def running(kind, config):
    """Runs a front end; yields it with its input, and what it releases when it ponders."""
    engine, source, pondered = quick_engine(config=config), Input(), threading.Semaphore(0)
    ponder = engine.ponder
    engine.ponder = lambda is_stopped: ponder(lambda: pondered.release() or is_stopped())
    session = kind(engine, source)
    with session.running():
        yield session, source, pondered
        source.send("quit\n")


def test_gtp_ponders_after_its_move_until_the_next_command():
    with running(GtpSession, PONDERING) as (session, source, pondered):
        source.send("genmove b\n")
        session.output.wait_for("\n\n")
        assert all(pondered.acquire(timeout=20) for _ in range(30))
        source.send("time_left b 100 0\n")  # pondering goes on after it
        session.output.wait_for("=\n\n")
        assert pondered.acquire(timeout=20)
        visits = max(move.visits for move in session.engine._play_search.look())
        assert visits > 2 * PONDERING.num_simulations
        source.send("undo\n")
        session.output.wait_for("=\n\n")
        source.send("name\n")
        session.output.wait_for("azo")
        while pondered.acquire(blocking=False):
            pass
        assert not pondered.acquire(timeout=0.2)


def test_nboard_ponders_after_its_move_is_played():
    with running(NBoardSession, PONDERING) as (session, source, pondered):
        source.send("go\n")
        move = session.output.wait_for("waiting\n").partition("=== ")[2].partition("/")[0]
        assert not pondered.acquire(timeout=0.2)
        source.send(f"move {move}\n")
        assert all(pondered.acquire(timeout=20) for _ in range(30))
        source.send("ping 1\n")
        session.output.wait_for("pong 1\n")


@pytest.mark.parametrize(
    ("kind", "command", "mark"), [(GtpSession, "genmove b", "= "), (NBoardSession, "go", "===")]
)
def test_by_default_nothing_is_searched_in_the_opponents_time(kind, command, mark):
    with running(kind, QUICK) as (session, source, pondered):
        source.send(f"{command}\n")
        session.output.wait_for(mark)
        assert not pondered.acquire(timeout=0.2)
