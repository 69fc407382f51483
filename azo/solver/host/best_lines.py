"""Best play from deep endings to the end of the game, solved on all cores of the host."""

import concurrent.futures
import dataclasses
import functools
import multiprocessing
import random
import signal
from collections.abc import Generator, Sequence

from azo.solver.host import endgame

SELECTIVE_EMPTIES = 20  # so many empty squares or more are solved with the confidence asked for


@dataclasses.dataclass(frozen=True)
class BestLine:
    """Best play by both sides; passes are left out.

    With a confidence below 1 the first moves are likely to be best, and the later ones are.
    """

    moves: tuple[int, ...]  # actions played
    best: tuple[tuple[int, ...], ...]  # before each of them, all actions that keep the score
    score: int  # of the ending, as `endgame.Solution` has it
    confidence: float  # of that score
    num_nodes: int
    seconds: float


def confidence_for(wanted: float, num_empties: int) -> float:
    """Returns with which confidence a position with so many empty squares is solved."""
    return wanted if num_empties >= SELECTIVE_EMPTIES else 1.0


def solve(
    solver: endgame.Solver, player: int, opponent: int, *, seed: str, confidence: float = 1.0
) -> BestLine:
    """Returns a line from a position; of several best moves a random one is played.

    Args:
      solver: for the board.
      player: discs of the side to move, bit `8 * row + column`.
      opponent: discs of the other side.
      seed: of the choice among best moves.
      confidence: of scores with `SELECTIVE_EMPTIES` empty squares or more.
    """
    rng = random.Random(seed)
    passing = solver.size**2
    moves: list[int] = []
    best: list[tuple[int, ...]] = []
    solutions: list[endgame.Solution] = []
    while True:
        empties = solver.size**2 - (player | opponent).bit_count()
        found = solver.solve(
            player, opponent, every_best_move=True, confidence=confidence_for(confidence, empties)
        )
        solutions.append(found)
        if found.best_move is None:
            return BestLine(
                moves=tuple(moves),
                best=tuple(best),
                score=solutions[0].score,
                confidence=solutions[0].confidence,
                num_nodes=sum(one.num_nodes for one in solutions),
                seconds=sum(one.seconds for one in solutions),
            )
        action = rng.choice(found.best_moves)
        if action != passing:
            moves.append(action)
            best.append(found.best_moves)
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
    """Yields a line for each ending `(player, opponent)` from the one numbered `first` on.

    If the caller stops asking, what has not begun is dropped.
    """
    work = functools.partial(_solve_numbered, seed=seed, confidence=confidence)
    with concurrent.futures.ProcessPoolExecutor(
        max_workers=num_processes,
        mp_context=multiprocessing.get_context("spawn"),  # a fork of a process with threads hangs
        initializer=_begin,
        initargs=(size, is_reversed),
    ) as pool:
        numbered = [(number, *endings[number]) for number in range(first, len(endings))]
        waiting = [pool.submit(work, *one) for one in numbered]
        try:
            for one in waiting:
                yield one.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_solvers: list[endgame.Solver] = []  # of a process of the pool: one


def _begin(size: int, is_reversed: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    _solvers.append(endgame.Solver(size, is_reversed=is_reversed))


def _solve_numbered(
    number: int, player: int, opponent: int, *, seed: int, confidence: float
) -> BestLine:
    return solve(_solvers[0], player, opponent, seed=f"{seed}/{number}", confidence=confidence)
