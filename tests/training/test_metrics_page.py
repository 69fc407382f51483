"""docs/metrics.md describes the fields that runs write, and no others."""

import pathlib
import re

import pytest
from support.builders import tiny_run
from support.drivers import commands

from azo.training import metrics

_PAGE = pathlib.Path(__file__).parents[2] / "docs" / "metrics.md"
_SOURCE = pathlib.Path(metrics.__file__).parents[1]
# Written only by supervised training, and by ratings, which need Othello.
_ELSEWHERE = re.compile(r"(supervised|held_out|rating)/|time/(rating|evaluation)_seconds")


def _documented():
    rows = re.findall(r"^\| `(\S+)` \| (.+) \| (.+) \|$", _PAGE.read_text(), re.MULTILINE)
    assert all(means.strip() and seen.strip() for _, means, seen in rows)
    names = [name for name, *_ in rows]
    assert len(names) == len(set(names))
    return set(names)


@pytest.mark.thorough
def test_the_page_has_each_field_that_a_run_writes_and_no_others(tmp_path):
    assert commands.run(*tiny_run.train(tmp_path, **tiny_run.EVERYTHING)) == 0
    matched = {"evaluation": {"every": 2, "num_games": 2, "num_simulations": 2}}
    assert commands.run(*tiny_run.train(tmp_path, name="matched", **matched)) == 0
    events = [*metrics.read(tmp_path / "run"), *metrics.read(tmp_path / "matched")]
    written = {name for event in events for name in event}
    documented = _documented()
    assert written - documented == set()
    others = documented - written
    assert {name for name in others if not _ELSEWHERE.match(name)} == set()
    texts = "".join(path.read_text() for path in _SOURCE.rglob("*.py"))
    for name in others:  # a name of the code, such as f"held_out/{name}"
        folder, _, word = name.partition("/")
        assert f'"{name}"' in texts or (f'f"{folder}/{{' in texts and f'"{word}"' in texts), name
