import errno
import functools
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading

import pytest
from support.drivers import refusals
from support.faults import disk_errors, traps

from azo.storage import files, journal, locks

LINE = '{"number": 1}'


@pytest.fixture
def victims(tmp_path):
    return traps.Victims(tmp_path / "mine")


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def write(place, run):
    files.write(place, b"new", inside=run)


def write_and_make(place, run):
    files.write(place / "index.html", b"new", inside=run, makes_folder=True)


def append(place, run):
    del run
    journal.append(place, LINE)


def repair(place, run):
    del run
    journal.repair(place, lambda line: line.decode(), lambda line: False)


def fill_folder(place, run):
    with files.new_folder(place, run) as partial:
        files.write(partial / "file", b"new", inside=partial)


def remove_folder(place, run):
    files.remove_folder(place, run)


def rename(place, run):
    (run / "other").mkdir()
    files.rename(run / "other", place, run)


def make_folder(place, run):
    files.make_folder(place / "inner", run)


def open_log(place, run):
    files.open_log(place, run).write(b"new")


WAYS = (write, write_and_make, append, repair, fill_folder, remove_folder, rename, make_folder)
WAYS += (open_log,)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", traps.KINDS)
def test_no_way_to_write_in_a_folder_of_azo_reaches_a_file_outside(run, victims, way, kind):
    kind(run / "name", victims)
    message = ""
    try:
        way(run / "name", run)
    except ValueError as error:
        message = str(error)
    assert message.startswith(f"{run}/") or kind in (traps.hard_link, traps.folder)
    assert "\n" not in message
    victims.assert_untouched()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", traps.LINKS)
def test_a_link_is_refused_by_its_name(run, victims, way, kind):
    kind(run / "name", victims)
    message = refusals.message_of(way, run / "name", run)
    assert "name is a symbolic link, which is not followed: remove it" in message


# The folder of a journal is the one that the user named.
@pytest.mark.parametrize("way", [way for way in WAYS if way not in (append, repair)])
def test_a_folder_above_may_not_be_a_link_either(run, victims, way):
    traps.link_to_folder(run / "inner", victims)
    assert "inner is a symbolic link" in refusals.message_of(way, run / "inner" / "name", run)
    victims.assert_untouched()


@pytest.mark.parametrize("way", [append, repair, open_log])
def test_a_file_with_several_names_is_not_changed_in_place(run, victims, way):
    traps.hard_link(run / "name", victims)
    message = refusals.message_of(way, run / "name", run)
    assert "name is one of 2 hard links to a file: replace it by a copy" in message
    victims.assert_untouched()


@pytest.mark.parametrize("way", [write, fill_folder])
@pytest.mark.parametrize("kind", traps.KINDS)
def test_a_predicted_name_of_a_temporary_file_leads_nowhere(run, victims, way, kind):
    for name in (f".name.{os.getpid()}.tmp", ".name.tmp"):
        kind(run / name, victims)
        way(run / "name", run)
        victims.assert_untouched()
        assert os.path.lexists(run / name)
        if (run / "name").is_dir():
            files.remove_folder(run / "name", run)


def test_only_leftovers_of_a_killed_process_are_removed(run, victims):
    kept = [".notes", ".a.tmp", "a.0123456789abcdef.tmp", ".b.txt.0123456789abcdef.tmp"]
    left = [".a.txt.0123456789abcdef.tmp", ".a.txt.4711.tmp"]
    for name in kept + left:
        (run / name).write_text("")
    traps.link_to_folder(run / ".a.txt.0123456789abcde0.tmp", victims)
    traps.folder(run / ".a.txt.0123456789abcde1.tmp", victims)
    files.remove_leftovers(run, "a.txt")
    assert sorted(os.listdir(run)) == sorted(kept)
    files.remove_leftovers(run)
    assert sorted(os.listdir(run)) == sorted(kept[:3])
    victims.assert_untouched()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
def test_a_file_keeps_its_permissions_and_the_link_that_the_user_named(tmp_path, mode):
    (tmp_path / "there").mkdir()
    place, name = tmp_path / "there" / "deck.json", tmp_path / "deck.json"
    place.write_text("old")
    place.chmod(mode)
    name.symlink_to(place)
    files.write(name, b"new")
    assert name.is_symlink()
    assert place.read_bytes() == b"new"
    assert stat.S_IMODE(place.stat().st_mode) == mode
    assert os.listdir(place.parent) == ["deck.json"]
    assert sorted(os.listdir(tmp_path)) == ["deck.json", "there"]


def test_a_dangling_link_that_the_user_named_is_filled_and_a_loop_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    files.write(tmp_path / "a", b"new")
    assert (tmp_path / "b").read_bytes() == b"new"
    (tmp_path / "c").symlink_to("c")
    expected = f"{tmp_path}/c: cannot write here (Too many levels of symbolic links)"
    assert refusals.message_of(files.write, tmp_path / "c", b"new") == expected
    assert (tmp_path / "c").is_symlink()


def test_a_new_folder_may_be_named_by_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "net").symlink_to("there")
    with files.new_folder(tmp_path / "net") as partial:
        (partial / "file").write_text("new")
    assert (tmp_path / "there" / "file").read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["net", "there"]


def test_all_names_of_a_file_have_one_lock(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "a.book").symlink_to("there/b.book")
    with locks.lock_file(tmp_path / "a.book"), pytest.raises(locks.InUse):
        locks.lock_file(tmp_path / "there" / "b.book")


def test_a_device_that_the_user_named_is_written(tmp_path):
    files.write(pathlib.Path("/dev/null"), b"new")
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    files.write(tmp_path / "pipe", b"new")
    reader.join()
    assert read == [b"new"]


@pytest.mark.parametrize("read", [files.read, files.read_text, files.open_to_read])
def test_only_regular_files_are_read_and_none_is_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, kind in (("pipe", "a FIFO"), ("link", "a FIFO"), ("zero", "a device")):
        message = refusals.message_of(read, tmp_path / name)
        assert message == f"{tmp_path}/{name}: cannot be read: it is {kind}, not a file"
    assert "Is a directory" in refusals.message_of(read, tmp_path)


@pytest.mark.parametrize(
    "way", ["azo solve <(cat {})", "cat {} | azo solve /dev/stdin", "azo solve /dev/stdin < {}"]
)
def test_a_stream_that_the_user_named_is_read(tmp_path, way):
    problem = tmp_path / "a.obf"
    problem.write_text("-----OX--XO----- X;\n")
    command = way.format(problem).replace("azo", f"{sys.executable} -m azo", 1)
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300)
    assert "1 solved" in done.stdout, done.stderr


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("way", [write, write_and_make, append, fill_folder, make_folder])
def test_a_folder_that_cannot_be_synced_is_an_error(run, monkeypatch, way, number):
    disk_errors.failing_sync(monkeypatch, number)
    message = refusals.message_of(way, run / "name", run)
    assert message.endswith(f": cannot write here ({os.strerror(number)})")


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
@pytest.mark.parametrize("way", [write, write_and_make, append, fill_folder, make_folder])
def test_a_file_system_that_cannot_sync_folders_is_written(run, monkeypatch, way, number):
    disk_errors.failing_sync(monkeypatch, number)
    way(run / "name", run)
    assert (run / "name").exists()


def test_a_folder_that_may_not_be_listed_is_written():
    run = pathlib.Path(tempfile.mkdtemp())  # those of pytest are private
    run.chmod(0o300)
    script = f"""
import os, pathlib
from azo.storage import files
if os.geteuid() == 0:
    os.setuid(65534)
files.write(pathlib.Path({str(run)!r}) / "a", b"new")
"""
    if os.geteuid() == 0:
        os.chown(run, 65534, -1)
    subprocess.run([sys.executable, "-c", script], check=True)
    run.chmod(0o700)
    assert (run / "a").read_bytes() == b"new"
    shutil.rmtree(run)


def test_the_names_of_new_files_and_folders_are_on_disk_before_a_line_is(tmp_path, monkeypatch):
    path = tmp_path / "new" / "inner" / "lines.jsonl"
    steps, sync, write = [], os.fsync, os.write

    def fsync(descriptor):
        steps.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    def written(descriptor, content):
        steps.append(bytes(content))
        return write(descriptor, content)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "write", written)
    journal.append(path, LINE)
    before = steps[: steps.index(LINE.encode() + b"\n")]
    assert {str(parent) for parent in path.parents[:3]} <= set(before)
    assert steps[-1] == str(path)
    steps.clear()
    journal.append(path, LINE)
    assert steps == [LINE.encode() + b"\n", str(path)]
    # A process that was killed between making the file and its first line.
    path.write_bytes(b"")
    steps.clear()
    journal.append(path, LINE)
    assert steps == [str(path.parent), LINE.encode() + b"\n", str(path)]


def test_short_writes_and_reads_lose_nothing(tmp_path, monkeypatch):
    write, pread = os.write, os.pread
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:3]))
    monkeypatch.setattr(
        os, "pread", lambda descriptor, size, place: pread(descriptor, min(size, 5), place)
    )
    files.write(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"
    for number in range(4):
        journal.append(tmp_path / "lines", str(number) * 100)
    assert journal.read(tmp_path / "lines", len) == [100] * 4


@pytest.mark.parametrize("number", disk_errors.READ_ERRORS)
def test_an_error_of_the_disk_is_no_damage(tmp_path, monkeypatch, number):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one").write_bytes(b"1")
    files.write_checksums(tmp_path)
    journal.append(tmp_path / "lines", LINE)
    reason = os.strerror(number)
    cases = {
        "a/one": functools.partial(files.verify_checksums, tmp_path),
        files.CHECKSUMS: functools.partial(files.verify_checksums, tmp_path),
        "lines": functools.partial(journal.repair, tmp_path / "lines", bytes.decode),
    }
    for name, read in cases.items():
        with monkeypatch.context() as patch:
            disk_errors.unreadable(patch, tmp_path / name, number)
            with pytest.raises(
                files.Unreadable, match=re.escape(f"{name}: cannot be read: {reason}")
            ):
                read()
    with monkeypatch.context() as patch:
        disk_errors.unlisted(patch, tmp_path / "a", number)
        with pytest.raises(files.Unreadable, match=f"a: cannot be read: {reason}"):
            files.verify_checksums(tmp_path)
