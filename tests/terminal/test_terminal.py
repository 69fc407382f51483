"""Sessions in the terminal: typed lines and the output, with scripted evaluations."""

import io
import os
import pathlib
import random
import re
import signal

import pytest
import rich.console
from support.drivers.typed_lines import moves_of, played
from support.fakes import scripted_engine

from azo.coach import deck, formatting
from azo.engine import engine_settings, search_report
from azo.formats import ggf
from azo.games import notation, othello
from azo.terminal import board_drawing, terminal

_DATA = pathlib.Path(__file__).parents[1] / "data"
_GAME = othello.Othello()
_DECK = deck.Deck(pathlib.Path(os.devnull, "deck.json"))
CONSOLE = rich.console.Console(file=io.StringIO(), width=80, color_system=None)

_START = """
   a  b  c  d  e  f  g  h
1  -  -  -  -  -  -  -  -  1   X black  2  you
2  -  -  -  -  -  -  -  -  2   O white  2  azo, level 20 (full)
3  -  -  -  +  -  -  -  -  3
4  -  -  +  O  X  -  -  -  4   ply 1: black to move
5  -  -  -  X  O  +  -  -  5
6  -  -  -  -  +  -  -  -  6   X black  O white  + legal  [ ] last move
7  -  -  -  -  -  -  -  -  7
8  -  -  -  -  -  -  -  -  8
   a  b  c  d  e  f  g  h
"""


def test_the_start_is_shown_without_colours_in_80_columns():
    out, _ = played([])
    assert out.startswith(_START)


def test_the_engine_answers_a_move_and_says_what_it_expects():
    out, engine = played(["F5"], evaluations={1: {"best": 43, "value": 0.56, "discs": 7.25}})
    assert moves_of(engine) == "f5d6"
    shown = out[out.index("azo (white) plays d6") :]
    assert "\n4  -  -  +  O  X  -  -  -  4   ply 3: black to move\n" in shown
    assert "\n5  -  -  +  O  X  X  -  -  5   last move: d6\n" in shown
    assert "\n6  -  -  + [O] -  -  -  -  6   azo expects ~+7 discs, wins 78 %\n" in shown


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a1", "illegal move a1: black may play d3 c4 f5 e6"),
        ("z9", "unknown move 'z9': squares are a1 to h8, a pass is 'pass'"),
        ("helo", "unknown command 'helo': did you mean 'help'?"),
        ("@", "unknown command '@': enter a move such as f5, or 'help'"),
        ("f5 d6", "'d6' follows the move 'f5': enter one move per line"),
        ("undo", "nothing to take back: no move was played"),
        ("save", "usage: save FILE"),
        ("\ufffd\x00", "unknown command '\ufffd\\x00': enter a move such as f5, or 'help'"),
        ("level x", f"level x: {engine_settings.LEVELS}"),
        ("play green", "play 'green': choose black, white, both or none"),
        (
            "load absent",
            "absent: there is no such file, and as text: cannot read 'absent' after 0 moves: "
            "squares are a1 to h8, a pass is 'pa'",
        ),
        ("save " + "a" * 256, "a" * 16 + ": cannot write here (File name too long)"),
        ("analyse", "no move was played yet"),
    ],
)
def test_an_error_gets_a_line_and_the_game_goes_on(line, message):
    out, engine = played([line, "f5"])
    assert message in " ".join(out.split())
    assert moves_of(engine)[:2] == "f5"


_WITH_PASS = "c4b4a1d2d4d3a2c1a4a3b1pad1"
_SMALL = othello.Othello(4)
_REVERSED = othello.Othello(is_reversed=True)


def row(lines, moves_then, *said, id, **options):
    """Typed lines, the moves of the game then, what was shown at last, and options of `played`."""
    return pytest.param(lines, moves_then, said, options, id=id)


@pytest.mark.parametrize(
    ("lines", "moves", "said", "options"),
    [
        row(["f5", "undo"], "", id="undo takes back the answer and the move"),
        row(["undo"], "f5d6", id="undo of both sides", moves="f5d6c3", sides="both"),
        row(["undo"], "f5", id="undo of white", moves="f5d6c3", sides="white"),
        # White has nothing of his own to take back: the engine's first move goes, and it waits.
        row(["undo"], "", "paused, press Enter to continue>", id="undo of the engine's first move",
            moves="f5", sides="white"),
        row(["swap"], "d3", "azo (black) plays d3", "white>", id="the engine moves after swap"),
        row(["b1"], _WITH_PASS[:24], "white has no move and passes", "black>",
            id="a pass is played by itself", game=_SMALL, moves=_WITH_PASS[:20], sides="both"),
        row(["level 1", "level"], "", "azo plays at level 1 (beginner)",
            "azo plays at level 1; levels are 1 to 20, and human:1400", id="levels"),
        row(["analyse"], "f5d6", "2. white d6??: ~32 discs, from ~+13 to ~-19 (better: f4)",
            id="an analysis shows the largest loss", moves="f5d6", sides="both",
            evaluations={1: {"value": 0.2, "best": 29}, 2: {"value": 0.3}}),
        row(["f5"], "f5f4", "35-29 to white if both play perfectly (exact)", id="an exact score",
            evaluations={1: {"score": 6, "value": 1.0}}),
        row(["f5"], "f5f4", "32-32, a draw if both play perfectly (exact)", id="an exact draw",
            evaluations={1: {"score": 0, "value": 0.0}}),
        row(["f5"], "f5f4", "29-35 to white if both play perfectly (exact)", id="reversed",
            evaluations={1: {"score": -6, "value": 1.0}}, game=_REVERSED),
        row(["solve"], "", "d3", "34-30 to black if both play perfectly (exact)", id="solve",
            evaluations={0: {"score": 4, "scores": {19: 4}}}),
        row(["solve"], "", "stopped; the score is an estimate, not proven", id="a stopped solve",
            evaluations={0: {"discs": 4.0, "value": 0.8}}),
    ],
)  # fmt: skip
def test_a_command_does_and_shows(lines, moves, said, options):
    out, engine = played(lines, **options)
    assert moves_of(engine) == moves
    place = 0
    for text in said:
        place = out.index(text, place)
    if said and said[-1].endswith(">"):  # a prompt
        assert out.rstrip().endswith(said[-1])


@pytest.mark.parametrize(
    ("lines", "sides"), [(["f5", "undo", "", "quit"], "none"), (["swap"], "both")]
)
def test_self_play_ends_with_the_result_and_takes_commands(lines, sides):
    out, engine = played(lines, game=_SMALL, sides=sides)
    assert engine.is_over
    black = (16 + engine.final_score()) // 2
    assert f"{max(black, 16 - black)}-{min(black, 16 - black)}" in out
    assert "the game is over" in out


def test_hints_are_for_the_side_to_move():
    d3 = 19
    evaluation = {"best": d3, "values": {d3: 0.5}, "visits": {d3: 77}}
    out, _ = played(["hint"], evaluations={0: evaluation})
    row = next(line for line in out.splitlines() if line.startswith("d3"))
    assert row.split() == ["d3", "~+32", "75", "%", "77", "d3"]


@pytest.mark.parametrize(("is_reversed", "bound"), [(False, "≤+4"), (True, "≥+4")])
def test_an_unsolved_move_of_a_solved_position_has_the_best_score_as_its_bound(is_reversed, bound):
    evaluation = {"score": 4, "best": 19, "scores": {19: 4}}
    game = othello.Othello(is_reversed=is_reversed)
    out, _ = played(["hint"], game=game, evaluations={0: evaluation})
    rows = [line.split()[:2] for line in out.splitlines() if " % " in line]
    assert rows == [["d3", "+4"], ["c4", bound], ["f5", bound], ["e6", bound]]


@pytest.mark.parametrize("name", ["game.txt", "game.ggf"])
def test_a_saved_game_can_be_loaded(tmp_path, name):
    path = tmp_path / name
    lines = [f"save {path}", "new", f"load {path}"]
    _, engine = played(lines, moves="f5d6c3d3", sides="both")
    assert moves_of(engine) == "f5d6c3d3"
    text = path.read_text()
    if name.endswith("ggf"):
        assert (ggf.parse(text).black, ggf.parse(text).moves) == ("you", engine.actions)
    else:
        assert text == "f5d6c3d3\n"


def test_a_file_is_not_written_over_unless_this_game_made_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("thesis").write_text("precious")
    out, _ = played(["save thesis", "save new", "f5", "save new"], sides="both")
    assert "thesis: exists already, choose another name" in out
    assert pathlib.Path("thesis").read_text() == "precious"
    assert pathlib.Path("new").read_text() == "f5\n"


def test_a_loaded_game_waits_before_the_engine_moves():
    out, engine = played([f"load {_DATA / 'olivaw_game12.txt'}"], sides="white")
    assert len(engine.actions) == 61
    assert "47-17 to black" in out


def test_any_lines_leave_a_game_that_can_be_replayed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    commands = ["undo", "hint", "swap", "play", "level", "new", "save", "load", "board", "help"]
    more = ["a.txt", "b.ggf", "", "1", "3", "black", "both", "white", "pass", "[red]", "\\", "é"]
    squares = [f"{column}{row}" for column in "abcd" for row in "1234"]

    def line():
        words = [rng.choice(rng.choice([squares, squares, commands, more]))]
        words += rng.choices(more + squares, k=rng.choice([0, 0, 0, 1, 2]))
        return " ".join(words)

    out, engine = played([line() for _ in range(1500)], game=_SMALL)
    again = scripted_engine.ScriptedEngine(_SMALL)
    again.new_game(engine.start, engine.actions)
    assert again.board == engine.board
    assert out.count("the game is over") > 10


def test_a_narrow_terminal_shows_every_word_below_the_board():
    evaluation = {"best": 43, "value": 0.56, "discs": 7.25}
    lines = ["f5", "hint", "analyse", "help", "undo"]
    wide, out = (played(lines, evaluations={1: evaluation}, width=width)[0] for width in (200, 36))
    assert max(map(len, out.splitlines())) <= 36
    board, below = (re.findall("^[1-8]  ?[-+XO[].*", text, re.MULTILINE) for text in (wide, out))
    assert len(board) == 32
    assert below == [line[:28].rstrip() for line in board]
    assert sorted(out.split()) == sorted(wide.split())


def test_ctrl_c_while_the_engine_thinks_makes_it_move_now():
    class Slow(scripted_engine.ScriptedEngine):
        def think(self, limits=None, *, is_stopped=None, **options):
            os.kill(os.getpid(), signal.SIGINT)
            while not is_stopped():
                pass
            return super().think(limits)

    engine, lines = Slow(_GAME), iter(["f5", "quit"])
    before = signal.getsignal(signal.SIGINT)
    terminal.Terminal(engine, CONSOLE, lambda _: next(lines, None), positions=_DECK).run()
    assert len(engine.actions) == 2
    assert signal.getsignal(signal.SIGINT) is before
    # In self-play it also pauses.
    engine = Slow(_GAME)
    terminal.Terminal(engine, CONSOLE, lambda _: None, sides="none", positions=_DECK).run()
    assert len(engine.actions) == 1


def test_colours_come_with_discs_of_two_shapes():
    class File(io.StringIO):
        encoding = "utf-8"

    console = rich.console.Console(file=File(), force_terminal=True, color_system="truecolor")
    plain = rich.console.Console(file=File(), force_terminal=True, no_color=True)
    signs = board_drawing.symbols(console)
    assert board_drawing.symbols(plain).styles == {}
    start = notation.Board(*_GAME.start_discs, is_black_to_move=True)
    text = "\n".join(line.plain for line in board_drawing.board(start, 8, (19,), 28, signs))
    assert (text.count(signs.black), text.count(signs.white), text.count(signs.legal)) == (2, 2, 1)
    assert f"[{signs.black}]" in text


@pytest.mark.parametrize(
    ("source", "said"), [("forced", "azo had no choice"), ("book", "azo knows this opening")]
)
def test_a_move_without_a_search_says_why(source, said):
    board = notation.Board(*_GAME.start_discs, is_black_to_move=True)
    report = search_report.SearchReport(board, 19, (), 0.0, 0.0, 0.0, None, source, 0, 0, 0.0)
    assert formatting.reason(report, "azo", _GAME)[0].startswith(said)


@pytest.mark.parametrize("level", [1, 3, 20])
def test_azos_move_does_not_tell_the_best_reply(level):
    d6, c3 = (notation.parse_action(move, 8) for move in ("d6", "c3"))
    told = {1: {"best": d6, "lines": {d6: (d6, c3)}}}
    out, _ = played(["f5"], evaluations=told, level=level)
    assert "azo (white) plays d6" in out
    assert "azo expects" in out
    assert "c3" not in out
    out, _ = played([], evaluations=told, level=level, sides="none", moves="f5")
    assert "expected: d6 c3" in out  # nobody is to find it


@pytest.mark.parametrize(
    ("sides", "said"), [("black", "you lose by 64:"), ("white", "you win by 64:")]
)
def test_a_finished_game_is_told_from_ones_own_side(sides, said):
    board = notation.parse_board("O" * 64, 8)
    out, _ = played(["board"], board=board, sides=sides)
    assert said in out
    out, _ = played(["board"], board=board, sides="both")
    assert "the game is over:" in out
