"""Games of the page: replayed from moves as text, or read from pasted text and files."""

import dataclasses
from collections.abc import Collection, Sequence

from azo.formats import game_texts, ggf
from azo.games import notation, variant
from azo.games.host import live_game
from azo.storage import files


@dataclasses.dataclass(frozen=True)
class ReadGame:
    """One game of a text."""

    game: live_game.LiveGame
    black: str  # name of the player, "" if unknown
    white: str
    note: str  # for the reader: other games of the text, and why a game ends early; may be ""
    titles: tuple[str, ...]  # of all games of the text


def replay(game: variant.Variant, moves: str, start: str | None = None) -> live_game.LiveGame:
    """Plays a transcript from a start position, by default the usual one.

    Forced passes may be left out, except after the last move. Raises ValueError at the first
    illegal or unreadable move, with its ply.
    """
    board = None if start is None else notation.parse_board(start, game.size)
    played, problem = _play(game, notation.parse_moves(moves, game.size), board)
    if problem:
        raise ValueError(problem)
    return played


def read(
    text: str, chosen: variant.Variant, offered: Collection[variant.Variant], number: int = 1
) -> ReadGame:
    """Reads the game of a `number`, from 1, of a text in any format of `game_texts`.

    A game ends before its first illegal or unreadable move; the note then says why. The `chosen`
    rules hold unless the text names others. ValueError if the text is not a game, its first move is
    illegal, or its rules are not among the `offered` ones, which have networks.
    """
    written = game_texts.parse(text, chosen)
    if not written:
        raise ValueError("nothing to read: paste moves such as f5d6c3, a game, or a board")
    if number > len(written):
        raise ValueError(f"no game {number}: there are 1 to {len(written)}")
    record = written[number - 1]
    rules = _offered(record, offered)
    game, problem = _play(rules, record.moves, record.board)
    stop = f"stopped at {problem}" if problem else record.unread and f"stopped: {record.unread}"
    if stop and not game.actions:
        raise ValueError(problem or record.unread)
    notes = [
        stop,
        f"game {number} of {len(written)}" if len(written) > 1 else "",
        record.note,
    ]
    titles = tuple(files.one_line(game_texts.title(one), ggf.MAX_NAME) for one in written)
    return ReadGame(game, record.black, record.white, "; ".join(filter(None, notes)), titles)


def _offered(record: ggf.GgfGame, offered: Collection[variant.Variant]) -> variant.Variant:
    for game in offered:
        if (game.size, game.is_reversed) == (record.size, record.is_reversed):
            return game
    kind = "reversed " if record.is_reversed else ""
    names = ", ".join(game.name for game in offered)
    raise ValueError(
        f"no network for {kind}{record.size}x{record.size}; there are networks for {names}"
    )


def _play(
    rules: variant.Variant, moves: Sequence[int], start: notation.Board | None
) -> tuple[live_game.LiveGame, str]:
    """Plays moves up to the first illegal one, and returns what is wrong with it, "" if none.

    Passes after the end are skipped.
    """
    game = live_game.LiveGame(rules)
    game.new_game(start)
    for action in moves:
        if game.is_over and action == rules.pass_action:
            continue
        try:
            if game.legal_actions == (rules.pass_action,) != (action,):
                game.play(rules.pass_action)
            game.play(action)
        except ValueError as error:
            return game, f"move {len(game.actions) + 1}: {error}"
    return game, ""
