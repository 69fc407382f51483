"""Queues: what runs they ask for, with which settings and budgets."""

import json
import re

import pytest
from support.builders import small_queue, tiny_run
from support.drivers import refusals

from azo.queues import run_queue
from azo.settings import shipped_files
from azo.training import config

QUEUES = sorted((shipped_files.CONFIGS / "queues").glob("*.toml"))
HEAD = 'base = "tiny.toml"\nmax_evaluations = 1000\nseeds = [0, 3]\n'
ARMS = """
[[arms]]
name = "base"
question = "What else?"

[[arms]]
name = "puct"
question = "PUCT?"
set = {"search.algorithm" = "puct", "search.num_simulations" = 6}

[[arms]]
name = "puct-q"
question = "Q?"
against = "puct"
set = {"search.puct.move_choice" = "q"}
"""


def load(folder, text=HEAD + ARMS):
    return run_queue.load(small_queue.write(folder, text), folder / "runs")


def test_every_arm_gets_its_first_seed_before_any_gets_its_second(tmp_path):
    _, jobs = load(tmp_path)
    names = ["base", "puct", "puct-q"]
    assert [(job.arm.name, job.seed) for job in jobs] == [(n, s) for s in (0, 3) for n in names]
    assert jobs[4].settings.run.seed == 3
    assert jobs[4].folder == tmp_path / "runs" / "puct" / "3"
    assert jobs[4].phase(0, 1000).run.folder == tmp_path / "runs" / "puct" / "3" / "run"
    assert {job.settings.run.num_devices for job in jobs} == {1}


def test_an_arm_differs_from_the_one_it_is_against_in_what_it_sets_alone(tmp_path):
    _, (base, puct, puct_q, *_) = load(tmp_path)
    changes = {"search.algorithm": "puct", "search.num_simulations": 6}
    for earlier, later, change in (
        (base, puct, changes),
        (puct, puct_q, {"search.puct.move_choice": "q"}),
    ):
        change["run.folder"] = later.settings.run.folder
        assert later.settings == config.with_settings(earlier.settings, change)


def test_common_settings_hold_for_all_and_an_arm_may_have_a_file_of_its_own(tmp_path):
    (tmp_path / "other.toml").write_text(tiny_run.toml(search={"num_simulations": 7}))
    common = 'set = {"learner.learning_rate" = 0.5}\n'
    own = '[[arms]]\nname = "own"\nquestion = "?"\nconfig = "other.toml"\n'
    _, jobs = load(tmp_path, HEAD + common + ARMS + own)
    assert {job.settings.learner.learning_rate for job in jobs} == {0.5}
    search = jobs[3].settings.search
    assert (search.num_simulations, search.algorithm) == (7, "gumbel")


def test_the_iterations_are_bounded_by_the_budget_alone_unless_they_are_set(tmp_path):
    for setting, expected in (("", None), ('set = {"run.num_iterations" = 5}\n', 5)):
        arms = f'[[arms]]\nname = "base"\nquestion = "?"\n{setting}'
        _, (job, *_) = load(tmp_path, HEAD + arms)
        run = job.phase(0, 961).run
        assert (run.num_iterations, run.max_evaluations) == (expected, 961)


def test_the_phases_of_a_curriculum_share_the_budget_and_may_be_changed(tmp_path):
    phases = '[[curriculum]]\nname = "one"\n'
    phases += 'set = {"search.num_simulations" = 3, "run.max_evaluations" = 1100}\n'
    phases += '[[curriculum]]\nname = "two"\nset = {"evaluation.opponent" = "network:{one}:2"}\n'
    (tmp_path / "phases.toml").write_text(tiny_run.toml() + phases)
    arm = '[[arms]]\nname = "a"\nquestion = "?"\nconfig = "phases.toml"\n'
    arm += 'phases = {two = {"learner.num_steps" = 9}}\n'
    _, (job, _) = load(tmp_path, HEAD + arm)
    assert job.num_phases == 2
    one, two = job.phase(0, 1000), job.phase(1, 400)
    assert job.phase(0, 2000).run.max_evaluations == 1100  # a limit of its own
    folder = tmp_path / "runs" / "a" / "0"
    assert (one.run.max_evaluations, two.run.max_evaluations) == (1000, 400)
    assert (one.run.folder, two.run.folder) == (folder / "1-one", folder / "2-two")
    assert (one.search.num_simulations, two.search.num_simulations) == (3, 4)
    assert (one.learner.num_steps, two.learner.num_steps) == (2, 9)
    assert two.run.start_from == folder / "1-one"
    assert two.evaluation.opponent == f"network:{folder / '1-one'}:2"
    assert two.run.num_iterations == 6  # the file's own: a phase may end before the budget does


@pytest.mark.parametrize("path", QUEUES, ids=lambda path: path.name)
def test_every_run_of_a_queue_in_configs_has_valid_settings(path, tmp_path):
    queue, jobs = run_queue.load(path, tmp_path)
    assert len(jobs) == len(queue.arms) * len(queue.seeds)
    for job in jobs[: len(queue.arms)]:
        for index in range(job.num_phases):
            phase = job.phase(index, queue.budget)
            written = tmp_path / "phase.json"
            written.write_text(config.to_json(phase))
            assert config.load_file(written) == phase
    # What decides a result is compared with the line that was written of it.
    assert all(json.loads(json.dumps(job.request)) == job.request for job in jobs)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("[0, 3]", "[3, 3]"), r"seeds is \[3, 3\]: remove the repeated seeds"),
        (("puct-q", "puct"), "there are two arms 'puct': rename one"),
        (
            ('"puct"\nset', '"pucd"\nset'),
            "against is 'pucd', but should be an earlier arm: base, puct",
        ),
        (('= "q"', '= "x"'), "arm 'puct-q': --search.puct.move-choice is x, but should be"),
        (
            ('"What else?"', '"?"\nphases = {warm = {}}'),
            "unknown phase 'warm'. Phases of the recipe: none",
        ),
    ],
)
def test_a_bad_queue_is_one_clear_line(tmp_path, change, expected):
    assert change[0] in HEAD + ARMS
    path = small_queue.write(tmp_path, (HEAD + ARMS).replace(*change))
    message = refusals.message_of(run_queue.load, path, tmp_path / "runs")
    assert message.startswith(str(path))
    assert re.search(expected, message)
