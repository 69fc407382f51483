"""Solves a file of endgames, prints the results and keeps them as JSON lines."""

import dataclasses
import json
import pathlib
from typing import Annotated

import pydantic
import rich.console
import tyro

from azo.formats import locks, obf
from azo.games import notation, setting_types
from azo.measure import journal
from azo.run import console
from azo.solver.host import endgame


class _Record(pydantic.BaseModel):
    """A result; the fields are in their order in the file."""

    line: int
    board: str
    reversed: bool
    empties: int
    lower: int
    upper: int
    confidence: float
    best_move: str | None
    move_scores: dict[str, int]
    nodes: int
    seconds: float


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
    max_empties: setting_types.PositiveInt = 26
    """Positions with more empty squares are an error, unless --skip-larger."""
    skip_larger: bool = False
    """Leave out positions with more empty squares than --max-empties."""
    max_seconds: setting_types.PositiveFloat | None = None
    """Time limit of a position."""
    max_nodes: setting_types.LargeInt | None = None
    """Limit of nodes of a position."""


@dataclasses.dataclass
class _Totals:
    """Counts of positions, with the work for them."""

    skipped: int = 0  # solved in an earlier session
    solved: int = 0
    unsolved: int = 0
    nodes: int = 0
    seconds: float = 0.0
    compared: int = 0
    agreed: int = 0
    wrong: int = 0  # exact scores that differ from those of the file


def solve_file(settings: SolveConfig, terminal: rich.console.Console) -> int:
    """Solves a file and prints to `terminal`; returns 0, or 1 if an exact score differs.

    Raises:
      ValueError: One line: a wrong input, or another process writes the output.
    """
    if settings.output is None or settings.output.is_char_device():
        return _solve(settings, terminal)
    with locks.lock_file(settings.output):
        return _solve(settings, terminal)


def _solve(settings: SolveConfig, terminal: rich.console.Console) -> int:
    problems = _problems_to_solve(settings, obf.read(settings.file))
    records = _load_records(settings)
    solvers: dict[int, endgame.Solver] = {}
    totals = _Totals()
    with console.ProgressBar(terminal) as progress:
        for problem in progress.track(problems, description=settings.file.name):
            record = records.get(problem.line)
            if record is not None and _is_enough(settings, problem, record):
                totals.skipped += 1
                _compare(totals, problem, record)
                continue
            if problem.size not in solvers:
                solvers[problem.size] = endgame.Solver(
                    problem.size, is_reversed=settings.is_reversed
                )
            solution = solvers[problem.size].solve(
                problem.board.player,
                problem.board.opponent,
                every_move=settings.every_move,
                max_nodes=settings.max_nodes,
                max_seconds=settings.max_seconds,
                confidence=settings.confidence,
            )
            record = _record(settings, problem, solution)
            totals.solved += solution.is_solved
            totals.unsolved += not solution.is_solved
            totals.nodes += solution.num_nodes
            totals.seconds += solution.seconds
            differences = _compare(totals, problem, record)
            terminal.print(_line(problem, record, differences), markup=False)
            if settings.output is not None and solution.is_solved:
                journal.append(settings.output, json.dumps(record.model_dump()))
    terminal.print(_summary(totals, settings.file), markup=False)
    return 1 if totals.wrong else 0


def _is_enough(settings: SolveConfig, problem: obf.Problem, record: _Record) -> bool:
    """Returns whether a stored result has the confidence and the moves of the settings."""
    if record.board != notation.board_text(problem.board, problem.size):
        raise ValueError(
            f"{settings.output}: line {problem.line} of {settings.file} has changed since:"
            " choose another --output"
        )
    is_sure = record.confidence >= settings.confidence
    return is_sure and (bool(record.move_scores) or not settings.every_move)


def _compare(totals: _Totals, problem: obf.Problem, record: _Record) -> list[str] | None:
    """Counts and returns the differences of a result from the file."""
    differences = _disagreements(problem, record)
    if differences is not None:
        totals.compared += 1
        totals.agreed += not differences
        totals.wrong += bool(differences) and record.confidence == 1
    return differences


def _problems_to_solve(settings: SolveConfig, problems: list[obf.Problem]) -> list[obf.Problem]:
    """Returns the problems within --max-empties; raises ValueError for others, or without any."""
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


def _load_records(settings: SolveConfig) -> dict[int, _Record]:
    """Returns the stored results by line."""
    path = settings.output
    if path is None or not path.is_file():
        return {}
    records = journal.read(path, _parse_record)
    if not records and b"\n" in path.read_bytes():
        raise ValueError(f"{path}: no results of azo solve: choose another --output")
    for record in records:
        if record.reversed != settings.is_reversed:
            raise ValueError(
                f"{path}: reversed is {record.reversed}, but should be {settings.is_reversed}:"
                " choose another --output"
            )
    return {record.line: record for record in records}


def _parse_record(line: str) -> _Record:
    try:
        return _Record.model_validate_json(line)
    except pydantic.ValidationError:
        raise ValueError("not a result of azo solve") from None


def _record(settings: SolveConfig, problem: obf.Problem, solution: endgame.Solution) -> _Record:
    def text(move: int) -> str:
        return notation.action_text(move, problem.size)

    return _Record(
        line=problem.line,
        board=notation.board_text(problem.board, problem.size),
        reversed=settings.is_reversed,
        empties=problem.num_empties,
        lower=solution.lower,
        upper=solution.upper,
        confidence=solution.confidence,
        best_move=None if solution.best_move is None else text(solution.best_move),
        move_scores={text(move): score for move, score in solution.move_scores.items()},
        nodes=solution.num_nodes,
        seconds=round(solution.seconds, 3),
    )


def _disagreements(problem: obf.Problem, record: _Record) -> list[str] | None:
    """Returns the differences of a solved position from its file, None without common scores.

    A best move that the file does not call best is a difference too.
    """
    expected = problem.best_score(is_reversed=record.reversed)
    if expected is None or record.lower < record.upper:
        return None
    differences = []
    if record.lower != expected:
        differences.append(f"the file says {expected:+d}")
    listed = {
        notation.action_text(x, problem.size): score for x, score in problem.move_scores.items()
    }
    compared = record.move_scores or {record.best_move or "": record.lower}
    for move, score in compared.items():
        if move in listed and listed[move] != score:
            differences.append(f"the file says {listed[move]:+d} for {move}, not {score:+d}")
    return differences


def _line(problem: obf.Problem, record: _Record, differences: list[str] | None) -> str:
    is_solved = record.lower == record.upper
    score = f"{record.lower:+d}" if is_solved else f"{record.lower:+d}..{record.upper:+d}"
    sure = "exact" if record.confidence == 1 else f"{record.confidence:.0%}"
    parts = [
        f"{problem.line:5}",
        f"{problem.num_empties:2} empties",
        f"{score:>4}",
        f"{record.best_move or '-':4}",
        f"{record.nodes:14,} nodes",
        f"{record.seconds:8.2f} s",
        sure if is_solved else "unsolved: a limit was reached",
    ]
    if record.move_scores:
        parts.append(" ".join(f"{move}:{x:+d}" for move, x in record.move_scores.items()))
    if differences is not None:
        parts.append(f"DIFFERS: {'; '.join(differences)}" if differences else "as in the file")
    return "  ".join(parts)


def _summary(totals: _Totals, file: pathlib.Path) -> str:
    parts = [f"{file}: {totals.solved} solved"]
    if totals.unsolved:
        parts.append(f"{totals.unsolved} unsolved")
    if totals.skipped:
        parts.append(f"{totals.skipped} done before")
    parts.append(f"{totals.nodes:,} nodes in {totals.seconds:.2f} s")
    if totals.compared:
        parts.append(f"{totals.agreed} of {totals.compared} agree with the file")
    return ", ".join(parts)
