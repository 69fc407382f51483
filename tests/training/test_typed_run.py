"""What a user types is what the whole run uses, or one line says when not."""

import operator
import re
import typing

import pydantic
import pytest

from azo.cli import train
from azo.games import registry
from azo.settings import shipped_files, typed_settings
from azo.training import config, typed_run

CONFIGS = shipped_files.CONFIGS
FILES = sorted(
    [*CONFIGS.glob("*.toml"), *CONFIGS.glob("champions/*.toml"), *CONFIGS.glob("games/*.toml")]
)
# Points of a run; the schedules of the recipes change settings between them.
POINTS = [(0, 0.0), (4, 0.0), (5, 0.1), (11, 0.1), (12, 0.1), (300, 0.2), (700, 0.5), (950, 0.9)]


def _settings(model, prefix=""):
    """Yields name, value and field of every setting."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, pydantic.BaseModel):
            yield from _settings(value, f"{prefix}{name}.")
        elif name not in ("origin", "curriculum", "schedule"):
            yield prefix + name, value, field


def _others(name, value, field):
    """Returns values that differ from a value, one of which a recipe may take."""
    known = {
        "game.name": ["tictactoe", "othello"],
        "game.start": [f"{'X' * n * n} X" for n in (6, 8)],
        "network.kind": ["residual", "patterns", "my_networks:Mine"],
        "evaluation.opponent": ["random", "greedy"],
        "selfplay.options": [("my_networks:Mine",)],
        "selfplay.teacher": ["zero-fast", "zero-fast6"],
        "search.algorithm": ["gumbel", "puct", "puct_over_visits"],
        "replay.sampling": ["my_networks:mine"],
        "targets.value": ["outcome", "lambda", "my_networks:mine"],
        "learner.optimiser": ["adamw", "sgd", "muon", "my_networks:mine"],
        "run.start_from": ["zero-fast", "zero-fast6"],
        "run.folder": ["elsewhere"],
    }
    if name in known:
        return [other for other in known[name] if other != value]
    kinds = [field.annotation, *typing.get_args(field.annotation)]
    literals = [x for kind in kinds for x in typing.get_args(kind) if isinstance(x, str | int)]
    if literals:
        return [other for other in literals if other != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [2 * value, value // 2, value + 2, value - 1, 2, 1, 0]
    if isinstance(value, float):
        return [value / 2, 2 * value, 0.5, 0.25]
    if isinstance(value, tuple):
        return [(8, 16)]
    return [3, 0.5] if value is None else []


def _used(settings, name):
    """Returns the values of a setting at many points of a run, phase by phase."""
    phases = [config.of_phase(settings, i) for i in range(len(settings.curriculum))] or [settings]
    stages = (
        config.scheduled(phase, generation, share)
        for phase in phases
        for generation, share in POINTS
    )
    return {repr(operator.attrgetter(name)(stage)) for stage in stages}


def _loadable(path):
    try:
        settings = config.load_file(path)
        registry.make(settings.game)
    except ModuleNotFoundError:
        pytest.skip("the package of its game is not installed")
    return settings


@pytest.mark.thorough
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_typed_value_is_used_in_the_whole_run_or_a_line_says_when_not(path):
    recipe = _loadable(path)
    num_used = 0
    for name, old, field in _settings(recipe):
        flag, refusals = "--" + name.replace("_", "-"), []
        for value in [other for other in _others(name, old, field) if str(other) != str(old)]:
            try:
                settings, notes = typed_run.apply(recipe, {name: value})
            except (ValueError, ModuleNotFoundError) as error:
                refusals.append(str(error))
                continue
            used = _used(settings, name)
            typed = {repr(operator.attrgetter(name)(settings))}
            is_said = any(note.startswith(flag) for note in notes)
            assert used == typed or is_said or name == "run.folder", (name, value, used, notes)
            assert typed != {repr(old)}, (name, value)
            num_used += 1
            break
        else:
            assert refusals, f"{name}: no value was tried"
            assert all("\n" not in line for line in refusals)
            # What takes the effect away, or what a value must fit, is named.
            assert any(re.search(r"[a-z]+[._-][a-z]+|\[[a-z]+\]", x) for x in refusals), refusals
    assert num_used > 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_only_typed_limits_end_a_run(path):
    recipe = _loadable(path)
    for typed in ({"minutes": 7.0}, {"run.num_iterations": 7}, {"run.max_evaluations": 7}):
        settings, notes = typed_run.apply(recipe, typed)
        phases = [config.of_phase(settings, i) for i in range(len(settings.curriculum))]
        for phase in phases or [settings]:
            assert [limit.share for limit in config.used_limits(phase, {})] == [0]
            (name,) = typed
            assert operator.attrgetter(name)(phase) == typed[name]
        had = [limit for limit in config.Config.LIMITS if operator.attrgetter(limit)(recipe)]
        assert notes or set(had) <= set(typed) or not had


def test_a_typed_number_of_simulations_replaces_the_schedule_and_says_so(capsys):
    typed = train._load(["--search.num-simulations", "32"])
    note = "--search.num-simulations 32 replaces the recipe's schedule 32, 64, 128"
    assert typed.notes == [note]
    assert _used(typed.settings, "search.num_simulations") == {"32"}
    # The rest of an entry stays.
    assert [entry.set for entry in typed.settings.generation.schedule] == [
        {"learner.num_steps": 24}
    ]


def test_settings_of_the_library_follow_the_same_rule(tmp_path):
    path = CONFIGS / "azo8.toml"
    nested = {"search": {"num_simulations": 48}}
    for changes in ({"search.num_simulations": 48}, nested):
        typed = train._for_game(path, changes, typed_settings.as_name)
        assert _used(typed.settings, "search.num_simulations") == {"48"}
        assert "search.num_simulations = 48 replaces" in typed.notes[0]


def test_what_is_typed_with_a_typed_schedule_holds_until_the_schedule_changes_it():
    flags = ["--search.num-simulations", "8", "--generation.schedule.0.share", "0.5"]
    typed = train._load(flags)
    assert len(typed.settings.generation.schedule) == 3
    assert typed.notes[0].endswith("does not hold for the whole run: later it is 32, 64, 128")


REFUSED = {
    "--search.puct.c-puct 3": "search.algorithm gumbel",
    "--search.puct.root-noise-fraction 0.1": "search.algorithm gumbel",
    "--search.puct.move-choice q": "search.algorithm gumbel",
    "--config olivaw --search.gumbel.value-scale 0.5": "search.algorithm puct",
    "--config olivaw --search.gumbel.max-considered-actions 4": "search.algorithm puct",
    "--config sixbysix --search.puct.root-noise-alpha 0.5": "search.puct.root-noise-fraction 0",
    "--search.virtual-loss 1": "search.leaves-per-step 1",
    "--search.temperature 0 --search.temperature-plies 3": "search.temperature 0",
    "--network.num-blocks 3": "network.kind patterns",
    "--network.precision float32": "network.kind patterns",
    "--config tower8 --network.patterns.num-features 8": "network.kind residual",
    "--config tower8 --learner.table-logit-rate 1e-3": "network.kind residual",
    "--config pythonnut --network.num-blocks 3": "network.block-channels 32 64 128 128 128",
    "--config sixbysix --network.policy-units 3": "network.policy-network mlp",
    "--config tower8 --network.policy-mlp-units 3": "network.policy-network head",
    "--resignation.max-false-positives 0.1": "resignation.no-is-enabled",
    "--gate.threshold 0.6": "gate.no-is-enabled",
    "--config olivaw --gate.threshold 0.6": "gate.test significant",
    "--endings.min-empties 5": "endings.num-positions 0",
    "--evaluation.opponent random": "evaluation.every 0",
    "--evaluation.until-score 0.9": "evaluation.every 0",
    "--config azo --ratings.num-games 64": "ratings.num-points 0",
    "--config azo --targets.trace-decay 0.5": "targets.value outcome",
    "--config tictactoe --game.size 6": "game.name tictactoe",
}


@pytest.mark.parametrize("flags", REFUSED)
def test_a_flag_without_effect_is_refused_with_what_takes_it_away(flags):
    with pytest.raises(ValueError, match="has no effect") as refusal:
        train.load(flags.split())
    line = str(refusal.value)
    assert f"has no effect with --{REFUSED[flags]}: it needs" in line
    assert "\n" not in line


def test_a_file_may_set_what_has_no_effect(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('base = "azo8"\n[search.puct]\nc_puct = 3.0\n')
    assert train.load(["--config", str(path)]).search.puct.c_puct == 3


def test_notes_say_where_a_typed_value_holds():
    (peak,) = train._load(["--learner.learning-rate", "1e-3"]).notes
    assert "is the peak of schedule 'trapezoid'; --learner.schedule constant keeps it" in peak
    (partly,) = train._load(["--config", "tothello", "--selfplay.num-plies", "8"]).notes
    assert "no effect in the part of the run with --endings.num-positions" in partly
    start = train._load(["--config", "champions/zero-conv", "--run.start-from", "zero-conv6"])
    assert any("does not hold for the whole run" in note for note in start.notes)
