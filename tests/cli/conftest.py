"""Untrained networks that the tests of several commands use."""

import pytest
from support import tiny_run
from support.untrained_network import export

from azo.games import othello


@pytest.fixture(scope="session")
def net(tmp_path_factory):
    return export(tmp_path_factory.mktemp("networks") / "net", tiny_run.game())


@pytest.fixture(scope="session")
def othello_net(tmp_path_factory):
    folder = tmp_path_factory.mktemp("networks") / "othello"
    sections = {"game": {"name": "othello", "size": 4}, "replay": {"capacity": 4096}}
    return export(folder, othello.Othello(4), **sections)
