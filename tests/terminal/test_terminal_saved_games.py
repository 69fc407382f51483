"""Unfinished games of the terminal: kept on disk, offered at the next start."""

import io
import shutil

import pytest
import rich.console
from support.drivers.typed_lines import moves_of, played, session
from support.fakes import scripted_engine

from azo.coach import deck
from azo.formats import ggf
from azo.games import notation, othello
from azo.terminal import saved_game, terminal

_GAME = othello.Othello()


@pytest.mark.parametrize("answer", ["y", "YES ", None, KeyboardInterrupt()])
def test_ctrl_c_asks_before_it_leaves_a_game_and_keeps_it(tmp_path, answer):
    lines = [KeyboardInterrupt(), "maybe", "n", "c3", KeyboardInterrupt(), answer, "d3"]
    out, engine = session(tmp_path, lines, moves="f5d6", level=11)
    assert out.count("leave this game? (y/n)>") == 3
    moves = moves_of(engine)
    assert (moves[:6], len(engine.actions)) == ("f5d6c3", 4)
    assert "the game is saved: 'azo play' offers it at the next start" in out
    out, engine = session(tmp_path, ["y"], sides="white")
    assert "an unfinished game: you (black) against azo, level 11 (improver) (white), 4" in out
    assert moves_of(engine) == moves
    assert engine.level == 11
    assert out.rstrip().endswith("offers it at the next start")


def test_a_game_is_on_disk_before_each_prompt_and_gone_at_its_end(tmp_path):
    game, path = othello.Othello(4), tmp_path / "othello4.1.ggf"
    engine, num_checked = scripted_engine.ScriptedEngine(game), 0

    def check():
        nonlocal num_checked
        num_checked += 1
        stored = ggf.parse(path.read_text()).moves if path.exists() else ()
        assert stored == (() if engine.is_over else engine.actions)

    def think(*args, **kwargs):
        check()
        return scripted_engine.ScriptedEngine.think(engine, *args, **kwargs)

    def read(prompt):
        check()
        return None if engine.is_over else notation.action_text(engine.legal_actions[0], 4)

    engine.think = think
    console = rich.console.Console(file=io.StringIO(), width=80, color_system=None)
    kept, positions = saved_game.SavedGame(tmp_path, game), deck.Deck(tmp_path / "deck.json")
    terminal.Terminal(engine, console, read, kept=kept, positions=positions).run()
    assert engine.is_over
    assert num_checked > 8
    assert "is saved" not in console.file.getvalue()


def test_a_declined_game_stays_until_the_first_move_of_another(tmp_path):
    session(tmp_path, [], moves="f5d6c3", sides="both")
    path = tmp_path / "othello8.1.ggf"
    before = path.read_text()
    _, engine = session(tmp_path, ["n", "board"])
    assert moves_of(engine) == ""
    assert path.read_text() == before
    session(tmp_path, [None])
    assert path.read_text() == before
    session(tmp_path, ["n", "d3"], sides="both")
    assert notation.transcript(ggf.parse(path.read_text()).moves, 8) == "d3"


def test_two_terminals_keep_a_game_each_and_the_next_ones_find_them(tmp_path):
    first, second = (saved_game.SavedGame(tmp_path, _GAME) for _ in range(2))
    played([], moves="f5", sides="both", kept=first)
    played([], moves="c4", sides="both", kept=second)
    second.lock.release()
    third = saved_game.SavedGame(tmp_path, _GAME)
    assert notation.transcript(third.read().moves, 8) == "c4"
    other = saved_game.SavedGame(tmp_path, othello.Othello(is_reversed=True))
    assert other.read() is None
    assert notation.transcript(first.read().moves, 8) == "f5"


_SQUARES = "-" * 27 + "O*------*O" + "-" * 27
_ILLEGAL = f"(;GM[Othello]PB[you]PW[you]TY[8]BO[8 {_SQUARES} *]B[A1];)"  # its first move


@pytest.mark.parametrize(
    ("damaged", "lines"), [("(;GM[Othello]BO[8 ---", ["f5"]), (_ILLEGAL, ["y", "f5"])]
)
def test_a_damaged_game_is_kept_aside_and_a_new_one_begins(tmp_path, damaged, lines):
    path = tmp_path / "othello8.1.ggf"
    for name in ("othello8.1.ggf.damaged", "othello8.1.ggf.damaged-2"):
        path.write_text(damaged)
        kept = saved_game.SavedGame(tmp_path, _GAME)
        out, engine = played(lines, kept=kept, sides="both", width=400)
        assert f"the unfinished game is damaged: moved to {tmp_path / name}" in out
        assert moves_of(engine) == "f5"
        assert (tmp_path / name).read_text() == damaged
        assert notation.transcript(kept.read().moves, 8) == "f5"
        kept.lock.release()


def test_a_game_that_cannot_be_kept_goes_on(tmp_path):
    kept = saved_game.SavedGame(tmp_path / "games", _GAME)
    shutil.rmtree(tmp_path / "games")
    out, engine = played(["f5", "f6"], kept=kept, sides="both", width=400)
    assert moves_of(engine) == "f5f6"
    assert out.count("the game is not saved") == 1
    assert "is saved:" not in out
