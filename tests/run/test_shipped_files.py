"""Shipped settings files and networks by their names."""

import pathlib

import pytest

from azo.run import network_files, run_queue, shipped_files, tournament_file


def test_networks_are_found_by_their_names(tmp_path, monkeypatch):
    assert "othello8" in shipped_files.networks()
    path = pathlib.Path("othello8")
    assert shipped_files.find_network(path) == shipped_files.NETWORKS / "othello8"
    for player in ("othello8", "network:othello8:100", "policy:othello8"):
        assert network_files.game_of(player).size == 8
    monkeypatch.chdir(tmp_path)
    (tmp_path / "othello8").mkdir()  # a folder of this name comes first
    assert shipped_files.find_network(path) == path


def test_queues_and_tournaments_are_found_by_their_names(tmp_path):
    queue, _ = run_queue.load(pathlib.Path("ablation"), tmp_path)
    assert queue.arms
    players = tournament_file.load(pathlib.Path("strength.toml")).players
    networks = [player.network for player in players if player.network is not None]
    assert shipped_files.NETWORKS / "othello8" in networks


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (tournament_file.load, "strenght: no such tournament file. Did you mean 'strength'?"),
        (
            lambda path: run_queue.load(path, path),
            "strenght: no such queue file. There are: ablation, efficiency,"
            " efficiency8, patterns, recipes, small-board, systems8, towers",
        ),
    ],
)
def test_a_wrong_name_is_answered_with_shipped_ones(load, message):
    with pytest.raises(ValueError) as error:
        load(pathlib.Path("strenght"))
    assert str(error.value) == message
