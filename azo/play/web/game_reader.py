"""Games that are read from text for the page, pasted or of a file."""

from collections.abc import Collection, Sequence
from typing import Any

from azo.formats import game_texts, ggf
from azo.games import notation, variant
from azo.games.host import live_game
from azo.play.web import messages
from azo.storage import files


def read(
    text: str, chosen: variant.Variant, offered: Collection[variant.Variant], number: int = 1
) -> dict[str, Any]:
    """Returns the game of a `number`, from 1, of a text in any format of `game_texts`, for JSON.

    To `messages.game_json` it adds the titles of all games. A game ends before its first illegal or
    unreadable move; the note then says why. The `chosen` rules hold unless the text names others.
    ValueError if the text is not a game, its first move is illegal, or its rules are not among the
    `offered` ones, which have networks.
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
    note, players = "; ".join(filter(None, notes)), (record.black, record.white)
    titles = [files.one_line(game_texts.title(one), ggf.MAX_NAME) for one in written]
    return messages.game_json(game, note, players) | {"titles": titles}


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
