"""Commands of GTP, and lines of its analyses."""

import re

from azo.games import notation


def plays(moves):
    """Returns the moves as commands, passes included."""
    return [
        f"play {'bw'[ply % 2]} {notation.action_text(action, 8)}"
        for ply, action in enumerate(moves)
    ]


def parsed(line):
    """Returns the moves of a line of an analysis: pairs of key and value, then `pv` to the end.

    So Lizzie reads it (`MoveData.fromInfo`), and Sabaki after it has found `pv` by the moves at the
    end (`parseAnalysis` in enginesyncer.js).
    """
    moves = []
    for text in re.split(r"\s*info\s+", line)[1:]:
        words, _, line = text.partition(" pv ")
        assert re.search(r"(pass|[A-Za-z]\d+)(\s+(pass|[A-Za-z]\d+))*$", text)[0] == line
        words = words.split(" ")
        moves.append(dict(zip(words[::2], words[1::2], strict=True)) | {"pv": line.split(" ")})
    return moves
