"""Errors of the system while azo writes and reads: nothing acknowledged is lost.

An error of a read says nothing of a file's content: only a checksum does. An error of a sync is one
of the write.
"""

import errno
import os
import re
import shutil

import pytest
from support.builders import small_tournament, tiny_run
from support.drivers import commands, refusals
from support.faults import damage, disk_errors

from azo.coach import deck
from azo.engine import opening_book
from azo.games import variant
from azo.matches import tournament_file
from azo.networks import checkpoint_folder, exported_network, network_files
from azo.storage import files, journal
from azo.terminal import saved_game
from azo.training import checkpoint, config, metrics

FILES = (*checkpoint_folder.NETWORK, checkpoint_folder.RECORD, files.CHECKSUMS)
ALL_FILES = (*FILES, "state/manifest.ocdbt")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A run with checkpoints 1 and 2, of which the first has the better score."""
    folder = tmp_path_factory.mktemp("saved") / "run"
    with checkpoint.Checkpoints(folder, keep=2) as checkpoints:
        for step, score in ((1, 0.9), (2, 0.4)):
            state = tiny_run.begin(1)
            state = state.replace(iteration=state.iteration * 0 + step)
            checkpoints.save(step, state, tiny_run.settings(), score)
    return folder


def open_run(run):
    checkpoint.Checkpoints(run, keep=9).close()


def load_latest(run):
    network_files.load(run, is_latest=True)


@pytest.mark.parametrize("number", disk_errors.READ_ERRORS)
@pytest.mark.parametrize("name", ALL_FILES)
@pytest.mark.parametrize("use", [open_run, load_latest])
def test_a_newest_checkpoint_that_cannot_be_read_stays(
    saved, tmp_path, monkeypatch, capsys, use, name, number
):
    run = shutil.copytree(saved, tmp_path / "run")
    before = damage.contents(run)
    place = run / "checkpoints" / "2" / name
    is_read = use is open_run or name in FILES
    with monkeypatch.context() as patch:
        disk_errors.unreadable(patch, place, number)
        if is_read:
            message = refusals.message_of(use, run)
            assert message == f"{place}: cannot be read: {os.strerror(number)}"
        else:
            use(run)
    assert damage.contents(run) == before
    assert capsys.readouterr().err == ""
    use(run)


@pytest.mark.parametrize("number", disk_errors.READ_ERRORS)
@pytest.mark.parametrize("name", FILES)
def test_a_best_checkpoint_that_cannot_be_read_is_not_replaced_by_another(
    saved, tmp_path, monkeypatch, capsys, name, number
):
    run = shutil.copytree(saved, tmp_path / "run")
    place = run / "checkpoints" / "1" / name
    with monkeypatch.context() as patch:
        disk_errors.unreadable(patch, place, number)
        message = refusals.message_of(network_files.load, run)
    assert message == f"{place}: cannot be read: {os.strerror(number)}"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["checkpoints/2", "checkpoints/2/state", "checkpoints/2/state/d"])
def test_a_folder_that_cannot_be_listed_is_no_damage(saved, tmp_path, monkeypatch, capsys, name):
    run = shutil.copytree(saved, tmp_path / "run")
    before = damage.contents(run)
    with monkeypatch.context() as patch:
        disk_errors.unlisted(patch, run / name, errno.EACCES)
        message = refusals.message_of(open_run, run)
    assert message == f"{run / name}: cannot be read: Permission denied"
    assert damage.contents(run) == before
    assert capsys.readouterr().err == ""


def test_a_command_ends_in_one_line_and_the_next_one_goes_on(tmp_path, monkeypatch, capsys):
    command = tiny_run.train(tmp_path)
    assert commands.run(*command, "--run.num-iterations", 4) == 0
    before = damage.contents(tmp_path / "run")
    place = tmp_path / "run" / "checkpoints" / "4" / "network.npz"
    with monkeypatch.context() as patch:
        disk_errors.unreadable(patch, place)
        message = commands.refused(capsys, *command)
    assert message == f"{place}: cannot be read: Input/output error"
    assert damage.contents(tmp_path / "run") == before
    assert commands.run(*command) == 0
    assert "resuming after iteration 4" in capsys.readouterr().out


def test_old_checkpoints_are_kept_until_the_name_of_the_new_one_is_on_disk(
    saved, tmp_path, monkeypatch
):
    run = shutil.copytree(saved, tmp_path / "run")
    state = tiny_run.begin(1)
    state = state.replace(iteration=state.iteration * 0 + 3)
    place = (run / "checkpoints").stat().st_ino
    sync = os.fsync

    def fsync(descriptor):
        if os.fstat(descriptor).st_ino == place:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(descriptor)

    with checkpoint.Checkpoints(run, keep=1) as checkpoints, monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        message = refusals.message_of(checkpoints.save, 3, state, tiny_run.settings())
    assert message == f"{run}/checkpoints/3: cannot write here (Input/output error)"
    assert {1, 2} <= set(checkpoint_folder.all_steps(run))
    with checkpoint.Checkpoints(run, keep=1) as checkpoints:
        assert checkpoints.latest_step in (2, 3)


def tournament(folder):
    cup = small_tournament.write(folder, small_tournament.SMALL)
    return ["tournament", cup, "--folder", folder / "games"]


def export(folder):
    if not (folder / "source").exists():
        tiny_run.export(folder / "source")
    return ["export", folder / "source", folder / "new"]


def page(folder):
    return ["web", "--export", folder / "page"]


@pytest.mark.thorough
@pytest.mark.parametrize("of_folders", [True, False])
@pytest.mark.parametrize("after", [0, 1, 2, 5])
@pytest.mark.parametrize("make", [tournament, export, page, tiny_run.train])
def test_a_command_reports_a_sync_that_failed(
    tmp_path, monkeypatch, capsys, make, after, of_folders
):
    command = make(tmp_path)
    with monkeypatch.context() as patch:
        calls = disk_errors.failing_sync(patch, of_folders=of_folders, after=after)
        capsys.readouterr()
        code = commands.run(*command)
        message = capsys.readouterr().err
    if len(calls) > after:
        assert code == 2
        assert message.count("\n") == 1
        assert "Input/output error" in message
        assert str(tmp_path) in message
    if make is export:
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
    assert commands.run(*command) == 0


def write_deck(path):
    deck.Deck(path).add([])


def write_book(path):
    opening_book.Book(variant.Variant(8, False)).save(path)


def write_line(path):
    journal.append(path, "{}")


@pytest.mark.parametrize("of_folders", [True, False])
@pytest.mark.parametrize("write", [write_deck, write_book, write_line])
def test_a_file_reports_a_sync_that_failed(tmp_path, monkeypatch, write, of_folders):
    write(tmp_path / "a")
    (tmp_path / "b").mkdir()
    with monkeypatch.context() as patch:
        disk_errors.failing_sync(patch, of_folders=of_folders)
        message = refusals.message_of(write, tmp_path / "b" / "a")
    assert message == f"{tmp_path}/b/a: cannot write here (Input/output error)"


def resume_tournament(path):
    tournament_file.load(path)


READERS = {
    "deck": lambda path: deck.Deck(path).cards(),
    "book": lambda path: opening_book.load(path, variant.Variant(8, False)),
    "settings": config.load_file,
    "tournament": tournament_file.load,
    "lines": lambda path: journal.repair(path, bytes.decode),
}


@pytest.mark.parametrize("number", disk_errors.READ_ERRORS)
@pytest.mark.parametrize("name", READERS)
def test_other_files_that_cannot_be_read_stay(tmp_path, monkeypatch, name, number):
    path = tmp_path / "a.toml"
    path.write_text("content\n")
    disk_errors.unreadable(monkeypatch, path, number)
    message = refusals.message_of(READERS[name], path)
    assert message == f"{path}: cannot be read: {os.strerror(number)}"
    assert os.listdir(tmp_path) == ["a.toml"]


@pytest.mark.parametrize("name", ["metrics.jsonl", "settings.json"])
def test_the_files_of_a_run_that_cannot_be_read(saved, tmp_path, monkeypatch, name):
    run = shutil.copytree(saved, tmp_path / "run")
    journal.append(run / "metrics.jsonl", '{"event": "end", "iteration": 2, "reason": "done"}')
    disk_errors.unreadable(monkeypatch, run / name, errno.EIO)
    read = metrics.read if name == metrics.FILE else read_settings
    assert re.search(f"{name}: cannot be read: Input/output error", refusals.message_of(read, run))


def read_settings(run):
    files.read_text(run / exported_network.SETTINGS)


def test_an_unfinished_game_that_cannot_be_read_is_not_set_aside(tmp_path, monkeypatch):
    rules = variant.Variant(8, False)
    path = tmp_path / f"{rules.name}.1.ggf"
    path.write_text("(;GM[Othello]")
    disk_errors.unreadable(monkeypatch, path)
    with pytest.raises(files.Unreadable):
        saved_game.SavedGame(tmp_path, rules).read()
