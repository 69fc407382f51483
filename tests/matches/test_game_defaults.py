"""What is not typed follows the game that is."""

import dataclasses
import sys

import pytest

from azo.cli import train
from azo.games import registry, tictactoe
from azo.training import config


@dataclasses.dataclass(frozen=True)
class Small(tictactoe.TicTacToe):
    """A game of a user, with a name that is no name of a folder."""

    name: str = "my game/1"


@dataclasses.dataclass(frozen=True)
class Long(tictactoe.TicTacToe):
    """A game that may be long."""

    max_plies: int = 900


@pytest.fixture(autouse=True)
def _module(monkeypatch):
    """This module as that of a user."""
    monkeypatch.setitem(sys.modules, "mine", sys.modules[__name__])


def test_a_game_of_ones_own_has_a_small_tower_and_its_own_folder():
    typed = train._load(["--game.name", "mine:Small", "--minutes", "2"])
    settings = typed.settings
    assert str(settings.run.folder) == "runs/my-game-1"
    assert (settings.network.kind, settings.minutes) == ("residual", 2)
    assert (settings.endings.adjudicate_empties, settings.ratings.num_points) == (0, 0)
    assert settings.evaluation.every > 0  # so that learning shows
    assert typed.notes[0].startswith("game my game/1: settings of games/any, a tower of 2 blocks")
    assert typed.notes[0].endswith("folder runs/my-game-1")


@pytest.mark.parametrize("recipe", ["azo8", "azo6", "tower8", "olivaw", "tictactoe", "games/any"])
@pytest.mark.parametrize("game", ["mine:Small", "mine:Long", "tictactoe"])
def test_every_recipe_fits_a_typed_game(recipe, game):
    typed = train._load(["--config", recipe, "--game.name", game])
    assert registry.make(typed.settings.game).board_shape == (3, 3)
    assert typed.settings.run.folder == config.load_file(config.pathlib.Path(recipe)).run.folder
    unchanged = game == "tictactoe" and recipe in ("tictactoe", "games/any")
    assert typed.notes == [] if unchanged else typed.notes[0].startswith("game ")


@pytest.mark.parametrize(
    ("flags", "folder"),
    [
        ("--game.size 6", "runs/othello6"),
        ("--game.size 4", "runs/othello4"),
        ("--game.is-reversed", "runs/othello8-reversed"),
        ("--game.size 8", "runs/azo8"),
        ("--game.name tictactoe", "runs/tictactoe"),
        ("--game.size 6 --run.folder elsewhere", "elsewhere"),
    ],
)
def test_boards_have_their_own_folders_and_no_ladder_that_is_not_theirs(flags, folder):
    settings = train.load(flags.split())
    assert str(settings.run.folder) == folder
    has_ladder = settings.game.name == "othello" and not settings.game.is_reversed
    assert (settings.ratings.num_points > 0) == (has_ladder and settings.game.size > 4)


def test_what_is_typed_stays_and_is_refused_if_it_does_not_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tower = ["--network.num-blocks", "1", "--network.kind", "residual"]
    settings = train.load(["--game.name", "mine:Small", *tower, "--selfplay.num-games", "32"])
    assert (settings.network.num_blocks, settings.selfplay.num_games) == (1, 32)
    with pytest.raises(ValueError, match="needs at least 4 rows, not 3: set 'small'"):
        train.main(["--game.name", "mine:Small", "--network.kind", "patterns"])
    with pytest.raises(ValueError, match="has no solver"):
        train.load(["--game.name", "mine:Small", "--endings.adjudicate-empties", "4"])


@pytest.mark.parametrize(
    "changes",
    [{"ratings.num_points": 2}, {"evaluation.opponent": "nobody"}, {"network.kind": "patterns"}],
)
def test_a_refused_start_leaves_no_folder_behind(changes, tmp_path):
    folder = tmp_path / "runs" / "first"
    with pytest.raises(ValueError):
        train.run_training("tictactoe", {"run.num_iterations": 1, **changes}, folder=folder)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_start_keeps_what_was_there(tmp_path):
    (tmp_path / "runs" / "first").mkdir(parents=True)
    with pytest.raises(ValueError, match="nobody"):
        train.run_training(
            "tictactoe", {"evaluation.opponent": "nobody"}, folder=tmp_path / "runs" / "first"
        )
    assert (tmp_path / "runs" / "first").is_dir()
