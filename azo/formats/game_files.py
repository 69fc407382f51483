"""Games from texts and files of any format, and as text again.

A text is one transcript (`f5d6c3`), several with one a line, GGF games `(; ... ;)`, or lines such
as `black: name`, one of which begins with `moves:`. A number chooses one of several games.
"""

import dataclasses
import pathlib
import re
from collections.abc import Sequence

from azo.formats import archives, files, ggf, wthor
from azo.games import notation, othello, replaying, variant

GGF_SUFFIX = ".ggf"

_FIELD = re.compile(r"\s*(\w+)\s*:\s*(.*)")


def parse(text: str, game: variant.Variant, *, number: int | None = None) -> ggf.GgfGame:
    """Returns one game of a text, played by the rules, with its passes.

    Args:
      text: as the module describes.
      game: the rules to replay it by.
      number: of the game, from 1; not needed if there is one game.

    Raises:
      ValueError: no such game, a game of other rules, or an illegal move.
    """
    fields = _fields(text)
    if text.lstrip().startswith("(;"):
        return _of_ggf(ggf.parse(_choose(_ggf_texts(text), number)), game)
    if "moves" in fields:
        record = _of_transcript(_choose([fields["moves"]], number), game)
        black, white = (files.one_line(fields.get(x, ""), ggf.MAX_NAME) for x in ("black", "white"))
        return dataclasses.replace(record, black=black, white=white)
    lines = [line for line in text.splitlines() if line.strip()]
    if number is None and len(lines) > 1:
        try:
            return _of_transcript(text, game)  # one game on several lines
        except ValueError as error:
            if not _is_transcript(lines[1], game):
                raise error from None
    return _of_transcript(_choose(lines, number), game)


def read(path: pathlib.Path, game: variant.Variant, *, number: int | None = None) -> ggf.GgfGame:
    """Returns one game of a file: WTHOR if the name ends in .wtb, else a text as in `parse`.

    Raises:
      ValueError: one line that begins with the path.
    """
    if files.kind(path) == ".wtb":
        return _of_wthor(path, game, number)
    text = files.read_text(path)
    try:
        return parse(text, game, number=number)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def read_archives(
    paths: Sequence[pathlib.Path], game: variant.Variant = archives.OTHELLO
) -> archives.GameArchive:
    """Returns all games of files: WTHOR (.wtb), eOthello's CSV, texts (.txt, .ggf), also .gz.

    Args:
      paths: at least one; a folder stands for its .wtb files.
      game: the rules of texts; the other formats hold the usual game on 8x8.

    Raises:
      ValueError: one line that begins with the path.
    """
    inside: list[pathlib.Path] = []
    for path in paths:
        files_here = sorted(path.glob("*.wtb")) if path.is_dir() else [path]
        if not files_here:
            raise ValueError(f"{path}: no .wtb file in this folder")
        inside += files_here
    return archives.join([_read_archive(path, game) for path in inside])


def to_text(played: ggf.GgfGame, game: variant.Variant, *, is_ggf: bool) -> str:
    """Returns a line of GGF, or a transcript.

    Raises:
      ValueError: a transcript of a game that did not begin at the usual start.
    """
    if is_ggf:
        return ggf.to_text(played)
    if played.board != notation.Board(*game.start_discs, is_black_to_move=True):
        raise ValueError(
            "the start position is unusual, and a transcript cannot store it: save as .ggf"
        )
    return notation.transcript(played.moves, game.size)


def _choose(games: list[str], number: int | None) -> str:
    if not games:
        raise ValueError("no game in it")
    if number is None and len(games) > 1:
        raise ValueError(f"{len(games)} games in it: choose one by its number, from 1")
    if number is not None and not 1 <= number <= len(games):
        raise ValueError(f"no game {number}: there are 1 to {len(games)}")
    return games[(number or 1) - 1]


def _fields(text: str) -> dict[str, str]:
    matches = (_FIELD.fullmatch(line) for line in text.splitlines())
    return {match[1].lower(): match[2].strip() for match in matches if match is not None}


def _is_transcript(text: str, game: variant.Variant) -> bool:
    try:
        replaying.replay(text, game)
    except ValueError:
        return False
    return True


def _of_transcript(text: str, game: variant.Variant) -> ggf.GgfGame:
    actions = replaying.replay(text, game).actions
    if not actions:
        raise ValueError("no move in it")
    return _from_start(actions, game)


def _from_start(actions: tuple[int, ...], game: variant.Variant) -> ggf.GgfGame:
    board = notation.Board(*game.start_discs, is_black_to_move=True)
    return ggf.GgfGame(game.size, board, actions, is_reversed=game.is_reversed)


def _of_ggf(parsed: ggf.GgfGame, game: variant.Variant) -> ggf.GgfGame:
    start = parsed.board.player, parsed.board.opponent
    rules = variant.Variant(parsed.size, parsed.is_reversed, start)
    if rules.name != game.name:
        raise ValueError(f"a game of {rules.name}, but the network plays {game.name}")
    actions = replaying.replay_actions(parsed.moves, game, start=parsed.board).actions
    return dataclasses.replace(parsed, moves=actions)


def _of_wthor(path: pathlib.Path, game: variant.Variant, number: int | None) -> ggf.GgfGame:
    if game.name != "othello8":
        raise ValueError(f"{path}: games of othello8, but the network plays {game.name}")
    content = files.read(path)
    try:
        records = list(wthor.parse(content))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if number is None or not 1 <= number <= len(records):
        raise ValueError(f"{path}: {len(records)} games in it: choose one by its number, from 1")
    archive = archives.replay(archives.OTHELLO, [records[number - 1]], str(path))
    actions = archive.action[0]
    return _from_start(tuple(actions[actions != archives.NO_ACTION].tolist()), game)


def _read_archive(path: pathlib.Path, game: variant.Variant) -> archives.GameArchive:
    kind, place = files.kind(path), str(path)
    if kind not in (".wtb", ".csv", ".txt", GGF_SUFFIX):
        raise ValueError(f"{path}: unknown kind of file: use .wtb, .csv, .ggf or .txt, also .gz")
    content = files.read(path)
    text = content.decode(errors="replace").removeprefix("\ufeff")
    if kind in (".txt", GGF_SUFFIX):
        return _of_text(text, game, place)
    if game != archives.OTHELLO:
        raise ValueError(f"{path}: games of othello8, not of {game.name}")
    if kind == ".csv":
        return archives.read_eothello(text, place)
    return wthor.read(content, place)


def _of_text(text: str, game: variant.Variant, place: str) -> archives.GameArchive:
    """Returns all games of a text of the forms that `parse` takes."""
    rules, lines = othello.rules_of(game), [line for line in text.splitlines() if line.strip()]
    if text.lstrip().startswith("(;"):
        records = (_ggf_record(n, part, game) for n, part in enumerate(_ggf_texts(text), start=1))
        return archives.replay(rules, records, place)
    if moves := _fields(text).get("moves"):
        return archives.read_transcripts(moves, place, rules)
    if len(lines) > 1 and not _is_transcript(lines[1], game) and _is_transcript(text, game):
        text = "".join(lines)  # one game on several lines
    return archives.read_transcripts(text, place, rules)


def _ggf_record(number: int, text: str, game: variant.Variant) -> archives.RecordedGame:
    try:
        played = _of_ggf(ggf.parse(text), game)
        if played.board != notation.Board(*game.start_discs, is_black_to_move=True):
            raise ValueError("the start position is unusual")
    except ValueError as error:
        raise ValueError(f"record {number}: {error}") from None
    return archives.RecordedGame(number, played.moves)


def _ggf_texts(text: str) -> list[str]:
    return [f"{part.strip()};)" for part in text.split(";)") if part.strip()]
