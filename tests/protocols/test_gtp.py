"""GTP: answers, moves, and a game against another engine."""

import contextlib
import itertools
import os
import pathlib
import subprocess
import sys
import time
import types

import pytest
from support.drivers.front_end import QUICK, GtpSession, Input, plays, quick_engine, squares
from support.fakes.fake_engines import GAME, PASS, WIPE_OUT, actions, after, pass_ply
from support.fakes.scripted_engine import ScriptedEngine
from support.references import slow_board

from azo.cli.gtp import main as gtp_main
from azo.engine import clock, engine_factory, engine_settings
from azo.games import notation
from azo.protocols import gtp, line_reader
from azo.settings import shipped_files

# The form of commands and answers


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("protocol_version", "= 2\n\n"),
        ("1 name", "=1 azo\n\n"),
        ("00042   version\t \r", f"=00042 {shipped_files.version()}\n\n"),
        ("\x07 7\tna\x00me # is it you?", "=7 azo\n\n"),
        ("5 quit", "=5\n\n"),
        (" \t\r", ""),
        ("# komi 3", ""),
        ("Name", "? unknown command\n\n"),
        ("3 loadsgf game.sgf", "?3 unknown command\n\n"),
        ("8 play black", "?8 syntax error: expected 'play COLOUR MOVE'\n\n"),
    ],
)
def test_a_line_gets_the_answer_that_the_specification_wants(line, answer):
    assert GtpSession().ask(line) == answer


def test_known_command_agrees_with_list_commands():
    session = GtpSession()
    listed = session.ask("list_commands")[2:].split()
    required = (
        "protocol_version name version known_command list_commands quit boardsize clear_board komi"
        " play genmove reg_genmove undo showboard final_score time_settings time_left level"
        " set_game list_games"
    )
    assert set(listed) == set(required.split())
    assert all(session.ask(f"known_command {name}") == "= true\n\n" for name in listed)
    assert session.ask("known_command loadsgf") == "= false\n\n"


# Moves


def test_moves_are_played_shown_and_taken_back():
    session = GtpSession()
    assert session.asks("play b f5", "play WHITE D6") == ["=\n\n"] * 2
    assert squares(session.board) == slow_board.text(after(actions("f5 d6")))
    assert (
        session.ask("2 showboard")
        == """=2
  a b c d e f g h
1 - - - - - - - - 1
2 - - - - - - - - 2
3 - - - - - - - - 3
4 - - - O X - - - 4
5 - - - O X X - - 5
6 - - - O - - - - 6
7 - - - - - - - - 7
8 - - - - - - - - 8
  a b c d e f g h
black (X) to move
black 3, white 3

"""
    )
    assert session.asks("undo", "undo", "undo") == ["=\n\n", "=\n\n", "? cannot undo\n\n"]
    assert session.board == quick_engine().board


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("play red f5", "syntax error: colour 'red' is neither black nor white"),
        ("play b i9", "syntax error: unknown move 'i9': squares are a1 to h8, a pass is 'pass'"),
        ("komi nan", "syntax error: komi 'nan' is not a number of discs"),
        ("time_settings 1 2 -3", "syntax error: '-3' is not a number"),
        ("play b a1", "illegal move a1: black may play d3 c4 f5 e6"),
        ("play b pass", "illegal move pass: black may play d3 c4 f5 e6"),
        ("play w f4", "illegal move: black is to move"),
        ("genmove w", "no move: black is to move"),
        ("boardsize 10", "unacceptable size: no network for othello10"),
        ("level 21", f"level 21: {engine_settings.LEVELS}"),
        ("final_score", "cannot score: the game is not over"),
        ("set_game Go", "unsupported game: azo plays Othello, not Go"),
    ],
)
def test_impossible_commands_are_refused_and_the_game_goes_on(line, complaint):
    session = GtpSession()
    assert session.ask(line) == f"? {complaint}\n\n"
    assert session.board == quick_engine().board
    assert session.ask("play b f5") == "=\n\n"


def test_a_generated_move_is_legal_and_played_and_a_suggested_one_is_not_played():
    session = GtpSession()
    suggestion = session.ask("reg_genmove b")
    assert session.board == quick_engine().board
    assert session.ask("genmove b") == suggestion
    action = notation.parse_action(suggestion[2:], 8)
    assert suggestion == f"= {notation.action_text(action, 8).upper()}\n\n"
    assert squares(session.board) == slow_board.text(after([action]))


@pytest.mark.parametrize("parity", [0, 1])
def test_a_pass_may_be_left_out_and_is_taken_back_with_the_move(parity):
    moves, ply = pass_ply(parity)
    passing, other = "bw"[parity], "wb"[parity]
    move = notation.action_text(moves[ply + 1], 8)
    for command in (f"play {other} {move}", f"genmove {other}"):
        session = GtpSession()
        assert set(session.asks(*plays(moves[:ply]))) == {"=\n\n"}
        before = session.board
        chosen = session.ask(command).split()[-1]
        action = moves[ply + 1] if chosen == "=" else notation.parse_action(chosen, 8)
        assert squares(session.board) == slow_board.text(after([*moves[:ply], PASS, action]))
        session.ask("undo")
        assert session.board == before
        assert session.ask(f"reg_genmove {other}")[0] == "="
        assert session.ask(f"play {other} d4")[0] == "?"
        assert session.board == before
        answers = session.asks(f"genmove {passing}", f"play {other} {move}", "undo", "undo")
        assert answers == ["= pass\n\n", *["=\n\n"] * 3]
        assert session.board == before


def test_after_the_end_only_passes_are_accepted():
    session = GtpSession()
    session.asks(*plays(actions(WIPE_OUT)))
    before = session.board
    for command, answer in (
        ("genmove w", "= pass"),
        ("play b pass", "="),
        ("reg_genmove b", "= pass"),
        ("play w a1", "? illegal move: the game is over"),
        ("final_score", "= B+64"),
        ("komi 4.5", "="),
        ("final_score", "= B+59.5"),
        ("komi 64", "="),
        ("final_score", "= 0"),
    ):
        assert session.ask(command) == f"{answer}\n\n"
    assert session.ask("showboard").endswith("the game is over\nblack 13, white 0\n\n")
    session.asks("undo", "undo")
    assert session.board == before
    session.ask("undo")
    assert squares(session.board) == slow_board.text(after(actions(WIPE_OUT)[:-1]))


def test_only_board_sizes_with_a_network_are_accepted():
    session = GtpSession()
    assert session.asks("play b f5", "boardsize 8") == ["=\n\n"] * 2
    assert squares(session.board) == slow_board.text(slow_board.start(8))
    assert session.asks("boardsize 6", "play b c2", "play w g7")[:2] == ["=\n\n"] * 2
    assert squares(session.board, 6) == slow_board.text(slow_board.play(slow_board.start(6), 8))
    assert session.ask("clear_board") == "=\n\n"
    assert squares(session.board, 6) == slow_board.text(slow_board.start(6))


def test_the_first_board_size_comes_back_with_its_network(monkeypatch, capsys):
    loaded = []

    def load(play):
        loaded.append((play.network, play.size))
        return quick_engine(play.size)

    monkeypatch.setattr(engine_factory, "make_engine", load)
    source = Input("boardsize 6\nboardsize 8\nquit\n")
    streams = contextlib.nullcontext((source.lines, sys.stdout.write))
    monkeypatch.setattr(line_reader, "standard_streams", lambda: streams)
    own = pathlib.Path("own")
    assert gtp_main(["--network", "own"]) == 0
    assert capsys.readouterr().out == "=\n\n" * 3
    assert loaded == [(own, 8), (None, 6)]


# Thinking


@pytest.mark.parametrize(
    ("settings", "lines", "limits"),
    [
        ((50, None), ["time_settings 120 0 0"], (50, clock.seconds_for_move(120, 60))),
        ((None, 0.5), ["time_left b 2 4"], (None, clock.seconds_for_move(2, 60, moves_left=4))),
        ((None, None), [], (None, 10.0)),
    ],
)
def test_a_move_ends_with_the_first_of_all_limits(settings, lines, limits):
    names = ("num_simulations", "seconds")
    config = engine_settings.EngineConfig(**dict(zip(names, settings, strict=True)))
    engine = ScriptedEngine(GAME, config=config)
    GtpSession(engine).asks(*lines, "genmove b")
    assert (engine.limits[-1].num_simulations, engine.limits[-1].seconds) == limits


def test_the_time_of_a_move_is_taken_from_the_clock(monkeypatch):
    now = itertools.chain([100.0, 107.0], itertools.repeat(107.0))
    monkeypatch.setattr(gtp, "time", types.SimpleNamespace(monotonic=lambda: next(now)))
    engine = ScriptedEngine(GAME)
    session = GtpSession(engine)
    session.asks("time_settings 120 0 0", "genmove b", "play w c3", "reg_genmove b")
    assert engine.limits[-1].seconds == clock.seconds_for_move(113, 58)
    session.asks("clear_board", "reg_genmove b")
    assert engine.limits[-1].seconds == clock.seconds_for_move(120, 60)


def test_a_level_weakens_moves_and_is_kept_by_another_board():
    session = GtpSession()
    assert session.asks("level 1", "boardsize 6") == ["=\n\n"] * 2
    assert session.front_end._engine.level == 1


@pytest.mark.parametrize("last", ["quit", "5 quit # now", None])
def test_a_search_ends_with_quit_and_with_the_input(last):
    source = Input("1 genmove b\n")
    config = QUICK.model_copy(update={"num_simulations": None, "seconds": 60.0})
    session = GtpSession(quick_engine(config=config), source)
    num_before = len(session.engine.evaluator.batches)
    with session.running():
        while len(session.engine.evaluator.batches) < num_before + 5:  # the search has begun
            time.sleep(0.001)
        if last:
            source.send(f"name\n{last}\n")
        else:
            source.end()
    move, *rest = session.output.take().split("\n\n")
    assert move in ("=1 D3", "=1 C4", "=1 F5", "=1 E6")
    assert rest[:-1] == {"quit": ["= azo", "="], None: []}.get(last, ["= azo", "=5"])


def test_a_search_of_a_script_is_complete():
    source = Input("genmove b\nquit\n")
    while not source.lines.has(lambda line: line == "quit"):
        time.sleep(0.001)
    config = QUICK.model_copy(update={"num_simulations": 60})
    sessions = [GtpSession(quick_engine(config=config), each) for each in (source, None)]
    sessions[0].front_end.run()
    sessions[1].ask("genmove b")
    whole, alone = (sum(session.engine.evaluator.batches) for session in sessions)
    assert whole == alone > 20


# The program


def test_the_program_answers_and_ends_with_its_input():
    commands = "play b é\nplay b f5\n1 reg_genmove w\ngenmove w\nboardsize 5\n"
    done = subprocess.run(
        [sys.executable, "-m", "azo", "gtp", "--level", "3"],
        input=commands,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    *most, refused = done.stdout.rstrip("\n").split("\n\n")
    assert most[0].startswith(r"? syntax error: unknown move '\xe9'")
    assert most[1] == "="
    assert {move.split()[1] for move in most[2:]} <= {"D6", "F4", "F6"}
    assert refused.startswith("? unacceptable size: no network for othello5 comes with azo")
