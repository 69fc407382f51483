"""The games of a tournament in the formats that other programs read.

`games.txt` has a transcript a line, `games.ggf` a game a line, and for 8x8 boards from the usual
start `games.wtb`, with the names of players and tournament in `games.JOU` and `games.TRN`.
"""

import datetime
import pathlib
from collections.abc import Sequence

from azo.formats import ggf, wthor
from azo.games import notation, othello, protocol
from azo.measure.tournament.game_log import PlayedGame

_PLACE = "azo"


def write(
    folder: pathlib.Path, records: Sequence[PlayedGame], game: protocol.Game, tournament: str
) -> None:
    """Writes the files anew; other games than Othello have transcripts alone.

    A game that was lost early counts as won by all discs in WTHOR files, and by one disc more than
    none in GGF, where it is called a resignation.
    """
    size = game.board_shape[0]
    lines = [notation.transcript(record.actions, size) for record in records]
    (folder / "games.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if not isinstance(game, othello.Othello):
        return
    start = notation.board_of(game.start(), is_black_to_move=True)
    now = datetime.datetime.now(datetime.UTC)
    texts = [ggf.to_text(_ggf(record, game, start, now)) for record in records]
    (folder / "games.ggf").write_text("\n".join(texts) + "\n", encoding="utf-8")
    if game != othello.Othello():
        return
    games = [wthor.WthorGame(r.black, r.white, r.actions, _black_discs(r)) for r in records]
    files = wthor.write(games, tournament, (now.year, now.month, now.day))
    for suffix, content in (
        ("wtb", files.games),
        ("JOU", files.players),
        ("TRN", files.tournaments),
    ):
        (folder / f"games.{suffix}").write_bytes(content)


def _ggf(
    record: PlayedGame, game: othello.Othello, start: notation.Board, now: datetime.datetime
) -> ggf.GgfGame:
    is_early = record.score is None
    sign = -1 if game.is_reversed else 1
    return ggf.GgfGame(
        size=game.size,
        board=start,
        moves=record.actions,
        black=record.black,
        white=record.white,
        black_score=sign * record.result if record.score is None else record.score,
        ending="resigned" if is_early else "",
        is_reversed=game.is_reversed,
        place=_PLACE,
        date=f"{now:%Y-%m-%d %H:%M:%S} GMT",
    )


def _black_discs(record: PlayedGame) -> int:
    """Returns black's discs at the end, the empties to the winner."""
    score = 64 * record.result if record.score is None else record.score
    return (64 + score) // 2
