"""Solves endgames exactly.

    azo solve ffo.obf --max-empties 20 --skip-larger

FILE has one position per line, as OBF or CSV, optionally compressed. Boards of all sizes are
accepted. One line is printed per position: its line in the file, empty squares, score, best move,
nodes, time and `exact`. Scores in the file are compared with the results. With `--json`, each
position is one JSON object. Unreadable lines are skipped and listed; a file without any readable
line is an error.
"""

import functools
import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import pydantic
import rich.console
import tyro

from azo.cli import command_line
from azo.formats import obf
from azo.games import notation, plurals
from azo.process import console
from azo.settings import setting_types
from azo.solver.host import endgame

# What differs from the file, None if the two have no score in common.
_Differences = list[str] | None


class SolveConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Exact endgames on one core of the host."""

    file: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="FILE")]
    """File of positions: OBF or CSV, also .gz, .bz2 and .xz."""
    json_lines: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print one JSON object per position instead of text."""
    is_reversed: Annotated[bool, tyro.conf.arg(name="reversed")] = False
    """Reversed Othello: the side with fewer discs wins."""
    every_move: bool = False
    """Solve every legal move, not only the best one."""
    max_empties: setting_types.PositiveInt = 26
    """Largest number of empty squares; more are an error, unless --skip-larger is given."""
    skip_larger: bool = False
    """Skip positions with more empty squares than --max-empties."""
    max_seconds: setting_types.PositiveFloat | None = None
    """Time limit per position, in seconds."""
    max_nodes: setting_types.LargeInt | None = None
    """Node limit per position."""


def main(argv: Sequence[str]) -> int:
    """Solves a file; returns 0, or 1 if a score differs from that of the file."""
    settings = command_line.parse(
        SolveConfig, argv, prog="azo solve", description=__doc__, opens_networks=False
    )
    terminal = rich.console.Console(highlight=False, emoji=False, soft_wrap=True)
    solver_of = functools.cache(functools.partial(endgame.Solver, is_reversed=settings.is_reversed))
    problems = _problems_to_solve(settings, obf.read(settings.file, on_left_out=_warn))
    results: list[tuple[endgame.Solution, _Differences]] = []
    with console.ProgressBar(terminal) as progress:
        for problem in progress.track(problems, description=settings.file.name):
            solution = solver_of(problem.size).solve(
                problem.board.player,
                problem.board.opponent,
                every_move=settings.every_move,
                max_nodes=settings.max_nodes,
                max_seconds=settings.max_seconds,
            )
            differences = _differences(problem, solution, is_reversed=settings.is_reversed)
            results.append((solution, differences))
            if settings.json_lines:
                text = json.dumps(_object(settings, problem, solution))
            else:
                text = _line(problem, solution, differences)
            terminal.print(text, markup=False)
    if not settings.json_lines:
        terminal.print(_summary(settings, results), markup=False)
    return int(any(differences for _, differences in results))


def _warn(line: str) -> None:
    print(line, file=sys.stderr)


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


def _differences(
    problem: obf.Problem, solution: endgame.Solution, *, is_reversed: bool
) -> _Differences:
    """Returns the differences of a solved position from its file.

    A best move that the file does not call best is a difference too.
    """
    expected = problem.best_score(is_reversed=is_reversed)
    if expected is None or not solution.is_solved:
        return None
    differences = []
    if solution.score != expected:
        differences.append(f"the file says {expected:+d}")
    compared: dict[Any, int] = solution.move_scores or {solution.best_move: solution.score}
    for move, score in compared.items():
        listed = problem.move_scores.get(move, score)
        if listed != score:
            text = _move(problem, move)
            differences.append(f"the file says {listed:+d} for {text}, not {score:+d}")
    return differences


def _move(problem: obf.Problem, action: int | None) -> str | None:
    return None if action is None else notation.action_text(action, problem.size)


def _object(
    settings: SolveConfig, problem: obf.Problem, solution: endgame.Solution
) -> dict[str, Any]:
    return {
        "line": problem.line,
        "board": notation.board_text(problem.board, problem.size),
        "reversed": settings.is_reversed,
        "empties": problem.num_empties,
        "lower": solution.lower,
        "upper": solution.upper,
        "best_move": _move(problem, solution.best_move),
        "move_scores": {_move(problem, move): x for move, x in solution.move_scores.items()},
        "nodes": solution.num_nodes,
        "seconds": round(solution.seconds, 3),
    }


def _line(problem: obf.Problem, solution: endgame.Solution, differences: _Differences) -> str:
    bounds = f"{solution.lower:+d}..{solution.upper:+d}"
    score = f"{solution.lower:+d}" if solution.is_solved else bounds
    parts = [
        f"{problem.line:5}",
        f"{plurals.counted(problem.num_empties, 'empty', 'empties', '2'):10}",
        f"{score:>4}",
        f"{_move(problem, solution.best_move) or '-':4}",
        f"{plurals.counted(solution.num_nodes, 'node', form='14,'):20}",
        f"{solution.seconds:8.2f} s",
        "exact" if solution.is_solved else "unsolved: a limit was reached",
    ]
    if scores := solution.move_scores.items():
        parts.append(" ".join(f"{_move(problem, move)}:{x:+d}" for move, x in scores))
    if differences is not None:
        parts.append(f"DIFFERS: {'; '.join(differences)}" if differences else "as in the file")
    return "  ".join(parts)


def _summary(
    settings: SolveConfig, results: Sequence[tuple[endgame.Solution, _Differences]]
) -> str:
    solutions = [solution for solution, _ in results]
    num_solved = sum(one.is_solved for one in solutions)
    parts = [f"{settings.file}: {num_solved} solved"]
    if num_solved < len(results):
        parts.append(f"{len(results) - num_solved} unsolved")
    nodes, seconds = (
        sum(one.num_nodes for one in solutions),
        sum(one.seconds for one in solutions),
    )
    parts.append(f"{plurals.counted(nodes, 'node', form=',')} in {seconds:.2f} s")
    compared = [differences for _, differences in results if differences is not None]
    if compared:
        same = compared.count([])
        parts.append(
            f"{same} of {len(compared)} {'agrees' if same == 1 else 'agree'} with the file"
        )
    return ", ".join(parts)
