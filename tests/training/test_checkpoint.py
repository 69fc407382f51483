import functools
import gc
import json
import os
import pathlib
import sys

import jax
import jax.numpy as jnp
import pytest
from support.builders import tiny_run
from support.drivers.refusals import message_of
from support.faults import damage

import azo
from azo.learning import generations, run_state
from azo.networks import checkpoint_folder, network_files
from azo.storage import files
from azo.training import checkpoint


@pytest.fixture(scope="module")
def settings():
    return tiny_run.settings()


@pytest.fixture(scope="module")
def state():
    return after(tiny_run.begin(1), 1)


def after(state, iteration):
    return state.replace(iteration=jnp.full_like(state.iteration, iteration))


def changed(settings, section, **values):
    part = getattr(settings, section).model_copy(update=values)
    return settings.model_copy(update={section: part})


@pytest.fixture
def checkpoints(tmp_path):
    """The checkpoints of a new run, of which the latest and the best are kept."""
    with checkpoint.Checkpoints(tmp_path, keep=1) as opened:
        yield opened


def test_a_restored_state_has_the_same_bits_types_and_devices(checkpoints, settings, state):
    checkpoints.save(1, state, settings)
    restored = checkpoints.restore(state)
    tiny_run.assert_same_bits(restored, state)
    for old, new in zip(jax.tree.leaves(state), jax.tree.leaves(restored), strict=True):
        assert new.sharding.is_equivalent_to(old.sharding, old.ndim)
    tiny_run.assert_same_bits(checkpoints.restore(jax.eval_shape(lambda: state)), state)


def test_the_latest_checkpoints_and_the_best_are_kept_for_the_next_session(
    tmp_path, settings, state
):
    with checkpoint.Checkpoints(tmp_path, keep=2) as checkpoints:
        assert checkpoints.latest_step == 0
        for step, score in [(1, None), (2, 0.9), (3, 0.5), (4, None), (5, None)]:
            checkpoints.save(step, after(state, step), settings, score)
    with checkpoint.Checkpoints(tmp_path, keep=2) as checkpoints:
        assert checkpoint_folder.all_steps(tmp_path) == [2, 4, 5]
        assert (checkpoint_folder.best_step(tmp_path), checkpoints.latest_step) == (2, 5)
        assert checkpoints.settings() == settings
        assert int(checkpoints.restore(state).iteration) == 5
    record = json.loads((tmp_path / "checkpoints" / "2" / "checkpoint.json").read_text())
    assert record["versions"]["jax"] == jax.__version__
    saved = json.loads((tmp_path / "settings.json").read_text())  # for people too
    assert saved["selfplay"].items() >= tiny_run.SECTIONS["selfplay"].items()


def interrupt(folder):
    raise KeyboardInterrupt


def write_then_damage(folder, write=files.write_checksums):
    write(folder)
    damage.flip(folder / "settings.json")


@pytest.mark.parametrize(
    ("last_step", "error"), [(interrupt, KeyboardInterrupt), (write_then_damage, ValueError)]
)
def test_an_interrupted_and_an_unverified_save_leave_the_earlier_checkpoint(
    tmp_path, checkpoints, settings, state, monkeypatch, last_step, error
):
    checkpoints.save(1, after(state, 1), settings)
    with monkeypatch.context() as patch:
        patch.setattr(files, "write_checksums", last_step)  # before the renaming
        with pytest.raises(error, match=r"^$|has another checksum"):
            checkpoints.save(2, after(state, 2), settings)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["1"]
    (tmp_path / "checkpoints" / ".2.9.tmp").mkdir()  # of a process that was killed
    checkpoints.close()
    with checkpoint.Checkpoints(tmp_path, keep=1) as again:
        assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["1"]
        assert int(again.restore(state).iteration) == 1
        again.save(2, after(state, 2), settings)
        assert checkpoint_folder.all_steps(tmp_path) == [2]


def test_a_run_may_be_lengthened_and_evaluated_otherwise_but_keeps_its_recipe(
    tmp_path, checkpoints, settings, state
):
    checkpoints.check_resumable(changed(settings, "run", seed=9))  # nothing saved yet
    checkpoints.save(1, state, settings)
    longer = changed(settings, "run", num_iterations=999, save_every=1, folder="x", num_devices=2)
    longer = changed(longer, "evaluation", num_games=2)
    checkpoints.check_resumable(longer)
    other = changed(settings, "search", num_simulations=7)
    assert message_of(checkpoints.check_resumable, other) == (
        f"{tmp_path}: cannot resume: search.num_simulations is 7, but the run was begun with 4."
        " Give --search.num-simulations 4, or give another --run.folder"
    )


def test_what_no_flag_can_give_is_left_to_a_file(tmp_path, checkpoints, settings, state):
    entry = generations.ScheduledSettings(share=0.5, set={"search.num_simulations": 8})
    scheduled = changed(settings, "generation", schedule=(entry,))
    checkpoints.save(1, state, scheduled)
    message = message_of(checkpoints.check_resumable, settings)
    assert message.endswith(
        ". Name a --config file whose generation.schedule is that of the run's settings.json, or"
        " give another --run.folder"
    )
    assert "--generation.schedule" not in message


def test_a_run_resumes_with_other_values_of_what_its_game_and_network_do_not_read(
    checkpoints, settings, state
):
    checkpoints.save(1, state, settings)
    unread = changed(settings, "game", size=4)  # of tic-tac-toe
    unread = changed(unread, "network", policy_mlp_units=(9,))  # of a policy head
    assert unread != settings
    checkpoints.check_resumable(unread)
    read = changed(settings, "network", policy_units=9)
    assert "network.policy_units is 9" in message_of(checkpoints.check_resumable, read)


def test_arrays_of_other_shapes_and_absent_checkpoints_are_named(checkpoints, settings, state):
    assert message_of(checkpoints.restore, state).endswith("no checkpoint yet")
    checkpoints.save(3, state, settings)
    wider = state.replace(replay=state.replay.replace(board=jnp.zeros((60, 2), jnp.uint32)))
    message = message_of(checkpoints.restore, wider)
    assert message == (
        f"{checkpoints.folder}/checkpoints/3/state: array 'replay/board' is uint32 of shape"
        " [128, 2], but by the settings uint32 of shape [60, 2]"
    )


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("", "{}: holds something that is not an azo run (thesis.tex): choose another"),
        ("thesis.tex", "is a file, not a folder"),
        ("thesis.tex/run", "cannot write a run here (Not a directory): choose another --run.fold"),
    ],
)
def test_a_folder_that_cannot_hold_a_run_is_left_alone(tmp_path, folder, expected):
    (tmp_path / "thesis.tex").write_text("precious")
    message = message_of(checkpoint.Checkpoints, tmp_path / folder, keep=1)
    assert expected.format(tmp_path) in message
    assert [path.read_text() for path in tmp_path.iterdir()] == ["precious"]


def test_a_folder_without_a_name_in_utf8_is_refused_at_the_start(tmp_path, monkeypatch):
    place = tmp_path / os.fsdecode(b"\xff")
    place.mkdir()
    monkeypatch.chdir(place)
    message = message_of(checkpoint.Checkpoints, pathlib.Path("run"), keep=1)
    assert "/run': not a name in UTF-8, which the format of checkpoints needs" in message
    assert list(place.iterdir()) == []


def test_a_run_gives_its_best_network_and_else_its_latest(tmp_path, checkpoints, settings, state):
    def scaled(factor):
        params = jax.tree.map(lambda x: x * factor, state.learner.params)
        return state.replace(learner=state.learner.replace(params=params))

    for step, score, given in [(1, None, 1), (2, None, 2), (3, 0.5, 3), (4, None, 3)]:
        checkpoints.save(step, scaled(step), settings, score)
        tiny_run.assert_same_bits(network_files.load(tmp_path)[0], scaled(given).variables())
        for is_latest, expected in ((False, given), (True, step)):
            loaded = azo.load_network(tmp_path, is_latest=is_latest)
            tiny_run.assert_same_bits(loaded.variables, scaled(expected).variables())
    # The folder of a checkpoint names it in either case.
    for is_latest in (False, True):
        loaded = azo.load_network(tmp_path / "checkpoints" / "3", is_latest=is_latest)
        tiny_run.assert_same_bits(loaded.variables, scaled(3).variables())


@pytest.mark.parametrize(
    ("changes", "is_actor"),
    [
        ({"gate": {"is_enabled": True}, "generation": {"num_games": 10}}, True),
        ({"selfplay": {"teacher": "elsewhere"}}, False),
    ],
)
def test_a_gated_run_gives_its_best_network_and_a_taught_one_that_which_learns(
    tmp_path, checkpoints, settings, state, changes, is_actor
):
    actor = jax.tree.map(lambda x: x + 1, state.variables())
    for section, values in changes.items():
        settings = changed(settings, section, **values)
    checkpoints.save(1, state.replace(actor_params=actor), settings)
    expected = actor if is_actor else state.variables()
    tiny_run.assert_same_bits(network_files.load(tmp_path)[0], expected)


def test_other_checkpoints_than_networks_are_refused(tmp_path, settings, state):
    assert "no such folder" in message_of(network_files.load, tmp_path / "absent")
    assert "neither a run nor an exported" in message_of(network_files.load, tmp_path)
    checkpoint.Checkpoints(tmp_path / "run", keep=1).close()
    assert "has no checkpoint yet" in message_of(network_files.load, tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    message = message_of(network_files.save, tmp_path / "full", state.variables(), settings)
    assert "exists already" in message


@pytest.mark.thorough
def test_saves_leave_few_objects(checkpoints, settings, state):
    blocks = []
    for step in range(1, 9):
        checkpoints.save(step, state, settings)
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    assert (blocks[-1] - blocks[3]) / 4 < 200, blocks


def test_names_in_checkpoints_are_those_of_the_first_runs():
    recipe = tiny_run.settings(**tiny_run.EVERYTHING)
    create = functools.partial(run_state.create, tiny_run.game(), recipe, seed=0, num_devices=1)
    names = checkpoint.by_saved_names(jax.eval_shape(create))
    by_folder = {}
    for name in names:
        folder, _, leaf = name.rpartition("/")
        by_folder.setdefault(folder, set()).add(leaf)
    plies = {"board", "policy", "action", "ply", "value", "raw_value", "iteration"}
    plies |= {"actor_version", "score", "reward", "discount"}
    assert by_folder["history/plies"] == plies
    assert by_folder["history"] == {"is_waiting"}
    assert by_folder["games"] == {"ply"}
    assert by_folder["games/resignation"] == {"is_played_out", "resigned_by"}
    assert by_folder["resignation_counts"] == {"num_games", "resigned", "won"}
    assert not [folder for folder in by_folder if "options" in folder]
