"""Games of the page: replayed from moves as text, or read from pasted text."""

import re
from collections.abc import Collection, Sequence

from azo.formats import files, ggf
from azo.games import notation, variant
from azo.play import live_game

_MOVES_LINE = re.compile(r"^moves:(.*)$", re.IGNORECASE | re.MULTILINE)
_NAME_LINE = re.compile(r"^(black|white):(.*)$", re.IGNORECASE | re.MULTILINE)
_BOARD = re.compile(r"[XO*.\-\s]+", re.IGNORECASE)


def replay(game: variant.Variant, moves: str, start: str | None = None) -> live_game.LiveGame:
    """Plays a transcript.

    Args:
      game: the rules.
      moves: squares and passes; forced passes may be left out, except after the last move.
      start: the start position as `notation.parse_board` reads it; None: the usual one.

    Raises:
      ValueError: at the first illegal or unreadable move, with its ply.
    """
    board = None if start is None else notation.parse_board(start, game.size)
    return _play(game, notation.parse_moves(moves, game.size), board)


def read(
    text: str, chosen: variant.Variant, offered: Collection[variant.Variant]
) -> tuple[live_game.LiveGame, str]:
    """Reads pasted text: a transcript, a game in GGF, or a board.

    Args:
      text: its first game is read; a transcript may be a line `moves: ...` among other lines.
      chosen: the rules for a transcript; GGF and boards name their own size.
      offered: the games that have networks.

    Returns:
      The game, and a note for the reader, which may be empty.

    Raises:
      ValueError: the text is not a game, or its game is not offered.
    """
    text = text.strip().removeprefix("\ufeff")
    if not text:
        raise ValueError("nothing to read: paste moves such as f5d6c3, a game in GGF, or a board")
    if "(;" in text:
        return _read_ggf(text, offered)
    if labelled := _MOVES_LINE.search(text):
        names = {colour.lower(): name for colour, name in _NAME_LINE.findall(text)}
        return replay(chosen, labelled[1]), _against(names.get("black", ""), names.get("white", ""))
    if _BOARD.fullmatch(text) and text != "--":
        return _read_board(text, chosen, offered), ""
    played = replay(chosen, text)
    if not played.actions:
        raise ValueError("no moves found in the text")
    return played, ""


def _read_ggf(text: str, offered: Collection[variant.Variant]) -> tuple[live_game.LiveGame, str]:
    begin = text.index("(;")
    end = text.find(";)", begin)
    parsed = ggf.parse(text[begin : end + 2] if end >= 0 else text[begin:])
    game = _offered(parsed.size, parsed.is_reversed, offered)
    notes = [_against(parsed.black, parsed.white)]
    if (num_games := text.count("(;")) > 1:
        notes.append(f"the first of {num_games} games")
    return _play(game, parsed.moves, parsed.board), ", ".join(filter(None, notes))


def _against(black: str, white: str) -> str:
    """Returns a title of both players; "" if a name is missing."""
    names = [files.one_line(name, ggf.MAX_NAME) for name in (black, white)]
    return " against ".join(names) if all(names) else ""


def _read_board(
    text: str, chosen: variant.Variant, offered: Collection[variant.Variant]
) -> live_game.LiveGame:
    """Reads a board, in one line or in rows, then the side to move (black by default)."""
    squares = "".join(text.split())
    size = next((n for n in range(4, 9) if len(squares) in (n * n, n * n + 1)), None)
    if size is None:
        raise ValueError(
            f"a board of {len(squares)} squares: an 8x8 board has 64, then X or O for the side to"
            " move"
        )
    game = _offered(size, chosen.is_reversed, offered)
    line = f"{squares[: size * size]} {squares[size * size :]}".strip()
    return _play(game, (), notation.parse_board(line, size))


def _offered(size: int, is_reversed: bool, offered: Collection[variant.Variant]) -> variant.Variant:
    for game in offered:
        if (game.size, game.is_reversed) == (size, is_reversed):
            return game
    kind = "reversed " if is_reversed else ""
    names = ", ".join(game.name for game in offered)
    raise ValueError(f"no network for {kind}{size}x{size}; there are networks for {names}")


def _play(
    rules: variant.Variant, moves: Sequence[int], start: notation.Board | None
) -> live_game.LiveGame:
    game = live_game.LiveGame(rules)
    game.new_game(start)
    for action in moves:
        if game.legal_actions == (rules.pass_action,) != (action,):
            game.play(rules.pass_action)
        try:
            game.play(action)
        except ValueError as error:
            raise ValueError(f"move {len(game.actions) + 1}: {error}") from None
    return game
