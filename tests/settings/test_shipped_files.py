"""Shipped settings files and networks by their names."""

import pathlib

import pytest

from azo.matches import tournament_file
from azo.networks import network_files
from azo.queues import run_queue
from azo.settings import shipped_files
from azo.storage import files


def test_networks_are_found_by_their_names(tmp_path, monkeypatch):
    assert "zero-conv" in shipped_files.networks()
    for name in shipped_files.networks():
        assert files.verify_checksums(shipped_files.NETWORKS / name)
    path = pathlib.Path("zero-conv")
    assert shipped_files.find_network(path) == shipped_files.NETWORKS / "zero-conv"
    for player in ("zero-conv", "network:zero-conv:100", "policy:zero-conv"):
        assert network_files.game_of(player).size == 8
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zero-conv").mkdir()  # a folder of this name comes first
    assert shipped_files.find_network(path) == path


def test_queues_and_tournaments_are_found_by_their_names(tmp_path):
    queue, _ = run_queue.load(pathlib.Path("ablation"), tmp_path)
    assert queue.arms
    players = tournament_file.load(pathlib.Path("strength.toml")).players
    networks = [player.network for player in players if player.network is not None]
    assert shipped_files.NETWORKS / "zero-conv" in networks
    with pytest.raises(ValueError, match=r"no such tournament file. Did you mean 'strength'"):
        tournament_file.load(pathlib.Path("strenght"))
