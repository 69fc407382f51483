"""Any value of any setting of any command: accepted, or refused in one line with exit code 2."""

import contextlib
import functools
import importlib
import json

import pydantic
import pytest
from support.builders import wrong_content

from azo import __main__
from azo.cli import command_line
from azo.matches import tournament_file
from azo.opponents import engine_protocols
from azo.queues import run_queue
from azo.settings import validation
from azo.training import config


class ParsedError(BaseException):
    """The flags of a command were accepted."""


def _flags(rng):
    """Gives a command wrong flags; the command itself is not run."""
    texts = [*map(str, wrong_content.VALUES), "--", "{", "random", "network:", "rollouts:9999999"]
    parse = command_line.parse

    def parse_wrong(kind, argv, **options):
        names = [*command_line._names_of_flags(kind), *["--config"] * ("load_file" in options)]
        words = []
        for _ in range(rng.randrange(1, 4)):
            words.append(rng.choice([*names, "--help-me"]))
            words += rng.choices(texts, k=rng.randrange(3))
        parse(kind, [*argv, *words], **options)
        raise ParsedError

    command = rng.choice(__main__.COMMANDS)
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(ParsedError, SystemExit):
        patch.setattr(command_line, "parse", parse_wrong)
        importlib.import_module(f"azo.cli.{command}").main(["build", "x"] * (command == "book"))


FILES = {
    "settings": config.Config,
    "queue": run_queue.Queue,
    "tournament": tournament_file.TournamentConfig,
    "engine": engine_protocols.ExternalEngineConfig,
}
FEW = {"search.num_simulations": 4, "learner.learning_rate": 0.5}


@functools.cache
def _sound_settings():
    """Returns all settings of every kind of file; in a phase they have their full names."""
    sections = json.loads(config.to_json(config.Config()))
    names = [(name, each) for name, each in sections.items() if isinstance(each, dict)]
    every = {f"{section}.{name}": value for section, each in names for name, value in each.items()}
    return {
        "settings": sections
        | {"generation": {"num_games": 9, "schedule": [{"start": 1, "set": FEW}]}}
        | {"curriculum": [{"name": "a", "set": every}, {"name": "b", "set": FEW}]},
        "queue": {
            "base": "azo6", "max_evaluations": 9, "seeds": [0], "opponent": "random",
            "num_games": 4, "num_simulations": 2,
            "arms": [{"name": "a", "question": "b", "set": FEW}],
        },
        "tournament": {"players": [{"name": "a", "player": "random"}], "num_games": 2},
        "engine": {"name": "a", "command": ["true"], "protocol": "gtp"},
    }  # fmt: skip


def _settings(rng):
    """Validates wrong settings; accepted ones are accepted again as a run writes them."""
    what = rng.choice(["settings", *FILES])
    tree = wrong_content.wrong_tree(rng, _sound_settings()[what])
    made = validation.validate(FILES[what], tree, "file.toml")
    if what == "settings":
        try:
            config.from_json(config.to_json(made))
        except ValueError as error:
            raise AssertionError from error


@pytest.mark.parametrize(("read", "divisor"), [(_flags, 5), (_settings, 2)])
@wrong_content.few_and_many_cases
def test_wrong_settings_are_accepted_or_refused_in_one_line(read, divisor, number):
    wrong_content.check(read.__name__, read, number // divisor)


def test_every_count_has_an_upper_bound():
    """A count without one can fill the memory."""
    kinds = [*FILES.values()]
    for command in __main__.COMMANDS:
        module = importlib.import_module(f"azo.cli.{command}")
        classes = [x for x in vars(module).values() if isinstance(x, type)]
        kinds += [x for x in classes if issubclass(x, pydantic.BaseModel)]
    counts = []
    for kind in kinds:
        nodes = []  # all dictionaries of the schema
        json.loads(json.dumps(kind.model_json_schema()), object_hook=nodes.append)
        counts += [(kind.__name__, node) for node in nodes if node.get("type") == "integer"]
    assert len(counts) > 100
    bounds = {"maximum", "exclusiveMaximum", "enum"}
    assert [count for count in counts if not bounds & count[1].keys()] == []
