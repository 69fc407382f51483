"""Games from texts and files of any format, and as text again.

`game_texts` lists what a text may be. Here games are played by the rules, so that they are legal
and have their passes. A number chooses one of several games. A game that cannot be read, or is of
other rules, does not close the others: it is left out, with a reason.
"""

import dataclasses
import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from azo.formats import decoding, game_texts, ggf, wthor
from azo.games import notation, plurals, variant
from azo.games.host import move_lists
from azo.storage import files

GGF_SUFFIX = ".ggf"
NO_ACTION = -1
OTHELLO = variant.Variant()
Games = TypeVar("Games")

GameArchive = np.recarray
"""`[G]` legal games of one kind of Othello, of the `fields`."""


def parse(text: str, game: variant.Variant, *, number: int | None = None) -> ggf.GgfGame:
    """Returns one game of a text, played by the rules, with its passes.

    Its `number`, from 1, is not needed if only one game can be read; its note then names the
    others. ValueError if there is no such game, it is of other rules, or a move is illegal.
    """
    return _choose(game_texts.parse(text, game), number, game)


def read(path: pathlib.Path, game: variant.Variant, *, number: int | None = None) -> ggf.GgfGame:
    """Returns one game of a file; messages begin with its path; see `parse`, `read_archives`."""
    return _of_file(path, game, lambda written: _choose(written, number, game))


def read_archives(
    paths: Sequence[pathlib.Path],
    game: variant.Variant = OTHELLO,
    *,
    on_left_out: Callable[[str], object] | None = None,
) -> GameArchive:
    """Returns all games of files: WTHOR (.wtb), CSV, any text, also packed (.gz, .bz2, .xz).

    A folder stands for its .wtb files. Texts are of the rules of `game`; the other formats hold the
    usual game on 8x8. ValueError, one line that begins with the path, for the first game that
    cannot be used. With `on_left_out` such games are left out, and it gets a line per file that
    names them; then it is an error if no game of a file can be used.
    """
    read = []
    for path in paths:
        inside = sorted(path.glob("*.wtb")) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"{path}: no .wtb file in this folder")
        read += [_of_file(file, game, _replayer(game, file, on_left_out)) for file in inside]
    return np.concatenate(read).view(np.recarray)


def parse_content(name: str, content: bytes, game: variant.Variant) -> list[ggf.Record]:
    """Returns the games of a file of some name as written, unpacked already; see `game_texts`."""
    unpacked_name = files.unpacked_name(name)
    if unpacked_name.endswith(".wtb"):
        return list(wthor.parse(content))
    text = decoding.decode(content)
    if unpacked_name.endswith(".csv"):
        rows = game_texts.parse_csv(text)
        assert rows is not None
        return rows
    return game_texts.parse(text, game)


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


def replay(game: variant.Variant, records: Iterable[ggf.Record]) -> GameArchive:
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
            if isinstance(record, ggf.UnreadableGame):
                raise ValueError(record.reason)
            games[number - 1] = _replay(game, record)
    return games


def played(game: variant.Variant, record: ggf.GgfGame) -> move_lists.ReplayedGame:
    """Plays one game as written, whose start may be unusual; ValueError if that is impossible."""
    name = variant.Variant(record.size, record.is_reversed).name
    if name != game.name:
        raise ValueError(f"a game of {name}, but the network plays {game.name}")
    again = _replayed(game, record)
    if record.unread:
        raise ValueError(record.unread)
    return again


def _replayed(game: variant.Variant, record: ggf.GgfGame) -> move_lists.ReplayedGame:
    """Plays a game; passes after the last move count only if they are legal.

    Some sites write them where a game ended, by its last move or otherwise.
    """
    moves = list(record.moves)
    while True:
        try:
            return move_lists.replay(game, moves, record.board)
        except ValueError:
            if not moves or moves[-1] != game.pass_action:
                raise
            moves.pop()


def to_text(played: ggf.GgfGame, game: variant.Variant, *, is_ggf: bool) -> str:
    """Returns a line of GGF, or a transcript, of a game; a transcript only from the usual start."""
    if is_ggf:
        return ggf.to_text(played)
    if played.board != ggf.usual_start(game):
        raise ValueError(
            "the start position is unusual, and a transcript cannot store it: save as .ggf"
        )
    return notation.transcript(played.moves, game.size)


def _replayer(
    game: variant.Variant, path: pathlib.Path, on_left_out: Callable[[str], object] | None
) -> Callable[[list[ggf.Record]], GameArchive]:
    """Returns a function that plays all games of a file."""
    if on_left_out is None:
        return lambda written: replay(game, written)

    def replay_usable(written: list[ggf.Record]) -> GameArchive:
        usable = _usable(written, lambda record: _replay(game, record))
        if reasons := game_texts.left_out(usable):
            on_left_out(f"{path}: left out: {reasons}")
        return replay(game, [x for x in usable if isinstance(x, ggf.GgfGame)])

    return replay_usable


def _usable(
    written: Sequence[ggf.Record], check: Callable[[ggf.GgfGame], object]
) -> list[ggf.Record]:
    """Returns games, `UnreadableGame` if `check` refuses them; ValueError if it refuses all."""
    records: list[ggf.Record] = []
    for record in written:
        if isinstance(record, ggf.GgfGame):
            try:
                check(record)
            except ValueError as error:
                record = ggf.UnreadableGame(str(error))
        records.append(record)
    if records and not any(isinstance(record, ggf.GgfGame) for record in records):
        only = records[0]
        assert isinstance(only, ggf.UnreadableGame)
        if len(records) == 1:
            raise ValueError(only.reason)
        raise ValueError(
            f"none of the {len(records)} games can be used: {game_texts.left_out(records)}"
        )
    return records


def _of_file(
    path: pathlib.Path, game: variant.Variant, play: Callable[[list[ggf.Record]], Games]
) -> Games:
    """Plays the games of a file as written; the path begins each message."""
    content = files.read(path)
    is_wthor = files.unpacked_name(path.name).endswith(".wtb")
    names = _wthor_names(path) if is_wthor else []
    with files.located(path):
        if is_wthor:
            return play(list(wthor.parse(content, names)))
        return play(parse_content(path.name, content, game))


def _wthor_names(path: pathlib.Path) -> list[str]:
    """Returns the players' names of the .JOU file beside a .wtb file, none without one."""
    beside = sorted(x for x in path.parent.glob("*") if x.suffix.lower() == ".jou")
    return wthor.parse_players(files.read(beside[0])) if beside else []


def _choose(written: list[ggf.Record], number: int | None, game: variant.Variant) -> ggf.GgfGame:
    """Returns a game with its passes."""
    if not written:
        raise ValueError("no game in it")
    if number is not None and not 1 <= number <= len(written):
        raise ValueError(f"no game {number}: there are 1 to {len(written)}")
    if number is None:
        records = _usable(written, lambda record: played(game, record))
        usable = [record for record in records if isinstance(record, ggf.GgfGame)]
        if len(usable) > 1:
            message = f"{len(usable)} games in it: choose one by its number, from 1"
            raise ValueError("; ".join(filter(None, (message, game_texts.left_out(records)))))
        chosen, notes = usable[0], [usable[0].note, game_texts.left_out(records)]
    else:
        record = written[number - 1]
        if isinstance(record, ggf.UnreadableGame):
            raise ValueError(f"game {number} cannot be read: {record.reason}")
        chosen, notes = record, [record.note]
    actions = played(game, chosen).actions.tolist()
    note = "; ".join(filter(None, notes))
    return dataclasses.replace(chosen, moves=tuple(actions), note=note)


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
                f"bad score: the record gives black {plurals.counted(discs[0], 'disc')}, the moves"
                f" give {discs[1]}"
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
