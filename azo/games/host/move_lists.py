"""Games played again by the rules from their moves as written, which may lack forced passes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from azo.games import notation, variant
from azo.games.host import host_rules
from azo.games.host.kernels import ONE, ZERO, jit, legal_moves


class ReplayedGame(NamedTuple):
    """A game that was played again."""

    actions: np.ndarray  # [plies] int8, forced passes included
    last: notation.Board
    is_over: bool
    score: int  # black's discs minus white's at the end, the empties to the side with more


def replay(
    game: variant.Variant, moves: Sequence[int], start: notation.Board | None = None
) -> ReplayedGame:
    """Plays moves from a start position, by default that of the rules.

    Forced passes that were left out are inserted, but not after the last move. The first illegal
    move raises ValueError, with its ply (inserted passes count) and the legal moves.
    """
    rules = host_rules.make_rules(game.size, is_reversed=game.is_reversed)
    if start is None:
        start = notation.Board(*game.start_discs, is_black_to_move=True)
    actions = np.zeros(2 * game.size**2, np.int8)
    sides = np.uint64(start.player), np.uint64(start.opponent)
    P, O, num_plies, num_read = _play(*sides, np.array(moves, np.int64), game.size, rules, actions)
    last = np.uint64(P), np.uint64(O)  # compiled functions return Python integers
    actions = actions[:num_plies]
    is_black = start.is_black_to_move == (num_plies % 2 == 0)
    is_over = host_rules.is_over(*last, rules)
    if num_read < len(moves):
        legal = host_rules.legal_actions(P, O, game.size, rules)
        raise ValueError(fault(moves[num_read], actions.tolist(), legal, is_black, game.size))
    board = notation.Board(P, O, True) if is_black else notation.Board(O, P, False)
    score = host_rules.final_score(*last, rules) * rules.sign * (1 if is_black else -1)
    return ReplayedGame(actions, board, is_over, score)


def fault(
    action: int, played: Sequence[int], legal: Sequence[int], is_black: bool, size: int
) -> str:
    """Returns the message of an illegal action after the actions played."""
    before = " ".join(notation.action_text(a, size) for a in played)
    place = f"at ply {len(played) + 1}" + (f" ({before})" if before else "")
    move = f"move {notation.action_text(action, size)!r} {place}"
    if not legal:
        return f"{move}: the game is over"
    moves = [notation.action_text(a, size) for a in legal]
    choice = " or ".join(filter(None, [", ".join(moves[:-1]), moves[-1]]))
    return f"illegal {move}: {'black' if is_black else 'white'} may play {choice}"


@jit
def _play(P, O, moves, size, rules, actions):
    """Plays legal moves, and writes every ply to `actions`.

    Returns the last position, the number of plies, and that of moves before the first illegal one.
    """
    num_plies = 0
    for num_read in range(len(moves)):
        move, ply = moves[num_read], np.int64(-1)
        while ply != move:  # at most twice: a pass that was left out, and the move
            legal = legal_moves(P, O, rules.on_board)
            if legal == ZERO:
                ply = np.int64(size * size)
                is_legal = legal_moves(O, P, rules.on_board) != ZERO
            else:
                ply = move
                square = np.uint64(move // size * 8 + move % size)
                is_legal = move < size * size and legal >> square & ONE != ZERO
            if not is_legal:
                return P, O, num_plies, num_read
            actions[num_plies] = ply
            P, O = host_rules.after(P, O, ply, size)
            num_plies += 1
    return P, O, num_plies, len(moves)
