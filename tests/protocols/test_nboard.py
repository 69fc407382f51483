"""NBoard's protocol: the published session, and each command."""

import re

import pytest
from support.drivers.front_end import Input, NBoardSession, squares
from support.fakes.fake_engines import GAME, WIPE_OUT, actions, after, pass_ply
from support.fakes.scripted_engine import ScriptedEngine
from support.references import slow_board
from support.references.nboard_example import PUBLISHED, START

from azo.engine import clock, engine_settings, opening_book
from azo.formats import ggf
from azo.games import othello

PLAYED = "f5 f6 d3 c5 e6 f7 e7 f4"


def game_text(moves, **properties):
    return ggf.to_text(ggf.GgfGame(8, ggf.usual_start(GAME), tuple(moves), **properties))


def test_the_published_session_gets_the_answers_of_the_protocol():
    [d6] = actions("d6")
    engine = ScriptedEngine(GAME, {8: {"best": d6, "value": -1 / 64}})
    session = NBoardSession(engine)
    answers = session.asks("nboard 2", f"set game {PUBLISHED}", "set depth 6", "ping 1", "go")
    assert squares(engine.board) == slow_board.text(after(actions(PLAYED)))
    thinking, waiting = "status azo is thinking", "status azo is waiting"
    stats = "nodestats 100 0.00"
    assert answers[:4] == [["set myname azo"], [], ["set myname azo6"], ["pong 1"]]
    assert answers[4] == [thinking, stats, stats, "=== D6/-1.00/0.00", waiting]


def test_go_plays_no_move_until_nboard_sends_it():
    session = NBoardSession()
    session.asks(f"set game {PUBLISHED}")
    *_, answer, _ = session.ask("go")
    assert re.fullmatch(r"=== [A-H][1-8]//\d+\.\d\d", answer)
    assert squares(session.board) == slow_board.text(after(actions(PLAYED)))
    move = answer[4:6]
    assert session.ask(f"move {move}/-1.00/0.3") == []
    assert squares(session.board) == slow_board.text(after(actions(f"{PLAYED} {move}")))


def test_a_forced_pass_has_no_evaluation_and_is_written_pa():
    moves, ply = pass_ply(0)
    session = NBoardSession()
    session.ask(f"set game {game_text(moves[:ply])}")
    assert re.fullmatch(r"=== PA//\d+\.\d\d", session.ask("go")[-2])
    assert session.ask("hint 2")[1].startswith("search PA")
    assert session.ask("move PA") == []
    assert squares(session.board) == slow_board.text(after(moves[: ply + 1]))
    assert not session.board.is_black_to_move


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("move A1", "illegal move a1: black may play d3 c4 f5 e6"),
        ("move", "unknown move '': squares are a1 to h8, a pass is 'pass'"),
        ("set depth 0", "set depth 0: the least depth is 1"),
        ("hint 0", "hint 0: the least number of moves is 1"),
        ("nboard 1", "nboard 1: azo needs version 2"),
        # Unknown lines are ignored.
        *((line, "") for line in ("", "hello", "set colour red", "set contempt 5", "Go", "=== F5")),
    ],
)
def test_errors_are_shown_and_change_nothing(line, complaint):
    session = NBoardSession()
    assert session.ask(line) == ([f"status error: {complaint}"] if complaint else [])
    assert squares(session.board) == slow_board.text(slow_board.start(8))


@pytest.mark.parametrize(
    "time",
    ["1.0E-4", "1e-4", "", "x", "nan", "-inf", "1:05", "0:00.5", "1,5", "12s", "9" * 400, "-3"],
)
def test_times_in_any_notation_refuse_neither_a_game_nor_a_move(time):
    session = NBoardSession()
    session.ask(f"set game {game_text(actions('d3 c5'))}")
    text = game_text(actions("f5 d6")).replace("B[F5]", f"B[F5/1/{time}]")
    assert session.ask(f"set game {text.replace('TY[8]', f'TI[{time}]TY[8]')}") == []
    assert session.ask(f"move C3/0/{time}") == []
    assert squares(session.board) == slow_board.text(after(actions("f5 d6 c3")))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("(;GM[Go];)", "GGF: the game is 'Go', not 'Othello'"),
        (game_text(actions("f5 d6")).replace("D6", "D9"), "GGF: move 2, W[D9]: unknown move 'D9'"),
        (game_text(actions("f5 d6")).replace("D6", "A1"), "illegal move 'a1' at ply 2"),
        ("hello", "GGF: text is 'hello', but should be (; ... ;)"),
        ("", "GGF: text is '', but should be (; ... ;)"),
        (game_text([]).replace("BO[8", "BO[10"), "GGF: a 10x10 board"),
    ],
)
def test_a_game_that_cannot_be_read_leaves_no_older_one(text, fault):
    session = NBoardSession()
    session.asks(f"set game {game_text(actions('f5 d6 c3'))}", "move d3")
    (answer,) = session.ask(f"set game {text}")
    assert answer.startswith(f"status error: {fault}")
    for line in ("go", "hint 1", "move C4", "analyze"):
        (answer,) = session.ask(line)
        assert answer.startswith("status error: no game: the last 'set game' cannot be read: ")
    assert squares(session.board) == slow_board.text(slow_board.start(8))
    assert session.ask("ping 3") == ["pong 3"]
    assert session.ask(f"set game {game_text(actions('d3 c5'))}") == []
    assert session.ask("move D6") == []
    assert squares(session.board) == slow_board.text(after(actions("d3 c5 d6")))


def test_a_game_that_is_over_has_no_move():
    session = NBoardSession()
    session.ask(f"set game {game_text(actions(WIPE_OUT))}")
    complaints = {"go": "go: the game", "hint 1": "hint: the game", "move A1": "the game"}
    for line, complaint in complaints.items():
        assert session.ask(line) == [f"status error: {complaint} is over"]
    assert session.ask("learn") == ["learned"]


# Hints and limits


def test_hints_are_in_discs_for_the_side_to_move_best_first():
    d3, c4, f5, e6 = actions("d3 c4 f5 e6")
    opinion = {
        "best": f5,
        "values": {d3: 0.25, c4: -0.5, f5: 0.5, e6: None},
        "prior": {d3: 0.3, c4: 0.1, f5: 0.4, e6: 0.2},
        "visits": {d3: 30, c4: 3, f5: 60, e6: 0},
    }
    session = NBoardSession(ScriptedEngine(GAME, {0: opinion}))
    assert session.ask("hint 2")[-4:] == [
        "search F5 32.00 0 6 visits 60 prior 0.400",
        "search D3 16.00 0 6 visits 30 prior 0.300",
        "nodestats 100 0.00",
        "status azo is waiting",
    ]
    # A move that was not searched has no evaluation.
    assert len([line for line in session.ask("hint 9") if line.startswith("search")]) == 2 * 3


def test_hints_come_from_the_book_if_it_has_values():
    [d6] = actions("d6")
    engine = ScriptedEngine(GAME, {1: {"visits": {d6: 9}}})
    engine.play(actions("f5")[0])
    engine.book = opening_book.Book(GAME)
    entry = engine.book.entry(engine.board, d6)
    entry.value, entry.num_visits = 0.25, 800
    session = NBoardSession(engine)
    assert session.ask("hint 1") == [
        "status azo is analyzing",
        "book D6 0.96 0 12",
        "status azo is waiting",
    ]
    assert engine.limits == []
    answers = session.ask("hint 2")
    assert answers[1] == "book D6 0.96 0 12"
    assert {answer[:9] for answer in answers if answer.startswith("search")} == {"search F4"}


@pytest.mark.parametrize(("is_reversed", "discs"), [(False, "-4.00"), (True, "4.00")])
def test_hints_of_solved_moves_are_exact(is_reversed, discs):
    [d3] = actions("d3")
    engine = ScriptedEngine(othello.Othello(8, is_reversed), {0: {"scores": {d3: -4}}})
    hint = NBoardSession(engine).ask("hint 1")[1]
    assert hint == f"search D3 {discs} 0 100% visits 20 prior 0.250"


@pytest.mark.parametrize(
    ("depth", "simulations"), [(1, 18), (2, 25), (6, 100), (10, 400), (12, 800), (60, 409_600)]
)
def test_a_depth_is_a_number_of_simulations(depth, simulations):
    engine = ScriptedEngine(GAME, config=engine_settings.EngineConfig(num_simulations=simulations))
    session = NBoardSession(engine)
    session.asks(f"set depth {depth}", "hint 1")
    assert engine.limits == [engine_settings.Limits(simulations, is_analysis=True)]
    assert f" 0 {min(depth, 30)} visits" in session.ask("hint 1")[1]


def test_a_move_ends_by_the_clock_of_the_game_too():
    engine = ScriptedEngine(GAME, config=engine_settings.EngineConfig(num_simulations=50))
    session = NBoardSession(engine)

    def limit(*lines):
        session.asks(*lines, "go")
        return engine.limits[-1]

    assert limit() == engine_settings.Limits(50, None)
    text = f"(;GM[Othello]PB[x B[F5/1/999]TI[5:00]TY[8]BO[{START}]B[F5/1.5/20]W[D6//100.5];)"
    assert limit(f"set game {text}").seconds == clock.seconds_for_move(280, 58)
    assert limit("move C3/2/30").seconds == clock.seconds_for_move(199.5, 57)
    text = f"(;GM[Othello]TI[1:00:00/0:10/2:00]TY[8]BO[{START}]B[F5//20]W[D6];)"
    expected = clock.seconds_for_move(3590, 58, increment=10)
    assert limit(f"set game {text}").seconds == expected
    text = f"(;GM[Othello]TI[soon]TY[8]BO[{START}];)"
    assert limit("set depth 10", f"set game {text}") == engine_settings.Limits(400, None)


@pytest.mark.parametrize("end", ["pong", "input"])
@pytest.mark.parametrize(
    ("command", "mark"), [("hint 3", "search"), ("go", "nodestats"), ("analyze", "status")]
)
def test_thinking_ends_with_a_ping_which_is_answered_last_and_with_the_input(command, mark, end):
    source = Input(f"nboard 2\nset depth 30\n{command}\n")
    session = NBoardSession(source=source)
    with session.running():
        session.output.wait_for(mark)
        if end == "pong":
            source.send("status?\n")  # no reason to stop
            source.send("ping 5\n")
            answer = session.output.wait_for("pong 5\n")
            assert answer.endswith("status azo is waiting\npong 5\n")
            assert ("=== " in answer) == (command == "go")
        source.end()
    assert end == "input" or session.output.take() == ""


def test_analysis_goes_back_from_the_end_to_the_start():
    values = {ply: {"value": ply / 32} for ply in range(9)}
    engine = ScriptedEngine(GAME, values)
    session = NBoardSession(engine)
    session.ask(f"set game {game_text(actions(WIPE_OUT))}")
    before = engine.boards
    first, *lines, last = session.ask("analyze")
    assert (first, last) == ("status azo is analyzing", "status azo is waiting")
    # White is to move at the end, and has lost every disc.
    expected = ["analysis 9 -64.00", *(f"analysis {ply} {2 * ply:.2f}" for ply in range(8, -1, -1))]
    assert lines == expected
    assert engine.boards == before
