"""Damage to one file of the newest of two checkpoints, on resuming and on loading for play.

Each damage has to be named, and the older checkpoint has to take over, bit for bit.
"""

import functools
import shutil

import jax
import pytest
from support.builders import tiny_run
from support.drivers import commands
from support.faults import damage

from azo.networks import checkpoint_folder, network_files
from azo.storage import files
from azo.training import checkpoint

# One file of each kind that a checkpoint has, with the kinds of damage of the quick test.
HANDFUL = [
    ("state/manifest.ocdbt", damage.flip),
    ("network.npz", damage.delete),
    ("settings.json", damage.truncate),
    ("checkpoint.json", damage.zero),
    (files.CHECKSUMS, damage.empty),
    (files.CHECKSUMS, damage.delete),
]


@functools.cache
def state(iteration):
    changed = tiny_run.begin(1)
    params = jax.tree.map(lambda x: x + iteration, changed.learner.params)
    learner = changed.learner.replace(params=params)
    return changed.replace(iteration=changed.iteration * 0 + iteration, learner=learner)


@functools.cache
def shapes():
    return tiny_run.begin(1)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A run with checkpoints 1 and 2, of which the second has the better score."""
    folder = tmp_path_factory.mktemp("saved") / "run"
    with checkpoint.Checkpoints(folder, keep=2) as checkpoints:
        checkpoints.save(1, state(1), tiny_run.settings(), 0.4)
        checkpoints.save(2, state(2), tiny_run.settings(), 0.9)
    return folder


def other_checksum_of_state(path):
    """Changes the checksum of a file of the state, which is not read to load the network."""
    lines = path.read_text().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if "  state/" in line)
    lines[place] = ("1" if lines[place][0] == "0" else "0") + lines[place][1:]
    path.write_text("".join(lines))


@pytest.fixture
def attack(saved, tmp_path, capsys):
    """Returns a function that damages the newest checkpoint of a copy, loads it, and resumes it."""

    def run(name, kind):
        folder = tmp_path / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(saved, folder)
        newest = folder / "checkpoints" / "2"
        kind(newest / name)
        left = damage.contents(newest)

        variables, _ = network_files.load(folder)  # before the resumed run renames it
        message = capsys.readouterr().err
        is_network = not name.startswith("state/") and kind is not other_checksum_of_state
        tiny_run.assert_same_bits(variables, state(1 if is_network else 2).variables())
        assert ("checkpoints/2: damaged: " in message) == is_network

        assert _resumed(folder) == 1
        message = capsys.readouterr().err
        assert "checkpoints/2: damaged: " in message
        # A changed checksum is a difference from its file, which the message names.
        assert name in message or name == files.CHECKSUMS
        assert damage.contents(newest.with_name("2.damaged")) == left

    return run


def _resumed(folder):
    """Returns the iteration of the checkpoint from which a run goes on, after restoring it."""
    with checkpoint.Checkpoints(folder, keep=9) as checkpoints:
        checkpoints.check_resumable(tiny_run.settings())
        step = checkpoints.latest_step
        tiny_run.assert_same_bits(checkpoints.restore(shapes()), state(step))
        return step


@pytest.mark.parametrize(("name", "kind"), HANDFUL)
def test_damage_is_named_and_the_older_checkpoint_takes_over(attack, name, kind):
    attack(name, kind)


@pytest.mark.faults
@pytest.mark.parametrize("kind", damage.KINDS)
def test_every_file_damaged_in_every_way(saved, attack, kind):
    for name in map(str, damage.contents(saved / "checkpoints" / "2")):
        # Another bit may be in a checksum of the state. This one makes a byte that is no text.
        is_in_checksums = kind is damage.flip and name == files.CHECKSUMS
        attack(name, functools.partial(kind, bit=7) if is_in_checksums else kind)


def test_a_network_is_loaded_if_only_a_checksum_of_the_state_is_damaged(attack):
    attack(files.CHECKSUMS, other_checksum_of_state)


def test_damage_in_an_old_checkpoint_does_not_block_the_newest(saved, tmp_path, capsys):
    shutil.copytree(saved, tmp_path / "run")
    for path in damage.files(tmp_path / "run" / "checkpoints" / "1"):
        damage.truncate(path)
    with checkpoint.Checkpoints(tmp_path / "run", keep=1) as checkpoints:
        tiny_run.assert_same_bits(checkpoints.restore(shapes()), state(2))
        assert capsys.readouterr().err == ""
        checkpoints.save(3, state(3), tiny_run.settings())
        assert checkpoint_folder.all_steps(tmp_path / "run") == [2, 3]
    assert "checkpoints/1: moved to 1.damaged" in capsys.readouterr().err
    assert (tmp_path / "run" / "checkpoints" / "1.damaged").is_dir()
    assert network_files.load(tmp_path / "run")[1].others["run"]["num_iterations"] == 6


def test_folders_with_exchanged_names_are_not_checkpoints_of_their_names(saved, tmp_path, capsys):
    places = shutil.copytree(saved, tmp_path / "run") / "checkpoints"
    with checkpoint.Checkpoints(tmp_path / "run", keep=9) as checkpoints:
        checkpoints.save(3, state(3), tiny_run.settings())
    for old, new in (("2", "x"), ("3", "2"), ("x", "3")):
        (places / old).rename(places / new)
    network_files.load(tmp_path / "run")
    assert "checkpoints/2: damaged: it is the checkpoint of iteration 3" in capsys.readouterr().err
    assert _resumed(tmp_path / "run") == 1
    assert "checkpoints/3: damaged: it is the checkpoint of iteration 2" in capsys.readouterr().err


def test_an_incomplete_copy_of_a_checkpoint_does_not_block_the_newest(saved, tmp_path, capsys):
    places = shutil.copytree(saved, tmp_path / "run") / "checkpoints"
    (places / "62").mkdir()
    shutil.copytree(places / "2", places / "63", ignore=shutil.ignore_patterns("SHA*"))
    for number in ("2147483648", "9" * 18):  # larger than any iteration
        shutil.copytree(places / "2", places / number)
    assert _resumed(tmp_path / "run") == 2
    message = capsys.readouterr().err
    assert "checkpoints/62: damaged: state is missing; using checkpoint 2" in message
    assert "checkpoints/63: damaged: no checksums; using checkpoint 2" in message
    assert {"62.damaged", "63.damaged"} <= {path.name for path in places.iterdir()}


def test_a_run_without_an_undamaged_checkpoint_is_refused_and_not_begun_again(
    saved, tmp_path, capsys
):
    shutil.copytree(saved, tmp_path / "run")
    for step in (1, 2):
        damage.flip(tmp_path / "run" / "checkpoints" / str(step) / "state" / "manifest.ocdbt")
    before = damage.contents(tmp_path / "run")
    message = commands.refused(capsys, *tiny_run.train(tmp_path))
    for step in (1, 2):
        assert f"checkpoints/{step}: damaged: state/manifest.ocdbt has another checksum" in message
    assert damage.contents(tmp_path / "run") == before


def test_a_run_with_a_damaged_newest_checkpoint_repeats_the_lost_iterations(tmp_path, capsys):
    command, folder = tiny_run.train(tmp_path), tmp_path / "run"
    assert commands.run(*command) == 0
    whole = tiny_run.restored(folder)
    damage.flip(folder / "checkpoints" / "6" / "state" / "manifest.ocdbt")
    capsys.readouterr()
    assert commands.run(*command) == 0
    shown = capsys.readouterr()
    assert "checkpoints/6: damaged: state/manifest.ocdbt has another checksum" in shown.err
    assert "using checkpoint 4" in shown.err
    assert "resuming after iteration 4" in shown.out
    tiny_run.assert_same_bits(tiny_run.restored(folder), whole)


def test_counts_that_no_run_has_are_refused(tmp_path, capsys):
    wrong = state(1)
    wrong = wrong.replace(replay=wrong.replay.replace(size=wrong.replay.size - 5))
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, wrong, tiny_run.settings())
        with pytest.raises(ValueError, match=r"1: damaged: impossible counts.*: replay/size$"):
            checkpoints.restore(shapes())
