"""Runs programs of azo with faults below them, many times in one process under the shim.

    python -m support.faults.shim.worker training --faults 40 --losses 300 --unsynced 300 --out FILE

`faults` lets one system call of each run fail; `losses` starts azo on the states that power losses
may have left; `unsynced` does so after folders could not be synced. The file gets the number of
cases of each, and a line for each case that broke a promise of docs/reliability.md.
"""

import argparse
import collections
import contextlib
import errno
import io
import json
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from support.faults.shim import control, power_loss, programs

_LOOKS = ("open", "stat", "access")
_CHANGES = ("open", "write", "fsync", "fsync of a folder", "rename", "mkdir", "link", "truncate")
# What may interrupt a call, by signal(7), and is repeated.
_SLOW = ("open", "read", "write", "fsync", "fsync of a folder", "truncate", "flock")
KINDS = {
    "EIO": (errno.EIO, control.GROUPS),
    "ENOSPC": (errno.ENOSPC, (*_CHANGES, "allocate", "close")),
    "EACCES": (errno.EACCES, _LOOKS),
    "EINTR": (errno.EINTR, _SLOW),
    "short": (control.SHORT, ("read", "write")),
}
HARMLESS = ("EINTR", "short")
"""Kinds of faults that no user may notice."""
_LOSSES = 10  # of power, of one log of a run whose folders could not be synced
_MOST_TRIES = 10  # runs for each that is to meet its fault


class Case(NamedTuple):
    """A fault: one call of a program."""

    kind: str
    number: int  # of the call, from 1, of those that the kind can meet
    call: str  # as in the reference run


class Outcome(NamedTuple):
    """What a run showed."""

    code: int | str  # or a traceback
    error: str  # standard error


class Bench:
    """Runs one program again and again, each time in a new folder."""

    def __init__(self, program: programs.Program, scratch: pathlib.Path):
        """Runs the program once without faults, to compile and to compare with."""
        self.program, self._scratch, self._number = program, scratch, 0
        outcome = self.run(self.new_folder())
        assert outcome.code == 0, outcome
        self.folder = self.new_folder()
        self.disk = power_loss.Disk(self.folder)
        log = scratch / "log"
        with control.watching(self.folder), control.logging(log):
            outcome = self.run(self.folder)
        assert outcome.code == 0, outcome
        self.records = power_loss.read_log(log)
        self.calls = power_loss.calls(self.records)
        self.reference = program.end(self.folder)

    def new_folder(self) -> pathlib.Path:
        """Returns a folder with what the program begins with."""
        self._number += 1
        folder = self._scratch / f"case-{self._number}"
        folder.mkdir()
        self.program.prepare(folder)
        return folder

    def run(self, folder: pathlib.Path) -> Outcome:
        """Runs the program up to its first failure."""
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                code: int | str = self.program.run(folder)
            except BaseException:
                code = traceback.format_exc()
        return Outcome(code, errors.getvalue())

    def lost(self, folder: pathlib.Path, marks: list[programs.Mark]) -> str:
        """Returns what a folder has lost; the folder is not changed."""
        copy = self._copy(folder)
        try:
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                try:
                    return self.program.lost(copy, marks)
                except Exception as error:
                    return f"{type(error).__name__}: {error} ({errors.getvalue()})"
        finally:
            shutil.rmtree(copy)

    def cannot_go_on(self, folder: pathlib.Path, *, is_crash: bool = False) -> str:
        """Returns what is wrong with the next start, "" if it ends as a run without faults."""
        marks = self.program.marks
        outcome = self.run(folder)
        self.program.marks = marks
        if outcome.code != 0:
            return f"next start: {outcome}"
        if not is_crash and (aside := [str(x.name) for x in folder.rglob("*.damaged*")]):
            return f"next start: set aside {aside}"
        if not is_crash and outcome.error:
            return f"next start: {outcome.error}"
        with contextlib.redirect_stderr(io.StringIO()):
            end = self.program.end(folder)
        return "" if _is_same(end, self.reference) else "next start: another end"

    def _copy(self, folder: pathlib.Path) -> pathlib.Path:
        self._number += 1
        copy = self._scratch / f"copy-{self._number}"
        return shutil.copytree(folder, copy, symlinks=True, copy_function=_copy_if_there)

    def cases(self, kinds: list[str]) -> list[Case]:
        """Returns all faults of some kinds."""
        cases = []
        for kind in kinds:
            error, groups = KINDS[kind]
            least = 2 if error == control.SHORT else 0  # bytes; of fewer there is no half
            met = [one for one in self.calls if one.group in groups and one.size >= least]
            for number, call in enumerate(met, start=1):
                cases.append(Case(kind, number, f"{call.group} {_pattern(call.path)}"))
        return cases

    def faulty(self, case: Case) -> tuple[str, str]:
        """Runs the program with one fault.

        Returns the call that failed, "" if the run did not reach it, and what was wrong.
        """
        folder, (error, groups) = self.new_folder(), KINDS[case.kind]
        with control.failing(folder, case.number, error, groups=control.mask(*groups)):
            outcome = self.run(folder)
            call = control.failed()
        # Threads of libraries may go on for a moment; in the copy the process has ended.
        kept = self._copy(folder)
        shutil.rmtree(folder, ignore_errors=True)
        if not call:
            shutil.rmtree(kept)
            return "", ""
        wrong = _wrong(outcome, case.kind, call, folder)
        if lost := self.lost(kept, self.program.marks):
            wrong.append(f"lost: {lost}")
        if not wrong and (fault := self.cannot_go_on(kept)):
            wrong.append(fault)
        shutil.rmtree(kept)
        return call, "; ".join(wrong)

    def after_losses(
        self,
        disk: power_loss.Disk,
        records: list[power_loss.Record],
        number: int,
        seed: int,
        starts: int,
    ) -> Iterator[str]:
        """Yields what is wrong with each of a number of states after power losses.

        The program is started again on `starts` of them.
        """
        folder = self._scratch / "state"
        every = max(1, number // starts) if starts else number + 1
        losses = power_loss.states(disk, records, number, seed, folder)
        for count, state in enumerate(losses, start=1):
            wrong = self.lost(folder, state.marks)
            if not wrong and count % every == 0:
                wrong = self.cannot_go_on(folder, is_crash=True)
            place = f"after record {state.place} of {len(records)}, {state.how}"
            yield f"{place}: {wrong}" if wrong else ""
            shutil.rmtree(folder)

    def without_sync(self, number: int, rng: random.Random) -> Iterator[tuple[str, str]]:
        """Yields states after power losses in runs whose folders could not be synced.

        In each run the sync of folders fails from some moment on, once or for ever. A run that has
        fewer syncs than the reference run, and does not meet the fault, is replaced by another.
        """
        syncs = sum(call.group == "fsync of a folder" for call in self.calls)
        groups, log = control.mask("fsync of a folder"), self._scratch / "log"
        num_met = 0
        for _ in range(_MOST_TRIES * number if syncs else 0):
            if num_met == number:
                return
            folder, first = self.new_folder(), rng.randrange(syncs) + 1
            disk, times = power_loss.Disk(folder), rng.choice([1, -1])
            with (
                control.failing(folder, first, errno.EIO, number=times, groups=groups),
                control.logging(log),
            ):
                outcome = self.run(folder)
                call = control.failed()
            shutil.rmtree(folder, ignore_errors=True)
            if not call:
                continue
            num_met += 1
            records = power_loss.read_log(log)
            if wrong := "; ".join(_wrong(outcome, "EIO", call, folder)):
                yield call, wrong
            for wrong in self.after_losses(disk, records, _LOSSES, rng.randrange(2**30), 0):
                yield call, wrong


def _copy_if_there(source: str, target: str) -> None:
    """Copies a file, unless a thread of a library has just removed it."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(source, target, follow_symlinks=False)


def _wrong(outcome: Outcome, kind: str, call: str, folder: pathlib.Path) -> list[str]:
    """Returns what is wrong with the end of a run in which a call has failed."""
    code, error = outcome
    if code not in (0, 2):
        return [f"ended with {code}"]
    wrong = []
    if kind in HARMLESS and (code or error):
        wrong.append(f"not harmless: {code}, {error!r}")
    if "Traceback" in error:
        wrong.append(f"a traceback: {error}")
    if code == 2 and error.count("\n") != 1:
        wrong.append(f"not one line: {error!r}")
    if code == 2 and str(folder) not in error:
        wrong.append(f"names no file: {error!r}")
    return wrong


def _is_same(one: Any, other: Any) -> bool:
    one, other = jax.tree.flatten(one), jax.tree.flatten(other)
    return one[1] == other[1] and all(map(np.array_equal, one[0], other[0]))


def _pattern(path: str) -> str:
    """Returns a path without its numbers and random parts."""
    return re.sub(r"(\d|-tmp|[0-9a-f]{8,})+", "#", path)


def _sample(cases: list[Case], most: int, rng: random.Random) -> list[Case]:
    """Returns cases whose calls differ as much as possible, at most a number; 0 is all."""
    if not most or len(cases) <= most:
        return cases
    by_call = collections.defaultdict(list)
    for case in cases:
        by_call[case.kind, case.call].append(case)
    for same in by_call.values():
        rng.shuffle(same)
    rounds = max(map(len, by_call.values()))
    groups = list(by_call.values())
    rng.shuffle(groups)
    order = [same[turn] for turn in range(rounds) for same in groups if turn < len(same)]
    return sorted(order[:most])


def main() -> None:
    """Runs what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", choices=programs.PROGRAMS)
    for what in MEASURES:
        parser.add_argument(f"--{what}", type=int, metavar="CASES", help="0 is every case")
    parser.add_argument("--quick", action="store_true", help="fewer cases of slow programs")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    parser.add_argument("--starts", type=int, default=10, help="next starts after power losses")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    flags = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", 1)
    results: dict[str, Any] = {}
    with programs.states_are_shared(), tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name).resolve()
        programs.use_scratch(scratch)
        for program in flags.programs:
            results[program] = {}
            place = scratch / program
            place.mkdir()
            bench = Bench(programs.PROGRAMS[program](), place)
            for what, measure in MEASURES.items():
                number, start = getattr(flags, what), time.monotonic()
                if number is not None:
                    cost = bench.program.cost if flags.quick and what == "faults" else 1
                    cases = list(measure(bench, -(-number // cost), flags))
                    results[program][what] = {
                        "cases": len(cases),
                        "seconds": round(time.monotonic() - start, 1),
                        "wrong": [*filter(None, cases)],
                    }
                    flags.out.write_text(json.dumps(results, indent=1))
    sys.stdout.flush()
    os._exit(0)  # threads of libraries whose calls failed may wait for ever


def _faults(bench: Bench, number: int, flags: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong after each fault that a run met, "" if nothing is."""
    for case in _sample(bench.cases(flags.kinds), number, random.Random(flags.seed)):
        call, wrong = bench.faulty(case)
        if call:
            line = wrong and f"{case.kind} in {call}: {wrong}"
            print(line, end="\n" if line else "", file=sys.stderr, flush=True)
            yield line


def _losses(bench: Bench, number: int, flags: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong after each power loss."""
    return bench.after_losses(bench.disk, bench.records, number, flags.seed, flags.starts)


def _unsynced(bench: Bench, number: int, flags: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong after each power loss in runs whose folders could not be synced."""
    for call, wrong in bench.without_sync(-(-number // _LOSSES), random.Random(flags.seed)):
        yield wrong and f"EIO in {call}: {wrong}"


MEASURES = {"faults": _faults, "losses": _losses, "unsynced": _unsynced}


if __name__ == "__main__":
    main()
