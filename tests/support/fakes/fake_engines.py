"""Engines that are scripts in tests/engines/, and games to ask engines about."""

import pathlib
import sys

from azo.games import notation, othello
from azo.opponents import engine_protocols, external_engines
from support.references import slow_board

FAKES = pathlib.Path(__file__).parent / "engines"
GAME = othello.Othello()
PASS = GAME.pass_action
WIPE_OUT = "f5 d6 c5 f4 e3 f6 g5 e6 e7"  # 13:0 after 9 plies


def config(*command, protocol="gtp", **settings):
    return engine_protocols.ExternalEngineConfig(
        name="fake", command=tuple(map(str, command)), protocol=protocol, **settings
    )


def gtp(*arguments, game=GAME, **settings):
    command = (sys.executable, FAKES / "fake_gtp.py", *(arguments or ["play"]))
    return external_engines.ExternalEngine(config(*command, **settings), game)


def nboard(mode, **settings):
    command = (sys.executable, FAKES / "fake_nboard.py", mode)
    engine = config(*command, protocol="nboard", **({"level": 7} | settings))
    return external_engines.ExternalEngine(engine, GAME)


def actions(text):
    return [notation.parse_action(move, 8) for move in text.split()]


def random_game(seed, size=8):
    """Returns the actions of a game at random, passes included."""
    return slow_board.random_game(size, seed=seed)[1]


def after(moves, size=8):
    return slow_board.after(moves, size)


def play_out(first, second, moves=(), size=8):
    """Returns the actions of a game of two engines, all of them checked by `slow_board`."""
    moves = list(moves)
    board = after(moves, size)
    while not slow_board.is_over(board):
        choice = (first, second)[len(moves) % 2].choose(moves)
        assert choice.action in slow_board.legal_actions(board)
        moves.append(choice.action)
        board = slow_board.play(board, choice.action)
    return moves


def sent(caplog):
    """Returns the lines sent since the last call."""
    lines = [record.getMessage() for record in caplog.records if record.name == "azo.engines"]
    caplog.clear()
    return [line.partition(" > ")[2] for line in lines if " > " in line]


# Games with passes in the middle for black and for white, and the plies of these.
WITH_PASSES = [moves for moves in map(random_game, range(40)) if PASS in moves[:-2]]


def pass_ply(parity):
    """Returns a game, and a ply of this parity at which it has a pass."""
    return next(
        (moves, ply)
        for moves in WITH_PASSES
        for ply in range(parity, len(moves) - 2, 2)
        if moves[ply] == PASS
    )
