"""Games of alpha-beta with itself, as examples for the fit: positions with their final scores.

A game begins with random plies, which prefer moves of a high value, so that the positions are many
and rarely decided. Then both sides play the best move of a search. Endings are solved. So a score
is what a position is worth between two players that search, and not what the evaluation says of it:
errors that the evaluation repeats at all depths are corrected.
"""

from typing import NamedTuple

import numpy as np

from azo.alphabeta import evaluation, search
from azo.games.host.compiling import jit
from azo.games.host.kernels import FULL, ONE, count, first, legal_moves, play
from azo.solver.host import endgame, table

_RANDOM_PLIES = 8, 30  # at least, and fewer than
_TEMPERATURE = 1.8  # discs
_MOST_DECIDED = 24  # discs: games that are more decided after the random plies are dropped
_MOST_POSITIONS = 64

START = 0x0000000810000000, 0x0000001008000000
"""Black's and white's discs at the start of a game."""
SOLVED = 12
"""Empty squares from which on a game is solved."""


class ScoredPositions(NamedTuple):
    """Positions with a legal move, those of one game one after the other."""

    player: np.ndarray  # [M] uint64, discs of the side to move
    opponent: np.ndarray  # [M] uint64
    score: np.ndarray  # [M] int8, final margin for the side to move, empty squares to the winner


def play_games(
    number: int, memory: search.AlphaBetaSearch, *, depth: int, seed: int
) -> ScoredPositions:
    """Returns the positions of `number` games after their random plies.

    Moves are searched to `depth` plies. The last position of a game is the one that was solved. An
    equal seed gives equal examples.
    """
    solver, rng = endgame.Solver(), np.random.default_rng(seed)
    seed_draws(seed)
    table.clear(memory.memory)
    memory.counters[search.LIMIT] = 1 << 60
    sides = np.zeros((2, _MOST_POSITIONS), np.uint64)
    colours = np.zeros(_MOST_POSITIONS, np.int8)
    games: list[ScoredPositions] = []
    while len(games) < number:
        num = _play_game(int(rng.integers(*_RANDOM_PLIES)), depth, memory, sides, colours)
        if not num:
            continue
        player, opponent = sides[:, :num].copy()
        solution = solver.solve(int(player[-1]), int(opponent[-1]), keeps_table=True)
        scores = solution.score * colours[num - 1] * colours[:num]
        games.append(ScoredPositions(player, opponent, scores.astype(np.int8)))
    return ScoredPositions(*map(np.concatenate, zip(*games, strict=True)))


@jit
def seed_draws(seed):
    """Seeds the random numbers of compiled functions."""
    np.random.seed(seed)


@jit
def _play_game(num_random, depth, memory, sides, colours):
    """Plays a game until few squares are empty; returns the number of positions, 0 if dropped.

    Writes both sides' discs `[2, 64]`, the side to move first, and the colour to move, 1 or -1.
    """
    P, O = np.uint64(START[0]), np.uint64(START[1])
    colour, ply, num = 1, 0, 0
    while True:
        if not legal_moves(P, O, FULL):
            P, O, colour = O, P, -colour
            if not legal_moves(P, O, FULL):
                return 0
        if ply >= num_random:
            sides[0, num], sides[1, num], colours[num] = P, O, colour
            num += 1
            if count(P | O) >= 64 - SOLVED:
                return num
            memory.counters[search.IS_STOPPED] = 0
            search.deepen(P, O, depth, memory)
            value = memory.counters[search.VALUE]
            if num == 1 and abs(value) > _MOST_DECIDED * evaluation.UNIT:
                return 0
            square = np.uint64(memory.counters[search.BEST_MOVE])
        else:
            square = _draw_move(P, O, memory)
        P, O = play(P, O, square)
        colour, ply = -colour, ply + 1


@jit
def _draw_move(P, O, memory):
    """Returns a random move, whose odds grow by e for each `_TEMPERATURE` discs of its value."""
    legal, chosen, highest = legal_moves(P, O, FULL), np.uint64(0), -np.inf
    while legal:
        square = first(legal)
        legal &= legal - ONE
        noise = -np.log(-np.log(np.random.random()))  # the highest sum is a draw (Gumbel)
        own, other = play(P, O, square)
        value = -search.run(own, other, 0, -search.INFINITE, search.INFINITE, memory)
        total = value / (evaluation.UNIT * _TEMPERATURE) + noise
        if total > highest:
            highest, chosen = total, square
    return chosen
