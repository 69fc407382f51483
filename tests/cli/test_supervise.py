"""Supervised learning by way of the entry point, on archives of Othello."""

import pathlib
import re

import numpy as np
import pytest

from azo.cli import command_line, supervise
from azo.games import othello
from azo.learning import network, supervised
from azo.run import interruption, metrics, network_files, supervised_data, supervised_training

GAMES = pathlib.Path(__file__).parents[1] / "data"


def olivaw(number):
    lines = (GAMES / f"olivaw_game{number:02}.txt").read_text().splitlines()
    return next(line.removeprefix("moves: ") for line in lines if line.startswith("moves: "))


def run(*flags):
    return command_line.run_main(supervise.main, [str(flag) for flag in flags])


NETWORK = (
    "--learner.batch-size", 16, "--learner.num-steps", 4, "--learner.warmup-steps", 0,
    "--learner.learning-rate", 0.01, "--network.num-blocks", 0, "--network.num-channels", 8,
    "--network.value-units", 8,
)  # fmt: skip


@pytest.fixture
def games(tmp_path, monkeypatch):
    """Returns a file of four games, of which two are held out."""
    halves = np.array([False, True, False, True])
    monkeypatch.setattr(supervised, "is_held_out", lambda game, action, share: halves)
    path = tmp_path / "games.txt"
    path.write_text("\n".join(olivaw(number) for number in (1, 8, 11, 12)))
    return path


def test_the_best_network_is_kept_with_the_figures_of_every_evaluation(games, tmp_path, capsys):
    folder = tmp_path / "run"
    assert run(games, "--folder", folder, *NETWORK, "--num-epochs", 3) == 0
    events = metrics.read(folder)
    assert [event["event"] for event in events] == ["evaluation"] * 3 + ["result"]
    figures = [event["held_out/accuracy"] for event in events[:-1]]
    assert events[-1]["held_out/accuracy"] == pytest.approx(max(figures))
    losses = [event["supervised/policy_loss"] for event in events[:-1]]
    assert min(losses[1:]) < losses[0]
    _, settings = network_files.load(folder / "best")
    assert settings.network.num_channels == 8
    assert settings.game.size == 8
    printed = capsys.readouterr().out
    assert re.search(r"^\d+ games, [\d,]+ plies; learned: \d+ plies, \d+ positions;", printed)
    assert f"best network: accuracy {max(figures):.4f}, " in printed


def test_stopping_early_keeps_the_network_so_far(games, tmp_path):
    flags = (games, "--folder", tmp_path / "run", *NETWORK)
    settings = supervise.load([str(flag) for flag in flags])
    stop = interruption.StopRequest()
    stop.is_made = True
    game = othello.Othello()
    result = supervised_training.train(
        settings, game, *supervised_data.prepare(settings, game), stop
    )
    events = metrics.read(tmp_path / "run", "evaluation")
    assert [event["iteration"] for event in events] == [4]
    assert 0 < events[0]["supervised/epoch"] < 1
    assert result.accuracy == events[0]["held_out/accuracy"]
    assert network_files.load_settings(tmp_path / "run" / "best").game.name == "othello"


def test_archives_are_read_by_kind(tmp_path, monkeypatch):
    (tmp_path / "games.txt").write_text("\n".join([olivaw(1), olivaw(8), olivaw(11)]))
    settings = supervise.load([str(tmp_path / "games.txt")])
    monkeypatch.setattr(
        supervised, "is_held_out", lambda game, action, share: np.array([False, False, True])
    )
    data, held_out = supervised_data.prepare(settings, othello.Othello())
    # 60 discs and a pass in the last game; passes are not measured.
    assert len(held_out) == 60
    assert (held_out.action < 64).all()
    assert 80 < data.num_rows < 122


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "FILES is missing: name archives of games, such as games.wtb"),
        (["nowhere.wtb"], "nowhere.wtb: cannot be read: No such file or directory"),
        (["{}"], "{}: no .wtb file in this folder"),
        (["{}/a.pgn"], "{}/a.pgn: unknown kind of file: use .wtb, .csv or .txt, also .gz"),
        (["{}/a.csv.gz"], "{}/a.csv.gz: cannot be read: Not a gzipped file (b'no')"),
        (
            ["{}/a.txt"],
            "{}/a.txt: record 2: illegal move 'a1' at ply 2 (f5): white may play f4, d6 or f6",
        ),
        (["--folder", "{}"], "{}: exists already: choose a new --folder"),
        (["--config", "{}/none.toml"], "{}/none.toml: no such settings file"),
        (
            ["--config", "{}/a.toml"],
            "{}/a.toml [network]: num_blocks is -1, but should be greater than or equal to 0",
        ),
    ],
)  # fmt: skip
def test_wrong_input_is_named_in_one_line(flags, message, tmp_path, capsys):
    (tmp_path / "a.pgn").write_text("1. e4")
    (tmp_path / "a.csv.gz").write_text("no gzip")
    (tmp_path / "a.txt").write_text("f5d6\nf5a1\n")
    (tmp_path / "a.toml").write_text("[network]\nnum_blocks = -1\n")
    new = [] if "--folder" in flags else ["--folder", tmp_path / "run"]
    assert run(*(flag.replace("{}", str(tmp_path)) for flag in flags), *new) == 2
    assert capsys.readouterr().err.strip() == message.replace("{}", str(tmp_path))


def test_flags_override_a_settings_file(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("num_epochs = 3.5\nseed = 3\n[learner]\nbatch_size = 32\n")
    settings = supervise.load(["games.txt", "--config", str(path), "--num-epochs", "2"])
    assert (settings.num_epochs, settings.seed) == (2.0, 3)
    assert settings.files == (pathlib.Path("games.txt"),)
    assert settings.learner.batch_size == 32
    # Other settings of a section keep their defaults for supervised learning.
    assert settings.network == network.NetworkConfig()
