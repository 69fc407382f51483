"""Games from texts of any format, as written: the moves may be illegal, and passes may be missing.

A text is one transcript (`f5d6c3`), several with one a line, GGF or SGF games `(; ... )`, games
with headings such as `[Black "name"]`, lines such as `black: name` and `moves: f5d6c3`, OBF lines,
a board in one line or in rows, or a link to a game on the page of `azo web`. Games of GGF, SGF and
OBF, boards and links name their size; the others are of the chosen rules.
"""

import contextlib
import dataclasses
import re
import urllib.parse
from collections.abc import Sequence

from azo.formats import ggf, obf, sgf
from azo.games import notation, variant
from azo.games.host import move_lists
from azo.storage import files

_FIELD = re.compile(r"\s*(\w+)\s*:\s*(.*)")
_HEADING = re.compile(r'\[\s*(\w+)\s+"((?:\\.|[^"\\\n])*+)"\s*\]')
_BOARD = re.compile(r"[XO*.\-\s]+", re.IGNORECASE)
_OBF_BOARD = r"[XO*.\-]{16,64}\s+[XO*]\s*"
_OBF = re.compile(rf"{_OBF_BOARD}(?:[;%]|\n\s*{_OBF_BOARD})", re.IGNORECASE)
_LINK = re.compile(r"\w+://\S*")
_LINK_GAME = re.compile(r"(?:othello([4-8])(-reversed)?:)?(?:([XO-]{16,65}):)?([\w-]*)")
_USUAL_LINK = 8  # the size of a link without a game


def parse(text: str, chosen: variant.Variant) -> list[ggf.GgfGame]:
    """Returns the games of a text, none if it is empty; ValueError if it is not a game.

    The `chosen` rules hold unless the text names others. They decide whether lines are one game or
    several.
    """
    text = text.strip().removeprefix("\ufeff").strip()
    fields = _fields(text)
    if not text:
        return []
    if "(;" in text:
        return _property_games(text)
    if _LINK.fullmatch(text):
        return [_of_link(text)]
    if _HEADING.match(text):
        return _headed_games(text, chosen)
    if "moves" in fields:
        names = (files.one_line(fields.get(x, ""), ggf.MAX_NAME) for x in ("black", "white"))
        return [_of_moves(fields["moves"], chosen, *names)]
    if _OBF.match(text):
        problems = obf.parse_lines(text.splitlines(), "OBF")
        return [_of_problem(problem, chosen) for problem in problems]
    if _BOARD.fullmatch(text) and text != "--":
        return [_of_board(text, chosen)]
    return _transcripts(text, chosen)


def title(game: ggf.GgfGame) -> str:
    """Returns a line for a list of games: the players and the first moves."""
    players = f"{game.black or '?'} - {game.white or '?'}" if game.black or game.white else ""
    moves = " ".join(notation.action_text(action, game.size) for action in game.moves[:6])
    more = f" … ({len(game.moves)} moves)" if len(game.moves) > 6 else ""
    where = f"{moves}{more}" or notation.board_text(game.board, game.size)
    return ", ".join(filter(None, (players, where)))


def _fields(text: str) -> dict[str, str]:
    matches = (_FIELD.fullmatch(line) for line in text.splitlines())
    return {match[1].lower(): match[2].strip() for match in matches if match is not None}


def _of_moves(text: str, rules: variant.Variant, black: str = "", white: str = "") -> ggf.GgfGame:
    moves, unread = notation.read_moves(text, rules.size)
    game = ggf.GgfGame(rules.size, ggf.usual_start(rules), tuple(moves), black, white)
    return dataclasses.replace(game, is_reversed=rules.is_reversed, unread=unread)


def _transcripts(text: str, rules: variant.Variant) -> list[ggf.GgfGame]:
    lines = [_of_moves(line, rules) for line in text.splitlines() if line.strip()]
    others = [line for line in lines[1:] if line.moves]
    are_games = any(_is_legal(line.moves, rules) and not line.unread for line in others)
    are_games |= bool(others) and all(_is_legal(line.moves[:1], rules) for line in others)
    if are_games and sum(len(line.moves) for line in lines) > rules.max_plies:
        return lines
    whole = _of_moves(text, rules)
    if are_games and (whole.unread or not _is_legal(whole.moves, rules)):
        return lines
    if not whole.moves:
        raise ValueError(whole.unread or "no move in it")
    return [whole]


def _is_legal(moves: Sequence[int], rules: variant.Variant) -> bool:
    try:
        move_lists.replay(rules, moves)
    except ValueError:
        return False
    return True


def _property_games(text: str) -> list[ggf.GgfGame]:
    is_sgf = re.search(r"GM\s*\[\s*\d+\s*\]", text)  # whose games have numbers
    reader = sgf if is_sgf else ggf
    texts, games = list(ggf.properties(text, reader.TOKEN)), []
    for number, pairs in enumerate(texts, start=1):
        is_one = len(texts) == 1
        with contextlib.nullcontext() if is_one else files.located(f"game {number}"):
            games.append(reader.game_of(pairs))
    return games


def _headed_games(text: str, rules: variant.Variant) -> list[ggf.GgfGame]:
    """Returns games of which each begins with headings in brackets, as in PGN for chess."""
    matches = list(_HEADING.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    headings: dict[str, str] = {}
    games = []
    for match, end in zip(matches, ends, strict=True):
        headings[match[1].lower()] = re.sub(r"\\(.)", r"\1", match[2])
        if moves := text[match.end() : end].strip():
            if "fen" in headings:
                raise ValueError("a game from a start position in FEN is not supported")
            names = (files.one_line(headings.get(x, ""), ggf.MAX_NAME) for x in ("black", "white"))
            games.append(_of_moves(moves, rules, *names))
            headings = {}
    if headings:
        raise ValueError("no moves follow the headings")
    return games


def _of_problem(problem: obf.Problem, chosen: variant.Variant) -> ggf.GgfGame:
    scores = ", ".join(
        f"{notation.action_text(action, problem.size)} {score:+d}"
        for action, score in problem.move_scores.items()
    )
    note = f"the file says {scores}" if scores else ""
    return ggf.GgfGame(problem.size, problem.board, is_reversed=chosen.is_reversed, note=note)


def _of_board(text: str, chosen: variant.Variant) -> ggf.GgfGame:
    """Reads a board, in one line or in rows, then the side to move (black by default)."""
    squares = "".join(text.split())
    size = next((n for n in variant.SIZES if len(squares) in (n * n, n * n + 1)), None)
    if size is None:
        raise ValueError(
            f"a board of {len(squares)} squares: an 8x8 board has 64, then X or O for the side to"
            " move"
        )
    line = f"{squares[: size * size]} {squares[size * size :]}".strip()
    return ggf.GgfGame(size, notation.parse_board(line, size), is_reversed=chosen.is_reversed)


def _of_link(text: str) -> ggf.GgfGame:
    """Reads a link of the page: the moves after #, before them the game and the start."""
    fragment = urllib.parse.unquote(text.partition("#")[2])
    match = _LINK_GAME.fullmatch(fragment)
    size, reversed_, start, moves = match.groups() if match else (None, None, None, "")
    rules = variant.Variant(int(size or _USUAL_LINK), bool(reversed_))
    game = _of_moves(moves, rules)
    if not (size or start or game.moves):
        raise ValueError(f"{files.one_line(text, 80)!r} is not a link to a game of azo web")
    if start is None:
        return game
    board = notation.parse_board(f"{start[:-1]} {start[-1]}", rules.size)
    return dataclasses.replace(game, board=board)
