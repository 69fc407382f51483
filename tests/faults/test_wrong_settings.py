"""Any value of any setting of any command: accepted, or refused in one line with exit code 2."""

import contextlib
import functools
import importlib
import io
import json
import typing

import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from azo import __main__
from azo.cli import command_line
from azo.lab import engine_protocols, run_queue, tournament_file
from azo.training import config, validation

CASES = settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
TEXTS = [
    "x", "0", "-1", "1", "2", "7", "1e400", "nan", "inf", "-inf", ".", "..", "--", "{", "[]", "é",
    "٣", "true", "None", "random", "network:", "/dev/null/x", "~nobody/x", "rollouts:9999999",
    "\x1b[31mred", "", "\n", "\udcff", "9" * 30, "1" * 400, "9" * 5000, "a" * 5000,
]  # fmt: skip
VALUES = [
    None, True, 0, 1, -1, 2, 3, 2**15, 2**31, 2**63, 10**30, 10**400, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", "x\0", "\ud800", "a" * 5000,
    [], {}, [1], [[]], [{}], {"a": 1}, {"": {"": 0}},
]  # fmt: skip
FILES = {
    "settings": config.Config,
    "queue": run_queue.Queue,
    "tournament": tournament_file.TournamentConfig,
    "engine": engine_protocols.ExternalEngineConfig,
}


class ParsedError(BaseException):
    """The flags of a command were accepted."""


def refused(action):
    """Runs an action as an entry point; returns its message, None if it is accepted."""
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = command_line.run_main(lambda _: action() and None, [])
        except ParsedError:
            return None
        except SystemExit as stop:  # --help
            code = stop.code
    message = shown.getvalue()
    if not code:
        return None
    assert code == 2, message
    assert message.count("\n") == 1, message
    assert message.rstrip("\n").isprintable(), message
    assert len(message) < 1100, message
    return message


@functools.cache
def flags_of(command):
    """Returns the flags of a command, and the words before them."""
    kinds = []

    def note(kind, argv, **options):
        kinds.append((kind, options.get("load_file")))
        raise ParsedError

    before = ["build", "x"] if command == "book" else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_line, "parse", note)
        with contextlib.suppress(ParsedError):
            importlib.import_module(f"azo.cli.{command}").main(before)
    [(kind, load_file)] = kinds
    names = command_line._flag_names(kind) + (["--config"] if load_file else [])
    return before[:1], [name for name in names if name != "--tyro"]


def attempt_flags(data):
    command = data.draw(st.sampled_from(__main__.COMMANDS))
    before, names = flags_of(command)
    words = list(before)
    for _ in range(data.draw(st.integers(1, 3))):
        text = st.sampled_from(TEXTS) | st.text(max_size=8).filter(lambda x: "\0" not in x)
        words.append(data.draw(st.sampled_from([*names, "--help-me"])))
        words.extend(data.draw(st.lists(text, max_size=2)))
    parse = command_line.parse

    def stop(*arguments, **options):
        parse(*arguments, **options)
        raise ParsedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_line, "parse", stop)
        refused(lambda: importlib.import_module(f"azo.cli.{command}").main(words))


def places(kind, path=()):
    """Yields the path of every section and setting of a class of settings."""
    for name, field in kind.model_fields.items():
        yield (*path, name)
        for model in _models(field.annotation):
            yield from places(model, (*path, name))


def _models(annotation):
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models(argument)


SOUND = {
    "settings": {"curriculum": [{"name": "a", "set": {"search.num_simulations": 4}}]},
    "queue": {"base": "quickstart", "max_evaluations": 9, "seeds": [0],
              "arms": [{"name": "a", "question": "b", "set": {"search.num_simulations": 4}}]},
    "tournament": {"players": [{"name": "a", "player": "random"}]},
    "engine": {"name": "a", "command": ["true"], "protocol": "gtp"},
}  # fmt: skip


def attempt_file(data):
    what = data.draw(st.sampled_from(sorted(FILES)))
    kind, tree = FILES[what], json.loads(json.dumps(SOUND[what]))
    value = st.sampled_from(VALUES) | st.integers() | st.floats() | st.text(max_size=5)
    for _ in range(data.draw(st.integers(1, 3))):
        *sections, last = data.draw(st.sampled_from(sorted(places(kind))))
        place = tree
        for section in sections:
            inside = place.get(section)
            if isinstance(inside, list) and inside and isinstance(inside[0], dict):
                inside = inside[0]
            elif not isinstance(inside, dict):
                inside = place[section] = {}
            place = inside
        typo = data.draw(st.sampled_from(["", "", "", "s", ".", "é"]))
        place[last + typo] = data.draw(value)
    made = []
    message = refused(lambda: made.append(validation.validate(kind, tree, "file.toml")))
    if message is None and what == "settings":
        text = config.to_json(made[0])
        assert refused(lambda: config.from_json(text)) is None


def attempt_names(data):
    """Changes settings by full names, as in phases, schedules and arms."""
    names = data.draw(
        st.lists(
            st.sampled_from([".".join(path) for path in places(config.Config)])
            | st.text(alphabet="ab.\0é", max_size=6),
            min_size=1,
            max_size=3,
        )
    )
    value = st.sampled_from([one for one in VALUES if one != {"": {"": 0}}])
    changes = {name: data.draw(value) for name in names}
    phases = [{"name": "a", "set": changes}]
    entry = [{"start": 1, "set": changes}]
    refused(lambda: config.with_settings(config.Config(), changes))
    refused(lambda: validation.validate(config.Config, {"curriculum": phases}, "file.toml"))
    schedule = {"num_games": 9, "schedule": entry}
    refused(lambda: validation.validate(config.Config, {"generation": schedule}, "file.toml"))


@pytest.mark.parametrize("attempt", [attempt_flags, attempt_file, attempt_names])
@pytest.mark.parametrize("number", [10, pytest.param(400, marks=pytest.mark.faults)])
def test_wrong_settings_are_accepted_or_refused_in_one_line(attempt, number):
    settings(CASES, max_examples=number)(given(data=st.data())(lambda data: attempt(data)))()


def test_every_count_has_an_upper_bound():
    """A count without one can fill the memory."""
    kinds = {**FILES}
    for command in __main__.COMMANDS:
        module = importlib.import_module(f"azo.cli.{command}")
        classes = [x for x in vars(module).values() if isinstance(x, type)]
        kinds |= {x.__name__: x for x in classes if issubclass(x, pydantic.BaseModel)}
    unbounded = {
        f"{name} {path}"
        for name, kind in kinds.items()
        for path, node in _nodes(kind.model_json_schema())
        if node.get("type") == "integer"
        and not {"maximum", "exclusiveMaximum", "enum"} & node.keys()
    }
    assert not unbounded


def _nodes(schema, path=""):
    """Yields all dictionaries of a JSON schema with their places."""
    if isinstance(schema, dict):
        yield path, schema
    inside = schema.items() if isinstance(schema, dict) else enumerate(schema)
    for name, value in inside:
        if isinstance(value, dict | list):
            yield from _nodes(value, f"{path}/{name}")
