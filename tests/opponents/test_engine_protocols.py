"""GTP and NBoard's protocol: lines sent to fake engines and gtp-rhino, and their replies."""

import logging
import pathlib
import shutil

import pytest
from support.fakes.fake_engines import (
    GAME,
    PASS,
    actions,
    after,
    gtp,
    nboard,
    pass_ply,
    play_out,
    random_game,
    sent,
)
from support.references import slow_board

from azo.games import othello
from azo.matches import tournament_file
from azo.opponents import external_engines

CONFIGS = pathlib.Path(__file__).parents[2] / "configs" / "engines"


# GTP


def test_an_engine_is_sent_only_new_moves(caplog):
    caplog.set_level(logging.DEBUG, "azo.engines")
    with gtp() as engine:
        assert engine.choose([]) == (actions("d3")[0], None)
        assert sent(caplog) == ["boardsize 8", "clear_board", "genmove b"]
        assert engine.choose(actions("d3 c3")).action == actions("b3")[0]
        assert sent(caplog) == ["play w C3", "genmove b"]
        engine.choose(actions("d3 c3 c4"))  # not what it played
        assert sent(caplog) == ["clear_board", "play b D3", "play w C3", "play b C4", "genmove w"]
        engine.choose(actions("d3"))
        assert sent(caplog) == ["clear_board", "play b D3", "genmove w"]
    assert sent(caplog) == ["quit"]


@pytest.mark.parametrize("parity", [0, 1])
def test_a_forced_pass_is_sent_without_a_request(caplog, parity):
    caplog.set_level(logging.DEBUG, "azo.engines")
    moves, ply = pass_ply(parity)
    with gtp() as engine:
        engine.choose(moves[: ply - 1])
        sent(caplog)
        assert engine.choose(moves[:ply]) == (PASS, None)
        assert sent(caplog) == []
        engine.choose(moves[: ply + 1])
        assert f"play {'bw'[parity]} pass" in sent(caplog)


def test_an_engine_that_accepts_a_small_board_plays_on_it():
    game = othello.Othello(6)
    with gtp(game=game) as engine:
        moves = random_game(1, 6)[:-3]
        choice = engine.choose(moves)
        assert choice.action == slow_board.legal_actions(after(moves, 6))[0]


def test_late_and_talkative_engines_within_the_limit_are_accepted():
    with gtp("late", seconds_per_move=10) as engine:
        assert engine.choose([]).action == actions("d3")[0]
    with gtp("chatter", seconds_per_move=20) as engine:
        assert engine.choose([]).action == actions("d3")[0]


# NBoard


def test_nboard_is_sent_the_depth_the_game_and_then_the_moves(caplog):
    caplog.set_level(logging.DEBUG, "azo.engines")
    with nboard("plain", setup=("set contempt 0",)) as engine:
        assert engine.choose(actions("f5")) == (actions("f4")[0], None)
        squares = "---------------------------O*------*O---------------------------"
        assert sent(caplog) == [
            "nboard 2",
            "set depth 7",
            "set contempt 0",
            "ping 1",
            f"set game (;GM[Othello]RE[?]TI[15:00]TY[8]BO[8 {squares} *]B[F5];)",
            "go",
        ]
        assert engine.choose(actions("f5 d6 c3")).action == actions("d3")[0]
        assert sent(caplog) == ["ping 2", "move D6", "move C3", "go"]
        engine.choose([])
        assert sent(caplog)[1].endswith(f"BO[8 {squares} *];)")


def test_positions_are_the_last_count_of_this_search():
    with nboard("blanks") as engine:
        assert engine.choose([]) == (actions("d3")[0], 7001)
        assert engine.choose(actions("d3 c3")).positions == 7002
    with nboard("once-counted") as engine:
        assert engine.choose([]).positions == 7001
        # What came late, before the second pong, belongs to the first move.
        assert engine.choose(actions("d3 c3")).positions is None


def test_nboard_plays_a_game_with_passes_and_without_pongs():
    moves, ply = pass_ply(1)
    with nboard("never-pong") as first, nboard("plain") as second:
        played = play_out(first, second, moves[: ply - 1])
    assert slow_board.is_over(after(played))
    with nboard("never-pong") as engine:
        engine.choose(moves[: ply - 1])
        choice = engine.choose(moves[: ply + 1])
        assert choice.action == slow_board.legal_actions(after(moves[: ply + 1]))[0]


# output of gtp-rhino, unchanged


def test_gtp_rhino_plays_itself_to_the_end():
    if not (shutil.which("gtp-rhino") or shutil.which("gtp-rhino", path="/usr/games")):
        pytest.skip("gtp-rhino is not installed: apt-get install grhino")
    rhino = tournament_file.load_engine(CONFIGS / "gtp-rhino.toml", level=1)
    moves, ply = pass_ply(0)
    with (
        external_engines.ExternalEngine(rhino, GAME) as first,
        external_engines.ExternalEngine(rhino, GAME) as second,
    ):
        assert slow_board.is_over(after(play_out(first, second)))
        # From just before a pass, once for each side to move next.
        assert slow_board.is_over(after(play_out(first, second, moves[: ply - 1])))
        assert PASS in play_out(second, first, moves[:ply])
