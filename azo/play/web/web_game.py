"""Games as the page knows them: a start, moves as text, and what was legal at every ply."""

import dataclasses
import re
from collections.abc import Collection, Sequence

from azo.formats import ggf
from azo.games import notation, othello
from azo.play import live_game

_MOVES_LINE = re.compile(r"^moves:(.*)$", re.IGNORECASE | re.MULTILINE)
_BOARD = re.compile(r"[XO*.\-\s]+", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class WebGame:
    """A game that was played move by move."""

    game: othello.Othello
    has_own_start: bool  # not the usual one
    actions: tuple[int, ...]  # every ply, forced passes included
    boards: tuple[notation.Board, ...]  # before each of the actions, and after the last
    legal_actions: tuple[tuple[int, ...], ...]  # at each of the boards; () if the game is over
    final_margin: int  # black's discs minus white's, the empty squares to the winner

    @property
    def is_over(self) -> bool:
        return not self.legal_actions[-1]


def replay(game: othello.Othello, moves: str, start: str | None = None) -> WebGame:
    """Plays a transcript.

    Args:
      game: whose rules to use.
      moves: squares and passes; a forced pass may be left out, except after the last move.
      start: the start position as `notation.parse_board` reads it; None: the usual one.

    Raises:
      ValueError: at the first thing that is no move or illegal, with its ply.
    """
    board = None if start is None else notation.parse_board(start, game.size)
    return _play(game, notation.parse_moves(moves, game.size), board)


def read(
    text: str, chosen: othello.Othello, offered: Collection[othello.Othello]
) -> tuple[WebGame, str]:
    """Reads what someone pasted: a transcript, a game in GGF, or a board.

    Args:
      text: the first game of it is read; a transcript may be a line `moves: ...` among others.
      chosen: the game that a transcript is of; a GGF or a board says itself.
      offered: what there are networks for.

    Returns:
      The game, and a remark for the reader, which may be empty.

    Raises:
      ValueError: what is wrong with the text, or that its game is not offered.
    """
    text = text.strip().removeprefix("\ufeff")
    if not text:
        raise ValueError("nothing to read: paste moves such as f5d6c3, a game in GGF, or a board")
    if "(;" in text:
        return _read_ggf(text, offered)
    if labelled := _MOVES_LINE.search(text):
        return replay(chosen, labelled[1]), ""
    if _BOARD.fullmatch(text) and text != "--":
        return _read_board(text, chosen, offered), ""
    played = replay(chosen, text)
    if not played.actions:
        raise ValueError("there is no move in it")
    return played, ""


def _read_ggf(text: str, offered: Collection[othello.Othello]) -> tuple[WebGame, str]:
    begin = text.index("(;")
    end = text.find(";)", begin)
    parsed = ggf.parse(text[begin : end + 2] if end >= 0 else text[begin:])
    game = _offered(parsed.size, parsed.is_reversed, offered)
    names = [name for name in (parsed.black, parsed.white) if name]
    remarks = [" against ".join(names)] if len(names) == 2 else []
    if (num_games := text.count("(;")) > 1:
        remarks.append(f"the first of {num_games} games")
    return _play(game, parsed.moves, parsed.board), ", ".join(remarks)


def _read_board(
    text: str, chosen: othello.Othello, offered: Collection[othello.Othello]
) -> WebGame:
    """A board may be written in rows; the mover comes last, black if it is left out."""
    squares = "".join(text.split())
    size = next((n for n in range(4, 9) if len(squares) in (n * n, n * n + 1)), None)
    if size is None:
        raise ValueError(
            f"a board of {len(squares)} squares; 8x8 has 64, and then X or O for who is to move"
        )
    game = _offered(size, chosen.is_reversed, offered)
    line = f"{squares[: size * size]} {squares[size * size :]}".strip()
    return _play(game, (), notation.parse_board(line, size))


def _offered(size: int, is_reversed: bool, offered: Collection[othello.Othello]) -> othello.Othello:
    for game in offered:
        if (game.size, game.is_reversed) == (size, is_reversed):
            return game
    kind = "reversed " if is_reversed else ""
    there = ", ".join(game.name for game in offered)
    raise ValueError(f"a game of {kind}{size}x{size}, but there are networks for {there} alone")


def _play(game: othello.Othello, moves: Sequence[int], start: notation.Board | None) -> WebGame:
    referee = live_game.LiveGame(game)
    usual_start = referee.start
    referee.new_game(start)
    legal_actions = [referee.legal_actions]
    for action in moves:
        if legal_actions[-1] == (game.pass_action,) != (action,):
            referee.play(game.pass_action)
            legal_actions.append(referee.legal_actions)
        try:
            referee.play(action)
        except ValueError as error:
            raise ValueError(f"move {len(referee.actions) + 1}: {error}") from None
        legal_actions.append(referee.legal_actions)
    return WebGame(
        game=game,
        has_own_start=referee.start != usual_start,
        actions=referee.actions,
        boards=referee.boards,
        legal_actions=tuple(legal_actions),
        final_margin=referee.final_score(),
    )
