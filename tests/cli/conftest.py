"""Untrained networks that the tests of several commands use."""

import pytest
from support.builders import tiny_run


@pytest.fixture(scope="session")
def net(tmp_path_factory):
    return tiny_run.export(tmp_path_factory.mktemp("networks") / "net")


@pytest.fixture(scope="session")
def othello_net(tmp_path_factory):
    sections = {"game": {"name": "othello", "size": 4}, "replay": {"capacity": 4096}}
    return tiny_run.export(tmp_path_factory.mktemp("networks") / "othello", **sections)
