"""Flags of all commands: one without an effect is refused, or a line says where it holds."""

import pytest

from azo.cli import analyse, book, command_line, evaluate, json, play, supervise, web
from azo.engine import engine_factory
from azo.training import supervised_data

_KINDS = {
    "gtp": engine_factory.PlayConfig,
    "play": play.TerminalConfig,
    "web": web.WebConfig,
    "json": json.JsonConfig,
    "analyse": analyse.AnalyseConfig,
    "build": book.BuildConfig,
    "evaluate": evaluate.EvaluateConfig,
    "supervise": supervised_data.SuperviseConfig,
}
REFUSED = {
    "gtp --network zero-fast6 --size 8": "--network zero-fast6, which plays othello6",
    "gtp --network zero-fast --reversed": "which plays othello8",
    "gtp --engine.solve-empties 0 --engine.solve-seconds 3": "--engine.solve-empties 0",
    "play --engine.ponder": "azo ponders over GTP and NBoard",
    "web --engine.ponder": "azo ponders over GTP and NBoard",
    "web --export folder --port 1": "--export folder",
    "web --export folder --engine.num-simulations 3": "--export folder",
    "json --engine.temperature 1": "analyses draw no moves",
    "json --engine.ponder": "azo ponders over GTP and NBoard",
    "analyse f5 --engine.score-share 0.5": "analyses maximise the final score",
    "build x.book --engine.temperature 1": "analyses draw no moves",
    "evaluate random greedy --limit 10": "exact",
    "evaluate random greedy --solve-empties 10": "exact",
    "evaluate random greedy --openings x.txt --opening-plies 4": "--openings x.txt",
    "evaluate zero-fast --exact random:4 --num-games 4": "--exact random:4",
    "evaluate zero-fast greedy --engine.c-puct 1": "it needs engine:NETWORK",
    "evaluate engine:zero-fast greedy --against.c-puct 1": "it needs engine:NETWORK",
    "evaluate engine:zero-fast:9 greedy --engine.num-simulations 5": "has its own number",
    "evaluate engine:zero-fast --exact random:4 --simulations 3 --engine.num-simulations 5": (
        "--simulations"
    ),
    "supervise x.wtb --num-games 5": "--source files",
    "supervise x.wtb --search.num-simulations 5": "--source files",
    "supervise --source random --learner.policy-weight 1": "--source random",
    "supervise runs/a --source runs --game.size 8": "--source runs",
    "supervise --source search --player zero-fast --search.prior-temperature 2": "one prior",
}


def _parse(words):
    command, *flags = words.split()
    return command_line.parse(_KINDS[command], flags, prog=command)


@pytest.mark.parametrize("words", REFUSED)
def test_a_flag_without_effect_is_refused_with_what_takes_it_away(words):
    with pytest.raises(ValueError, match="has no effect") as refusal:
        _parse(words)
    assert REFUSED[words] in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "words",
    [
        "gtp --network zero-fast6 --size 6",
        "gtp --size 6 --engine.ponder",
        "web --export folder",
        "evaluate engine:zero-fast greedy --engine.num-simulations 5",
        "evaluate zero-fast --exact random:4 --limit 10",
        "supervise --source random --num-games 5",
    ],
)
def test_a_flag_with_an_effect_is_accepted_without_a_word(words, capsys):
    _parse(words)
    assert capsys.readouterr().err == ""


def test_typed_seconds_replace_the_usual_number_of_simulations():
    assert _parse("gtp --engine.seconds 3").engine.num_simulations is None
    both = _parse("gtp --engine.seconds 3 --engine.num-simulations 9").engine
    assert (both.seconds, both.num_simulations) == (3, 9)
    assert _parse("analyse f5 --engine.seconds 3").engine.num_simulations is None
    assert engine_factory.load_engine("zero-fast6", seconds=3).config.num_simulations is None


def test_a_line_says_where_a_setting_below_full_level_holds(capsys):
    _parse("gtp --level 5 --engine.num-simulations 1000")
    line = "--engine.num-simulations 1000 applies to analyses; level 5 plays with 32\n"
    assert capsys.readouterr().err == line
    _parse("gtp --level 5 --engine.num-simulations 10")
    _parse("web --level 5 --engine.num-simulations 1000")  # the level of the page can be changed
    assert capsys.readouterr().err == ""


def test_the_library_refuses_a_board_that_is_not_the_networks():
    with pytest.raises(ValueError, match="which plays othello6: leave one of them out"):
        engine_factory.load_engine("zero-fast6", size=4)


def test_typed_settings_of_supervised_training_win_over_those_of_the_first_run(monkeypatch):
    run = supervised_data.first_network.load_run(
        supervised_data.pathlib.Path("azo/networks/shipped/zero-conv")
    )
    monkeypatch.setattr(supervised_data.first_network, "load_run", lambda folder: run)
    default = supervised_data.SuperviseConfig()
    flags = ["runs/a", "--source", "runs"]
    assert supervise.load(flags).network == run.network != default.network
    # Typed values that equal the defaults count too.
    typed = ["--network.num-blocks", "3", "--learner.batch-size", "512"]
    settings = supervise.load([*flags, *typed])
    assert settings.network == run.network.model_copy(update={"num_blocks": 3})
    assert settings.learner.batch_size == 512
    assert settings.learner.learning_rate == run.learner.learning_rate
