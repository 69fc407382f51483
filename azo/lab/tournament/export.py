"""The games of a tournament in the formats of other programs.

`games.txt` has a transcript a line, `games.ggf` a game a line.
"""

import pathlib
from collections.abc import Sequence

from azo.formats import ggf
from azo.games import notation, othello, protocol
from azo.lab.tournament import game_log
from azo.storage import files


def write(folder: pathlib.Path, games: Sequence[game_log.PlayedGame], game: protocol.Game) -> None:
    """Writes the files, and replaces earlier ones; other games than Othello have only transcripts.

    A forfeited game counts in GGF as won by one disc.
    """
    size = game.board_shape[0]
    lines = [notation.transcript(played.actions, size) for played in games]
    files.write(folder / "games.txt", ("\n".join(lines) + "\n").encode())
    if not isinstance(game, othello.Othello):
        return
    start, sign = ggf.usual_start(game), -1 if game.is_reversed else 1
    records = [
        ggf.GgfGame(
            size=size,
            board=start,
            moves=played.actions,
            black=played.black,
            white=played.white,
            black_score=sign * played.result if played.score is None else played.score,
            is_reversed=game.is_reversed,
        )
        for played in games
    ]
    texts = "".join(f"{ggf.to_text(record)}\n" for record in records)
    files.write(folder / "games.ggf", texts.encode())
