"""Solves a file of endgames, and prints the results as text or as JSON lines."""

import functools
import pathlib
from typing import Annotated

import pydantic
import rich.console
import tyro

from azo.formats import obf
from azo.games import notation, setting_types
from azo.solver.host import endgame
from azo.training import console


class _Record(pydantic.BaseModel):
    """A result; the fields are in their order in JSON."""

    line: int
    board: str
    reversed: bool
    empties: int
    lower: int
    upper: int
    best_move: str | None
    move_scores: dict[str, int]
    nodes: int
    seconds: float

    @property
    def is_solved(self) -> bool:
        return self.lower == self.upper


class SolveConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Exact endgames on one core of the host."""

    file: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="FILE")]
    """Positions: OBF or CSV, also .gz."""
    json_lines: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print one JSON object a position in place of text."""
    is_reversed: Annotated[bool, tyro.conf.arg(name="reversed")] = False
    """Whether fewer discs win."""
    every_move: bool = False
    """Find the scores of all moves."""
    max_empties: setting_types.PositiveInt = 26
    """Positions with more empty squares are an error, unless --skip-larger."""
    skip_larger: bool = False
    """Leave out positions with more empty squares than --max-empties."""
    max_seconds: setting_types.PositiveFloat | None = None
    """Time limit of a position."""
    max_nodes: setting_types.LargeInt | None = None
    """Limit of nodes of a position."""


def solve_file(settings: SolveConfig, terminal: rich.console.Console) -> int:
    """Solves a file and prints to `terminal`; returns 0, or 1 if a score differs.

    Raises:
      ValueError: One line: a wrong input.
    """
    records: list[_Record] = []
    compared: list[tuple[_Record, list[str]]] = []  # with the differences from the file
    solver_of = functools.cache(functools.partial(endgame.Solver, is_reversed=settings.is_reversed))
    problems = _problems_to_solve(settings, obf.read(settings.file))
    with console.ProgressBar(terminal) as progress:
        for problem in progress.track(problems, description=settings.file.name):
            record = _solved(settings, problem, solver_of(problem.size))
            records.append(record)
            differences = _disagreements(problem, record)
            if differences is not None:
                compared.append((record, differences))
            text = _line(problem, record, differences)
            terminal.print(record.model_dump_json() if settings.json_lines else text, markup=False)
    if not settings.json_lines:
        terminal.print(_summary(settings, records, compared), markup=False)
    return int(any(wrong for _, wrong in compared))


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


def _solved(settings: SolveConfig, problem: obf.Problem, solver: endgame.Solver) -> _Record:
    solution = solver.solve(
        problem.board.player,
        problem.board.opponent,
        every_move=settings.every_move,
        max_nodes=settings.max_nodes,
        max_seconds=settings.max_seconds,
    )
    scores = solution.move_scores.items()
    best = solution.best_move
    return _Record(
        line=problem.line,
        board=notation.board_text(problem.board, problem.size),
        reversed=settings.is_reversed,
        empties=problem.num_empties,
        lower=solution.lower,
        upper=solution.upper,
        best_move=None if best is None else notation.action_text(best, problem.size),
        move_scores={notation.action_text(move, problem.size): score for move, score in scores},
        nodes=solution.num_nodes,
        seconds=round(solution.seconds, 3),
    )


def _disagreements(problem: obf.Problem, record: _Record) -> list[str] | None:
    """Returns the differences of a solved position from its file, None without common scores.

    A best move that the file does not call best is a difference too.
    """
    expected = problem.best_score(is_reversed=record.reversed)
    if expected is None or not record.is_solved:
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
    bounds = f"{record.lower:+d}..{record.upper:+d}"
    score = f"{record.lower:+d}" if record.is_solved else bounds
    parts = [
        f"{problem.line:5}",
        f"{problem.num_empties:2} empties",
        f"{score:>4}",
        f"{record.best_move or '-':4}",
        f"{record.nodes:14,} nodes",
        f"{record.seconds:8.2f} s",
        "exact" if record.is_solved else "unsolved: a limit was reached",
    ]
    if record.move_scores:
        parts.append(" ".join(f"{move}:{x:+d}" for move, x in record.move_scores.items()))
    if differences is not None:
        parts.append(f"DIFFERS: {'; '.join(differences)}" if differences else "as in the file")
    return "  ".join(parts)


def _summary(
    settings: SolveConfig, records: list[_Record], compared: list[tuple[_Record, list[str]]]
) -> str:
    num_solved = sum(record.is_solved for record in records)
    parts = [f"{settings.file}: {num_solved} solved"]
    if num_solved < len(records):
        parts.append(f"{len(records) - num_solved} unsolved")
    nodes, seconds = sum(one.nodes for one in records), sum(one.seconds for one in records)
    parts.append(f"{nodes:,} nodes in {seconds:.2f} s")
    if compared:
        num_agreed = sum(not differences for _, differences in compared)
        parts.append(f"{num_agreed} of {len(compared)} agree with the file")
    return ", ".join(parts)
