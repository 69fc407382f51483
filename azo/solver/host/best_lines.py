"""Lines of best play from deep endings to the end of the game, solved on all cores of the host."""

import concurrent.futures
import dataclasses
import functools
import multiprocessing
import random
import signal
from collections.abc import Generator, Sequence

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
    while True:
        empties = solver.size**2 - (player | opponent).bit_count()
        solution = solver.solve(
            player, opponent, every_best_move=True, confidence=confidence_for(confidence, empties)
        )
        solutions.append(solution)
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


def solve_all(
    endings: Sequence[tuple[int, int]],
    *,
    size: int,
    is_reversed: bool,
    seed: int,
    confidence: float,
    num_processes: int,
    first: int = 0,
) -> Generator[BestLine]:
    """Yields a line for each ending `(player, opponent)`, beginning with number `first`.

    Closing the generator cancels the endings that have not begun.
    """
    work = functools.partial(_solve_numbered, seed=seed, confidence=confidence)
    with concurrent.futures.ProcessPoolExecutor(
        max_workers=num_processes,
        mp_context=multiprocessing.get_context("spawn"),  # a fork of a process with threads hangs
        initializer=_init_process,
        initargs=(size, is_reversed),
    ) as pool:
        numbers = range(first, len(endings))
        futures = [pool.submit(work, number, *endings[number]) for number in numbers]
        try:
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_solvers: list[endgame.Solver] = []  # the one solver of a process of the pool


def _init_process(size: int, is_reversed: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the parent process handles Ctrl-C
    _solvers.append(endgame.Solver(size, is_reversed=is_reversed))


def _solve_numbered(
    number: int, player: int, opponent: int, *, seed: int, confidence: float
) -> BestLine:
    return solve(_solvers[0], player, opponent, seed=f"{seed}/{number}", confidence=confidence)
