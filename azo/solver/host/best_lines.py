"""Lines of best play from deep endings to the end of the game; `line_workers` solves many."""

import dataclasses
import random

from azo.solver.host import endgame

SELECTIVE_EMPTIES = 20  # with fewer empty squares every solution is exact


@dataclasses.dataclass(frozen=True)
class BestLine:
    """Best play by both sides, without passes.

    With a confidence below 1 the first moves are probably best; the later ones are proved.
    """

    moves: tuple[int, ...]  # actions
    best: tuple[tuple[int, ...], ...]  # for each move, all actions with the best score
    score: int  # of the ending, as in `endgame.Solution`
    confidence: float  # of that score
    num_nodes: int
    seconds: float


def confidence_for(confidence: float, num_empties: int) -> float:
    """Returns the confidence for a position: 1 below `SELECTIVE_EMPTIES` empty squares."""
    return confidence if num_empties >= SELECTIVE_EMPTIES else 1.0


def solve(
    solver: endgame.Solver, player: int, opponent: int, *, seed: str, confidence: float = 1.0
) -> BestLine:
    """Returns a line from a position, with a random choice among best moves.

    Args:
      solver: for the board.
      player: discs of the side to move, bit `8 * row + column`.
      opponent: discs of the other side.
      seed: of the random choices.
      confidence: for positions with `SELECTIVE_EMPTIES` empty squares or more.
    """
    rng = random.Random(seed)
    moves: list[int] = []
    best: list[tuple[int, ...]] = []
    solutions: list[endgame.Solution] = []
    score = None
    while True:
        empties = solver.size**2 - (player | opponent).bit_count()
        solution = solver.solve(
            player,
            opponent,
            every_best_move=True,
            score=score,
            confidence=confidence_for(confidence, empties),
        )
        solutions.append(solution)
        score = -solution.score if solution.confidence == 1 else None
        if solution.best_move is None:
            return BestLine(
                moves=tuple(moves),
                best=tuple(best),
                score=solutions[0].score,
                confidence=solutions[0].confidence,
                num_nodes=sum(one.num_nodes for one in solutions),
                seconds=sum(one.seconds for one in solutions),
            )
        action = rng.choice(solution.best_moves)
        if action != solver.size**2:
            moves.append(action)
            best.append(solution.best_moves)
        player, opponent = solver.play(player, opponent, action)
