"""Lines of best play, and the worker processes that solve them, some of which are killed."""

import contextlib
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from azo.solver.host import best_lines, endgame, line_workers


def endings(size, empties, number):
    """Random boards, most of them unreachable."""
    rng, drawn = np.random.default_rng(empties), []
    for seed in range(number):
        discs = rng.permutation(size**2)[empties:]
        bits = [1 << int(8 * (square // size) + square % size) for square in discs]
        mine = rng.random(len(bits)) < 0.5
        sides = (sum(bit for bit, is_mine in zip(bits, mine, strict=True) if is_mine == side)
                 for side in (True, False))  # fmt: skip
        drawn.append(line_workers.Ending(*sides, seed=str(seed)))
    return drawn


def here(chosen, size=6):
    """The same lines, solved in this process one after the other."""
    solver = endgame.Solver(size)
    return [best_lines.solve(solver, x.player, x.opponent, seed=x.seed) for x in chosen]


def untimed(lines):
    return [(line.moves, line.best, line.score, line.num_nodes) for line in lines]


def workers(number, note=print):
    return line_workers.LineWorkers(6, is_reversed=False, num_processes=number, note=note)


def kill_children():
    for child in multiprocessing.active_children():
        # The death of one ends the others.
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
        child.join()


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(("size", "empties"), [(4, 9), (6, 10), (8, 9)])
def test_every_position_of_a_line_has_the_best_moves_of_a_search_of_its_own(
    size, empties, is_reversed
):
    solver, num_passes, num_choices = endgame.Solver(size, is_reversed=is_reversed), 0, 0
    for ending in endings(size, empties, 60):
        line = best_lines.solve(solver, ending.player, ending.opponent, seed=ending.seed)
        player, opponent, score = ending.player, ending.opponent, line.score
        for move, best in zip(line.moves, line.best, strict=True):
            solution = solver.solve(player, opponent, every_best_move=True)
            if solution.best_move == size**2:
                player, opponent, score, num_passes = opponent, player, -score, num_passes + 1
                solution = solver.solve(player, opponent, every_best_move=True)
            assert (solution.score, sorted(solution.best_moves)) == (score, sorted(best))
            assert move in best
            num_choices += len(best) > 1
            player, opponent = solver.play(player, opponent, move)
            score = -score
        end = solver.solve(player, opponent)
        assert (end.best_move, end.score) == (None, score)
    assert num_passes
    assert num_choices


def test_lines_do_not_depend_on_the_number_of_processes_or_the_order_of_collection():
    chosen = endings(6, 12, 12)
    expected = untimed(here(chosen))
    for number in (1, 3):
        with workers(number) as some:
            numbers = [some.submit(ending) for ending in chosen]
            lines = {number: some.collect(number) for number in reversed(numbers)}
        assert untimed(lines[number] for number in numbers) == expected


def test_endings_of_killed_processes_are_solved_again():
    chosen, notes = endings(6, 15, 6), []
    expected = untimed(here(chosen))
    with workers(2, notes.append) as some:
        numbers = [some.submit(ending) for ending in chosen]
        lines = [some.collect(numbers[0])]
        kill_children()  # while they solve the others
        lines += [some.collect(number) for number in numbers[1:4]]
        kill_children()
        time.sleep(0.2)
        numbers[4:] = [some.submit(ending) for ending in chosen[4:]]  # to processes that are dead
        lines += [some.collect(number) for number in numbers[4:]]
    assert untimed(lines) == expected
    assert notes == ["a solver process has died: its endings are solved again"] * 2


def test_without_processes_that_live_the_calling_one_solves(monkeypatch):
    monkeypatch.setattr(line_workers, "_init_process", len)  # fails at its arguments
    chosen, notes = endings(6, 8, 3), []
    with workers(1, notes.append) as some:
        lines = [some.collect(some.submit(ending)) for ending in chosen]
    assert untimed(lines) == untimed(here(chosen))
    assert notes[-1] == "solver processes died 4 times: solving without them"
    assert len(notes) == 4


def test_a_line_that_is_not_solved_in_time_is_collected_later():
    (ending,) = endings(6, 12, 1)
    with workers(1) as some:
        number = some.submit(ending)
        with pytest.raises(TimeoutError):
            some.collect(number, timeout_seconds=0)
        assert untimed([some.collect(number)]) == untimed(here([ending]))


_PARENT = """
import multiprocessing, time
from azo.solver.host import line_workers
if __name__ == "__main__":
    some = line_workers.LineWorkers(6, is_reversed=False, num_processes=2, note=print)
    for number in [some.submit(line_workers.Ending(0, 1, "0")) for _ in range(2)]:
        some.collect(number)
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    time.sleep(60)
"""


def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    (tmp_path / "parent.py").write_text(_PARENT)
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py")], stdout=subprocess.PIPE, text=True
    )
    children = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(children) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while any(_is_running(pid) for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _is_running(pid):
    """Whether a process exists and is not only waiting for somebody to ask for its exit code."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"
