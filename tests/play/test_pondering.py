"""Pondering over GTP and NBoard: only after the engine's own move, until the next line."""

import threading

import pytest
from support.front_end import QUICK, Input, Output, load_small, quick_engine

from azo.play import gtp, nboard

PONDERING = QUICK.model_copy(update={"ponder": True})


class Session:
    """A front end that runs in a thread, before an engine that tells when it ponders."""

    def __init__(self, kind, config):
        self.engine, self.source, self.output = quick_engine(config=config), Input(), Output()
        self.pondered = threading.Semaphore(0)
        ponder = self.engine.ponder

        def told(is_stopped):
            ponder(lambda: self.pondered.release() or is_stopped())

        self.engine.ponder = told
        arguments = self.engine, self.source.lines, self.output.write
        if kind == "gtp":
            server = gtp.GtpServer(*arguments, full=config, load=load_small)
        else:
            server = nboard.NBoardServer(*arguments)
        self.thread = threading.Thread(target=server.run, daemon=True)
        self.thread.start()

    def end(self):
        self.source.send("quit\n")
        self.thread.join(20)
        assert not self.thread.is_alive()


def is_pondering(session):
    return session.pondered.acquire(timeout=20)


def test_gtp_ponders_after_its_move_until_the_next_command():
    session = Session("gtp", PONDERING)
    session.source.send("genmove b\n")
    session.output.wait_for("\n\n")
    assert all(is_pondering(session) for _ in range(30))
    session.source.send("time_left b 100 0\n")  # pondering goes on after it
    session.output.wait_for("=\n\n")
    assert is_pondering(session)
    visits = max(move.visits for move in session.engine._search.look())
    assert visits > 2 * PONDERING.num_simulations
    session.source.send("undo\n")
    session.output.wait_for("=\n\n")
    session.source.send("name\n")
    session.output.wait_for("azo")
    while session.pondered.acquire(blocking=False):
        pass
    assert not session.pondered.acquire(timeout=0.2)
    session.end()


def test_nboard_ponders_after_its_move_is_played():
    session = Session("nboard", PONDERING)
    session.source.send("go\n")
    move = session.output.wait_for("waiting\n").partition("=== ")[2].partition("/")[0]
    assert not session.pondered.acquire(timeout=0.2)
    session.source.send(f"move {move}\n")
    assert all(is_pondering(session) for _ in range(30))
    session.source.send("ping 1\n")
    session.output.wait_for("pong 1\n")
    session.end()


@pytest.mark.parametrize(
    ("kind", "command", "mark"), [("gtp", "genmove b", "= "), ("nboard", "go", "===")]
)
def test_by_default_nothing_is_searched_in_the_opponents_time(kind, command, mark):
    session = Session(kind, QUICK)
    session.source.send(f"{command}\n")
    session.output.wait_for(mark)
    assert not session.pondered.acquire(timeout=0.2)
    session.end()
