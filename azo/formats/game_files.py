"""Games from texts and files of any format, and as text again.

`game_texts` lists what a text may be. Here games are played by the rules, so that they are legal
and have their passes. A number chooses one of several games.
"""

import dataclasses
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from azo.formats import game_texts, ggf, wthor
from azo.games import notation, variant
from azo.games.host import move_lists
from azo.storage import files

GGF_SUFFIX = ".ggf"
NO_ACTION = -1
OTHELLO = variant.Variant()
Games = TypeVar("Games")
_CSV_COLUMNS = ("winner", "game_moves")

GameArchive = np.recarray
"""`[G]` legal games of one kind of Othello, of the `fields`."""


def parse(text: str, game: variant.Variant, *, number: int | None = None) -> ggf.GgfGame:
    """Returns one game of a text, played by the rules, with its passes.

    Its `number`, from 1, is not needed if there is one game. ValueError if there is no such game,
    it is of other rules, or a move is illegal.
    """
    return _choose(game_texts.parse(text, game), number, game)


def read(path: pathlib.Path, game: variant.Variant, *, number: int | None = None) -> ggf.GgfGame:
    """Returns one game of a file; messages begin with its path; see `parse`, `read_archives`."""
    return _of_file(path, game, lambda written: _choose(written, number, game))


def read_archives(paths: Sequence[pathlib.Path], game: variant.Variant = OTHELLO) -> GameArchive:
    """Returns all games of files: WTHOR (.wtb), eOthello's CSV, any text, also .gz.

    A folder stands for its .wtb files. Texts are of the rules of `game`; the other formats hold the
    usual game on 8x8. ValueError, one line that begins with the path.
    """
    read = []
    for path in paths:
        inside = sorted(path.glob("*.wtb")) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"{path}: no .wtb file in this folder")
        read += [_of_file(file, game, lambda written: replay(game, written)) for file in inside]
    return np.concatenate(read).view(np.recarray)


def fields(game: variant.Variant) -> np.dtype:
    """Returns the fields of one game in a GameArchive."""
    return np.dtype(
        [
            ("action", np.int8, game.max_plies),  # every ply, with passes; then `NO_ACTION`
            ("num_plies", np.int64),
            ("is_finished", bool),  # played until neither side could move
            ("black_score", np.int32),  # at the last position: discs, the empties to the winner
            ("black_value", np.float32),  # result for the first player: see `replay`
            ("num_solved", np.int32),  # plies before which the recorded exact score holds
            ("exact_score", np.int32),  # for the first player; meaningless if num_solved is 0
        ]
    )


def replay(game: variant.Variant, records: Iterable[ggf.GgfGame]) -> GameArchive:
    """Plays games as written by the rules.

    `black_value` is the result on the board if a game was played to the end. Otherwise it is the
    recorded one, NaN if unknown: the game was adjudicated, or lost on time. ValueError for a game
    of other rules or from an unusual start, an illegal move, or a result that contradicts the
    moves.
    """
    records = list(records)
    games = np.recarray(len(records), fields(game))
    for number, record in enumerate(records, start=1):
        with files.located(f"record {number}"):
            games[number - 1] = _replay(game, record)
    return games


def played(game: variant.Variant, record: ggf.GgfGame) -> move_lists.ReplayedGame:
    """Plays one game as written, whose start may be unusual; ValueError if that is impossible."""
    name = variant.Variant(record.size, record.is_reversed).name
    if name != game.name:
        raise ValueError(f"a game of {name}, but the network plays {game.name}")
    again = move_lists.replay(game, record.moves, record.board)
    if record.unread:
        raise ValueError(record.unread)
    return again


def to_text(played: ggf.GgfGame, game: variant.Variant, *, is_ggf: bool) -> str:
    """Returns a line of GGF, or a transcript, of a game from the usual start alone."""
    if is_ggf:
        return ggf.to_text(played)
    if played.board != ggf.usual_start(game):
        raise ValueError(
            "the start position is unusual, and a transcript cannot store it: save as .ggf"
        )
    return notation.transcript(played.moves, game.size)


def _of_file(
    path: pathlib.Path, game: variant.Variant, play: Callable[[list[ggf.GgfGame]], Games]
) -> Games:
    """Plays the games of a file as written; the path begins each message."""
    content, unpacked_name = files.read(path), path.name.lower().removesuffix(".gz")
    is_wthor = unpacked_name.endswith(".wtb")
    names = _wthor_names(path) if is_wthor else []
    text = content.decode(errors="replace")  # names may be in Latin-1
    with files.located(path):
        if is_wthor:
            return play(list(wthor.parse(content, names)))
        is_csv = unpacked_name.endswith(".csv")
        return play(list(_parse_csv(text)) if is_csv else game_texts.parse(text, game))


def _wthor_names(path: pathlib.Path) -> list[str]:
    """Returns the players' names of the .JOU file beside a .wtb file, none without one."""
    beside = sorted(x for x in path.parent.glob("*") if x.suffix.lower() == ".jou")
    return wthor.parse_players(files.read(beside[0])) if beside else []


def _choose(games: list[ggf.GgfGame], number: int | None, game: variant.Variant) -> ggf.GgfGame:
    """Returns a game with its passes."""
    if not games:
        raise ValueError("no game in it")
    if number is None and len(games) > 1:
        raise ValueError(f"{len(games)} games in it: choose one by its number, from 1")
    if number is not None and not 1 <= number <= len(games):
        raise ValueError(f"no game {number}: there are 1 to {len(games)}")
    written = games[(number or 1) - 1]
    actions = played(game, written).actions.tolist()
    return dataclasses.replace(written, moves=tuple(actions))


def _parse_csv(text: str) -> Iterator[ggf.GgfGame]:
    """Yields the games of a CSV with the columns `winner` and `game_moves`, as eOthello's has.

    `winner` is 1 (black), -1 (white) or 0; moves are squares such as "f5d6" without passes.
    Records are counted without the heading. ValueError if there is no game, a column or field is
    missing, or a winner is bad.
    """
    rows = files.csv_rows(line for line in text.removeprefix("\ufeff").splitlines())
    names = [name.strip() for name in next(rows, [])]
    missing = [name for name in _CSV_COLUMNS if name not in names]
    if not names:
        raise ValueError("empty file")
    if missing:
        raise ValueError(f"no column {' and '.join(missing)}; there are: {', '.join(names)}")
    start = ggf.usual_start(OTHELLO)
    number = 0
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise ValueError(
                f"record {number}: {len(row)} fields, but there are {len(names)} columns"
            )
        winner, text = (row[names.index(name)].strip() for name in _CSV_COLUMNS)
        if winner not in ("-1", "0", "1"):
            raise ValueError(
                f"record {number}: bad score: winner {winner!r} is none of 1 (black), -1 (white)"
                " and 0"
            )
        moves, unread = notation.read_moves(text, 8)
        yield ggf.GgfGame(8, start, tuple(moves), black_value=float(winner), unread=unread)
    if not number:
        raise ValueError("no game after the heading")


def _replay(game: variant.Variant, record: ggf.GgfGame) -> tuple:
    again = played(game, record)
    if record.board != ggf.usual_start(game):
        raise ValueError("the start position is unusual")
    score, value = again.score, record.black_value
    if again.is_over:
        value = float(np.sign(-score if game.is_reversed else score))
        if record.black_score not in (None, score):
            discs = [(game.size**2 + x) // 2 for x in (int(record.black_score), score)]
            raise ValueError(
                f"bad score: the record gives black {discs[0]} discs, the moves give {discs[1]}"
            )
        if record.black_value not in (None, value):
            raise ValueError(
                f"bad score: the record says {record.black_value:+.0f} for black, the moves give"
                f" {value:+.0f}"
            )
    action = np.full(game.max_plies, NO_ACTION, np.int8)
    action[: len(again.actions)] = again.actions
    is_disc = again.actions != game.pass_action
    empties = game.size**2 - 4 - np.cumsum(is_disc) + is_disc  # before each ply
    has_exact = record.exact_empties > 0 and record.exact_empties in empties
    num_solved = (empties >= record.exact_empties).sum() if has_exact else 0
    return (
        action,
        len(again.actions),
        again.is_over,
        score,
        np.nan if value is None else value,
        num_solved,
        record.exact_score,
    )
