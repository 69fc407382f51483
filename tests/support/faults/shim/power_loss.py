"""States of a folder after a power loss, computed from a log of the shim.

The model is POSIX taken by the word. The data of a file is on disk once the file was synced. An
entry of a folder (a file created, renamed, removed) is on disk once that folder was synced. Of all
later changes any part may be on disk: none, all, the first ones, or some at random; of a write also
its first half alone, or zeros in its place. Data that could not be synced is not written by a later
sync: the kernel has dropped it.
"""

import dataclasses
import errno
import json
import os
import pathlib
import random
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from support.faults.shim import control

_HEADER = struct.Struct("<IiQqIIII")
_NAMES = (
    "created", "written", "cut", "synced", "made", "moved", "removed", "linked", "pointed", "mark",
    "unknown", "called",
)  # fmt: skip


class Record(NamedTuple):
    """A record of the log."""

    kind: str
    error: int
    inode: int  # of "called": the number of bytes
    offset: int  # or size; of "called": the group
    path: str
    other: str
    data: bytes


class Call(NamedTuple):
    """A call that touched the folder."""

    group: str
    path: str
    size: int


def read_log(path: pathlib.Path) -> list[Record]:
    """Returns the records of a log; AssertionError for a change that the model does not know."""
    content, place, records = path.read_bytes(), 0, []
    while place < len(content):
        kind, error, inode, offset, *lengths, _ = _HEADER.unpack_from(content, place)
        place += _HEADER.size
        parts = []
        for length in lengths:
            parts.append(content[place : place + length])
            place += length
        names = (os.fsdecode(part) for part in parts[:2])
        records.append(Record(_NAMES[kind], error, inode, offset, *names, parts[2]))
        assert records[-1].kind != "unknown", records[-1]
    return records


def calls(records: list[Record]) -> list[Call]:
    """Returns the calls of a log, in their order."""
    return [
        Call(control.GROUPS[one.offset], one.path, one.inode)
        for one in records
        if one.kind == "called"
    ]


@dataclasses.dataclass(eq=False)
class _Change:
    """A change of a file or folder that is not on disk yet."""

    act: tuple[Any, ...]
    is_dropped: bool = False  # could not be synced


@dataclasses.dataclass(eq=False)
class _File:
    content: bytes = b""  # on disk
    changes: list[_Change] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class _Folder:
    entries: dict[str, Any] = dataclasses.field(default_factory=dict)  # on disk
    now: dict[str, Any] = dataclasses.field(default_factory=dict)  # as programs see it
    changes: list[_Change] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class _Link:
    content: str


class State(NamedTuple):
    """What a power loss left."""

    place: int  # number of records before it
    how: str  # which later changes are on disk
    marks: list[Any]  # that the program had set


class Disk:
    """A folder and its files, on disk and as programs see them.

    It begins with the present content of a folder, which is taken to be on disk.
    """

    def __init__(self, folder: pathlib.Path):
        self._by_inode: dict[int, Any] = {}
        self._changes: dict[_Change, None] = {}  # all that are not on disk, in order
        self._root = self._load(folder)

    def _load(self, path: pathlib.Path) -> Any:
        if path.is_symlink():
            return _Link(os.readlink(path))
        if path.is_dir():
            entries = {one.name: self._load(one) for one in path.iterdir()}
            made: Any = _Folder(entries, dict(entries))
        else:
            made = _File(path.read_bytes())
        self._by_inode[path.stat().st_ino] = made
        return made

    def apply(self, one: Record) -> None:
        """Applies a record of the log."""
        match one.kind:
            case "created" | "made":
                made = self._by_inode[one.inode] = _Folder() if one.kind == "made" else _File()
                if one.path:
                    self._enter(one.path, made)
            case "written":
                self._change(self._by_inode[one.inode], "write", one.offset, one.data)
            case "cut":
                self._change(self._by_inode[one.inode], "cut", one.offset)
            case "synced":
                self._sync(self._by_inode[one.inode], one.error)
            case "removed":
                self._leave(one.path)
            case "moved":
                self._move(one.path, one.other)
            case "linked":
                self._enter(one.other, self._by_inode[one.inode])
            case "pointed":
                self._enter(one.path, _Link(one.other))

    def _find(self, path: str) -> tuple[_Folder, str]:
        *parents, name = path.split("/")
        folder = self._root
        for parent in parents:
            folder = folder.now[parent]
        return folder, name

    def _change(self, changed: Any, *act: Any) -> None:
        change = _Change(act)
        changed.changes.append(change)
        self._changes[change] = None

    def _enter(self, path: str, what: Any) -> None:
        folder, name = self._find(path)
        folder.now[name] = what
        self._change(folder, "enter", name, what)

    def _leave(self, path: str) -> None:
        folder, name = self._find(path)
        del folder.now[name]
        self._change(folder, "leave", name)

    def _move(self, path: str, other: str) -> None:
        (folder, name), (target, new_name) = self._find(path), self._find(other)
        what = folder.now.pop(name)
        target.now[new_name] = what
        if folder is target:  # one change: another process sees the old name or the new one
            self._change(folder, "move", name, new_name, what)
        else:
            self._change(target, "enter", new_name, what)
            self._change(folder, "leave", name)

    def _sync(self, synced: Any, error: int) -> None:
        if error:
            if isinstance(synced, _File) and error != errno.EINTR:
                for change in synced.changes:
                    change.is_dropped = True
            return
        done = [change for change in synced.changes if not change.is_dropped]
        if isinstance(synced, _File):
            synced.content = _content(synced.content, [change.act for change in done])
        else:
            synced.entries = _entries(synced.entries, [change.act for change in done])
        synced.changes = [change for change in synced.changes if change.is_dropped]
        for change in done:
            del self._changes[change]

    def after_power_loss(self, rng: random.Random, folder: pathlib.Path) -> str:
        """Writes a possible state into a new folder; returns how it was chosen."""
        changes = [*self._changes]
        how = rng.choice(["none", "all", "first", "some", "some"])
        if how == "none":
            kept: set[_Change] = set()
        elif how == "all":
            kept = set(changes)
        elif how == "first":
            kept = set(changes[: rng.randrange(len(changes) + 1)])
        else:
            share = rng.choice([0.1, 0.5, 0.9])
            kept = {change for change in changes if rng.random() < share}
        is_torn = how in ("first", "some")
        self._write(self._root, folder, kept, rng if is_torn else None)
        return how

    def _write(
        self, what: Any, path: pathlib.Path, kept: set[_Change], rng: random.Random | None
    ) -> None:
        if isinstance(what, _Link):
            path.symlink_to(what.content)
            return
        acts = [change.act for change in what.changes if change in kept]
        if isinstance(what, _File):
            torn = [_torn(act, rng) for act in acts] if rng else acts
            path.write_bytes(_content(what.content, torn))
            return
        path.mkdir()
        for name, one in _entries(what.entries, acts).items():
            self._write(one, path / name, kept, rng)


def _torn(act: tuple[Any, ...], rng: random.Random) -> tuple[Any, ...]:
    """Returns a write as it was made, its first half, or zeros."""
    if act[0] != "write" or rng.random() < 0.7:
        return act
    _, offset, data = act
    return "write", offset, rng.choice([data[: len(data) // 2], bytes(len(data))])


def _content(content: bytes, acts: list[tuple[Any, ...]]) -> bytes:
    changed = bytearray(content)
    for act, place, *data in acts:
        if len(changed) < place:
            changed += bytes(place - len(changed))
        if act == "cut":
            del changed[place:]
        else:
            changed[place : place + len(data[0])] = data[0]
    return bytes(changed)


def _entries(entries: dict[str, Any], acts: list[tuple[Any, ...]]) -> dict[str, Any]:
    changed = dict(entries)
    for act, name, *others in acts:
        if act == "enter":
            changed[name] = others[0]
        else:
            changed.pop(name, None)
        if act == "move":
            changed[others[0]] = others[1]
    return changed


def states(
    disk: Disk, records: list[Record], number: int, seed: int, folder: pathlib.Path
) -> Iterator[State]:
    """Yields states after power losses at random moments, each written into `folder`.

    A third of the losses come directly after a mark. The folder must not exist at each step.
    """
    rng = random.Random(seed)
    after_marks = [place + 1 for place, one in enumerate(records) if one.kind == "mark"]
    changing = [place + 1 for place, one in enumerate(records) if one.kind != "called"]
    places = [
        rng.choice(after_marks if after_marks and rng.random() < 1 / 3 else changing)
        for _ in range(number)
    ]
    done, marks = 0, []
    for place in sorted(places):
        for one in records[done:place]:
            disk.apply(one)
            if one.kind == "mark":
                marks.append(json.loads(one.path))
        done = place
        how = disk.after_power_loss(rng, folder)
        yield State(place, how, [*marks])
