"""Damage to one file of the newest of two checkpoints, on resuming and on loading for play.

Each damage has to be named, and the older checkpoint has to take over, bit for bit.
"""

import collections
import functools
import random
import shutil

import jax
import orbax.checkpoint as ocp
import pytest
from support import damage, tiny_run

from azo import __main__
from azo.formats import checksums
from azo.run import checkpoint, network_files

FULL = pytest.mark.faults
# One file of each kind that a checkpoint has, with the kinds of damage of the quick test.
HANDFUL = [
    ("state/d/*", damage.flip),
    ("network/manifest.ocdbt", damage.delete),
    ("settings/metadata", damage.truncate),
    ("metrics/metrics", damage.flip),
    ("state/_METADATA", damage.zero),
    (checksums.FILE, damage.empty),
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


@pytest.fixture
def attack(saved, tmp_path, capsys):
    """Returns a function that damages a copy of the run and returns the copy's newest checkpoint.

    It then resumes and loads the copy, and counts the outcomes.
    """
    outcomes = collections.Counter()

    def run(name, kind):
        folder = tmp_path / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(saved, folder)
        kind(folder / "checkpoints" / "2" / name)
        has_checksums = (folder / "checkpoints" / "2" / checksums.FILE).exists()

        variables, _ = network_files.load(folder)  # before the resumed run renames it
        message = capsys.readouterr().err
        is_new = jax.tree.all(jax.tree.map(_equal, variables, state(2).variables()))
        if not has_checksums:
            assert is_new
            assert "2: no checksums, so damage would stay unnoticed" in message
        elif name.startswith(("network/", "settings/", "metrics/")) or message:
            tiny_run.assert_same_bits(variables, state(1).variables())
            assert "checkpoints/2: damaged: " in message
        else:
            assert is_new  # the network is undamaged
            assert message == ""

        left = (folder / "checkpoints" / "2").rglob("*")
        left = {path.relative_to(folder): path.read_bytes() for path in left if path.is_file()}
        with checkpoint.Checkpoints(folder, keep=2) as checkpoints:
            message = capsys.readouterr().err
            restored = checkpoints.restore(shapes())
            step = checkpoints.latest_step()
            checkpoints.check_resumable(tiny_run.settings())
        tiny_run.assert_same_bits(restored, state(step))
        if has_checksums:
            assert step == 1
            assert "checkpoints/2: damaged: " in message
            # A changed checksum is a difference from its file, which the message names.
            assert name in message or name == checksums.FILE
            kept = {
                path.relative_to(folder).as_posix().replace("2.damaged", "2"): path.read_bytes()
                for path in damage.files(folder / "checkpoints" / "2.damaged")
            }
            assert kept == {path.as_posix(): content for path, content in left.items()}
        else:
            assert step == 2
            assert "2: no checksums" in message
        outcomes[kind.__name__] += 1

    yield run
    print(dict(outcomes))


def _equal(one, other):
    return bool((one == other).all())


def _names(saved):
    newest = saved / "checkpoints" / "2"
    return [path.relative_to(newest).as_posix() for path in damage.files(newest)]


@pytest.mark.parametrize(("pattern", "kind"), HANDFUL)
def test_damage_is_named_and_the_older_checkpoint_takes_over(saved, attack, pattern, kind):
    newest = saved / "checkpoints" / "2"
    attack(sorted(newest.glob(pattern))[0].relative_to(newest).as_posix(), kind)


@FULL
@pytest.mark.parametrize("kind", damage.KINDS)
def test_every_file_damaged_in_every_way(saved, attack, kind):
    for name in _names(saved):
        # An empty file keeps its content if truncated or zeroed; there is none.
        assert (saved / "checkpoints" / "2" / name).stat().st_size
        attack(name, kind)


@FULL
def test_flipped_bits_of_all_files(saved, attack):
    random_bits, names = random.Random(0), _names(saved)
    for number in range(150):
        name = names[number % len(names)]
        size = (saved / "checkpoints" / "2" / name).stat().st_size
        bit = random_bits.randrange(8 * size)
        attack(name, lambda path, bit=bit: damage.flip(path, bit))


def test_damage_in_an_old_checkpoint_does_not_block_the_newest(saved, tmp_path, capsys):
    shutil.copytree(saved, tmp_path / "run")
    for path in damage.files(tmp_path / "run" / "checkpoints" / "1"):
        damage.truncate(path)
    with checkpoint.Checkpoints(tmp_path / "run", keep=1) as checkpoints:
        tiny_run.assert_same_bits(checkpoints.restore(shapes()), state(2))
        assert capsys.readouterr().err == ""
        checkpoints.save(3, state(3), tiny_run.settings())
        assert checkpoints.all_steps() == [2, 3]
    assert "checkpoints/1: kept as 1.damaged" in capsys.readouterr().err
    assert (tmp_path / "run" / "checkpoints" / "1.damaged").is_dir()
    assert int(network_files.load(tmp_path / "run")[1].run.num_iterations) == 6


def test_a_run_without_an_undamaged_checkpoint_is_refused_and_not_begun_again(
    saved, tmp_path, capsys
):
    shutil.copytree(saved, tmp_path / "run")
    for step in (1, 2):
        damage.flip(tmp_path / "run" / "checkpoints" / str(step) / "state" / "_METADATA")
    before = {path: path.read_bytes() for path in damage.files(tmp_path / "run")}
    (tmp_path / "tiny.toml").write_text(tiny_run.toml())
    command = ["train", "--config", str(tmp_path / "tiny.toml"), "--run.folder"]
    assert __main__.main([*command, str(tmp_path / "run")]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    for step in (1, 2):
        assert f"checkpoints/{step}: damaged: state/_METADATA has another checksum" in message
    after = {p: p.read_bytes() for p in damage.files(tmp_path / "run") if p.name != ".lock"}
    assert after == {p: content for p, content in before.items() if p.name != ".lock"}


def test_a_run_with_a_damaged_newest_checkpoint_repeats_the_lost_iterations(tmp_path, capsys):
    (tmp_path / "tiny.toml").write_text(tiny_run.toml())
    command = ["train", "--config", str(tmp_path / "tiny.toml"), "--run.folder"]
    folder = tmp_path / "run"
    assert __main__.main([*command, str(folder)]) == 0
    with checkpoint.Checkpoints(folder, keep=9) as checkpoints:
        whole = checkpoints.restore(shapes())
    damage.flip(next((folder / "checkpoints" / "6" / "state" / "d").iterdir()))
    capsys.readouterr()
    assert __main__.main([*command, str(folder)]) == 0
    shown = capsys.readouterr()
    assert "checkpoints/6: damaged: state/d/" in shown.err
    assert "using checkpoint 4" in shown.err
    assert "resuming after iteration 4" in shown.out
    with checkpoint.Checkpoints(folder, keep=9) as checkpoints:
        tiny_run.assert_same_bits(checkpoints.restore(shapes()), whole)


def test_a_checkpoint_that_fails_its_verification_replaces_no_other(tmp_path, monkeypatch):
    write = checksums.write

    def write_then_damage(folder):
        write(folder)
        damage.flip(folder / "settings" / "metadata")

    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state(1), tiny_run.settings())
        with monkeypatch.context() as patch:
            patch.setattr(checksums, "write", write_then_damage)
            with pytest.raises(ValueError, match="settings/metadata has another checksum"):
                checkpoints.save(2, state(2), tiny_run.settings())
        assert checkpoints.all_steps() == [1]
        assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["1"]
        checkpoints.save(2, state(2), tiny_run.settings())
        assert checkpoints.all_steps() == [2]


def test_a_checkpoint_of_an_earlier_version_is_loaded_with_a_note(tmp_path, capsys):
    """Earlier versions saved by Orbax's manager, without checksums."""
    options = ocp.CheckpointManagerOptions(best_fn=lambda metrics: metrics["score"])
    plain = state(3)
    plain = plain.replace(key=jax.random.key_data(plain.key))
    with ocp.CheckpointManager(tmp_path / "checkpoints", options=options) as manager:
        args = ocp.args.Composite(
            state=ocp.args.StandardSave(plain),
            network=ocp.args.StandardSave(dict(plain.variables())),
            settings=ocp.args.JsonSave(tiny_run.settings().model_dump(mode="json")),
        )
        manager.save(3, args=args, metrics={"score": 0.5})
    note = f"{tmp_path}/checkpoints/3: no checksums, so damage would stay unnoticed\n"
    capsys.readouterr()
    tiny_run.assert_same_bits(network_files.load(tmp_path)[0], state(3).variables())
    assert capsys.readouterr().err == note
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        assert capsys.readouterr().err == note
        assert checkpoints.best_step() == 3
        tiny_run.assert_same_bits(checkpoints.restore(shapes()), state(3))
    damage.truncate(tmp_path / "checkpoints" / "3" / "state" / "manifest.ocdbt")
    with (
        checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints,
        pytest.raises(ValueError, match=r"checkpoints/3.*: cannot be read \("),
    ):
        checkpoints.restore(shapes())
