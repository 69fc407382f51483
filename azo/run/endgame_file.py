"""Solves a file of endgames, prints the results and keeps them as JSON lines."""

import functools
import pathlib
from typing import Annotated

import pydantic
import rich.console
import tyro

from azo.formats import obf
from azo.games import notation
from azo.measure import journal
from azo.run import console
from azo.solver.host import endgame


class SolveConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Exact endgames on one core of the host."""

    file: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="FILE")]
    """Positions: OBF or CSV, also .gz."""
    output: pathlib.Path | None = None
    """File of JSON lines for results; positions that it has are skipped."""
    is_reversed: Annotated[bool, tyro.conf.arg(name="reversed")] = False
    """Whether fewer discs win."""
    every_move: bool = False
    """Find the scores of all moves."""
    confidence: float = 1.0
    """1 for exact scores, or 0.9 to 0.98: confidence of each cut of a selective search."""
    max_empties: pydantic.PositiveInt = 26
    """Positions with more empty squares are an error, unless --skip-larger."""
    skip_larger: bool = False
    """Leave out positions with more empty squares than --max-empties."""


class Result(pydantic.BaseModel, frozen=True):
    """The result of a position: a line of the file of results."""

    line: int  # in the file of positions
    board: str
    reversed: bool
    empties: int
    score: int
    confidence: float
    best_move: str | None
    move_scores: dict[str, int]  # empty without --every-move
    nodes: int
    seconds: float


def solve_file(settings: SolveConfig, terminal: rich.console.Console) -> int:
    """Solves a file and prints to `terminal`; returns 0, or 1 if an exact score differs."""
    problems = _problems_to_solve(settings)
    stored = _load_results(settings)
    solver_for = functools.cache(
        functools.partial(endgame.Solver, is_reversed=settings.is_reversed)
    )
    solved: list[Result] = []
    verdicts: list[bool] = []  # of the compared positions: whether they agree with the file
    is_wrong = False
    with console.ProgressBar(terminal) as progress:
        for problem in progress.track(problems, description=settings.file.name):
            result = stored.get(problem.line)
            if result is None or not _is_enough(settings, problem, result):
                result = _solve(settings, solver_for(problem.size), problem)
                solved.append(result)
                if settings.output is not None:
                    journal.append(settings.output, result.model_dump_json())
                terminal.print(_line(problem, result), markup=False)
            differences = _differences(problem, result)
            if differences is not None:
                verdicts.append(not differences)
                is_wrong |= bool(differences) and result.confidence == 1
    parts = [f"{settings.file}: {len(solved)} solved"]
    if len(solved) < len(problems):
        parts.append(f"{len(problems) - len(solved)} done before")
    seconds = sum(result.seconds for result in solved)
    parts.append(f"{sum(result.nodes for result in solved):,} nodes in {seconds:.2f} s")
    if verdicts:
        parts.append(f"{sum(verdicts)} of {len(verdicts)} agree with the file")
    terminal.print(", ".join(parts), markup=False)
    return 1 if is_wrong else 0


def _problems_to_solve(settings: SolveConfig) -> list[obf.Problem]:
    """Returns the problems within --max-empties; raises ValueError for others, or without any."""
    problems = obf.read(settings.file)
    if not problems:
        raise ValueError(f"{settings.file}: the file has no positions")
    small = [problem for problem in problems if problem.num_empties <= settings.max_empties]
    if len(small) < len(problems) and not settings.skip_larger:
        large = next(x for x in problems if x.num_empties > settings.max_empties)
        raise ValueError(
            f"{settings.file}:{large.line}: {large.num_empties} empty squares, but --max-empties is"
            f" {settings.max_empties}; raise it, or leave such positions out with --skip-larger"
        )
    return small


def _load_results(settings: SolveConfig) -> dict[int, Result]:
    """Returns the stored results by line."""
    results = {}
    path = settings.output
    for number, line in enumerate(journal.read(path) if path else [], start=1):
        try:
            result = Result.model_validate_json(line)
        except pydantic.ValidationError:
            raise ValueError(f"{path}:{number}: not a result of azo solve") from None
        if result.reversed != settings.is_reversed:
            raise ValueError(
                f"{path}:{number}: reversed is {result.reversed}, but should be"
                f" {settings.is_reversed}: choose another --output"
            )
        results[result.line] = result
    return results


def _is_enough(settings: SolveConfig, problem: obf.Problem, result: Result) -> bool:
    """Returns whether a stored result has the confidence and the moves of the settings."""
    if result.board != notation.board_text(problem.board, problem.size):
        raise ValueError(
            f"{settings.output}: line {problem.line} of {settings.file} has changed since:"
            " choose another --output"
        )
    is_sure = result.confidence >= settings.confidence
    return is_sure and (bool(result.move_scores) or not settings.every_move)


def _solve(settings: SolveConfig, solver: endgame.Solver, problem: obf.Problem) -> Result:
    size, board = problem.size, problem.board
    solution = solver.solve(
        board.player,
        board.opponent,
        every_move=settings.every_move,
        confidence=settings.confidence,
    )
    best = solution.best_move
    return Result(
        line=problem.line,
        board=notation.board_text(board, size),
        reversed=settings.is_reversed,
        empties=problem.num_empties,
        score=solution.lower,
        confidence=solution.confidence,
        best_move=None if best is None else notation.action_text(best, size),
        move_scores={notation.action_text(x, size): y for x, y in solution.move_scores.items()},
        nodes=solution.num_nodes,
        seconds=round(solution.seconds, 3),
    )


def _differences(problem: obf.Problem, result: Result) -> list[str] | None:
    """Returns the differences of a result from its file, None if the file has no score.

    A best move that the file does not call best is a difference too.
    """
    expected = problem.best_score(is_reversed=result.reversed)
    if expected is None:
        return None
    differences = []
    compared = result.move_scores or {result.best_move or "pass": result.score}
    if result.score != expected:
        differences.append(f"the file says {expected:+d}")
    for action, score in problem.move_scores.items():
        move = notation.action_text(action, problem.size)
        if compared.get(move, score) != score:
            differences.append(f"the file says {score:+d} for {move}, not {compared[move]:+d}")
    return differences


def _line(problem: obf.Problem, result: Result) -> str:
    parts = [
        f"{result.line:5}",
        f"{result.empties:2} empties",
        f"{result.score:+4d}",
        f"{result.best_move or '-':4}",
        f"{result.nodes:14,} nodes",
        f"{result.seconds:8.2f} s",
        "exact" if result.confidence == 1 else f"{result.confidence:.0%}",
    ]
    if result.move_scores:
        parts.append(" ".join(f"{move}:{x:+d}" for move, x in result.move_scores.items()))
    differences = _differences(problem, result)
    if differences is not None:
        parts.append(f"DIFFERS: {'; '.join(differences)}" if differences else "as in the file")
    return "  ".join(parts)
