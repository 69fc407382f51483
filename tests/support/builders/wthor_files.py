"""WTHOR files, as azo reads them; azo itself writes none."""

import struct


def record(squares, black_discs, exact_discs=32, players=(1, 2)):
    codes = [10 * int(square[1]) + "abcdefgh".index(square[0]) + 1 for square in squares]
    moves = bytes(codes).ljust(60, b"\0")
    return struct.pack("<hhhBB", 3, *players, black_discs, exact_discs) + moves


def archive(records, *, num_games=None, size=8):
    num_games = len(records) if num_games is None else num_games
    header = struct.pack("<BBBBihhBBBx", 20, 26, 2, 18, num_games, 0, 2025, size, 0, 24)
    return header + b"".join(records)


def write(games):
    """Returns the files `wtb` and `JOU` of games without passes in the form of GGF."""
    names = list(dict.fromkeys(name for game in games for name in (game.black, game.white)))
    records = []
    for game in games:
        squares = [f"{'abcdefgh'[action % 8]}{action // 8 + 1}" for action in game.moves]
        players = names.index(game.black), names.index(game.white)
        records.append(record(squares, 32 + int(game.black_score or 0) // 2, players=players))
    rows = (name.encode("latin-1", errors="replace")[:19].ljust(20, b"\0") for name in names)
    return {"wtb": archive(records), "JOU": bytes(16) + b"".join(rows)}
