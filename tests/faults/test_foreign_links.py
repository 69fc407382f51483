"""A folder from somebody else, with links, FIFOs and folders in place of the files of azo.

No file outside of the folder may change, and no command may wait: it goes on, or is refused in one
line that names the file.
"""

import os
import shutil
import stat

import jax.numpy as jnp
import pytest
from support.builders import small_tournament, tiny_run
from support.drivers import commands, refusals
from support.faults import traps

from azo.coach import deck
from azo.engine import opening_book
from azo.formats import game_files, obf
from azo.games import othello, variant
from azo.learning import trajectories
from azo.matches import run_matches, tournament_file, tournament_runner
from azo.networks import exported_network, network_files
from azo.storage import files, journal
from azo.training import config, shown_games, supervised_data, supervised_training


@pytest.fixture
def victims(tmp_path):
    return traps.Victims(tmp_path / "mine")


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A folder with a run that has ended, and with a tournament that has begun."""
    folder = tmp_path_factory.mktemp("begun")
    assert commands.run(*tiny_run.train(folder), "--run.num-iterations", 2) == 0
    small_tournament.write(folder, small_tournament.SMALL)
    assert small_tournament.main(folder / "cup.toml", "--folder", folder / "games") == 0
    opening_book.Book(variant.Variant(8, False)).save(folder / "a.book")
    return folder


def set_trap(place, kind, victims):
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    kind(place, victims)


def attack(place, kind, victims, capsys, command, is_safe=()):
    """Runs a command with a trap in its folder, which it refuses unless its kind is safe."""
    set_trap(place, kind, victims)
    capsys.readouterr()
    code = commands.run(*command)
    message = capsys.readouterr().err
    victims.assert_untouched()
    assert "Traceback" not in message
    if kind in is_safe and code == 0:
        return
    assert code == 2
    assert message.count("\n") == 1, message
    assert str(place.parent) in message
    assert place.name in message
    assert os.path.lexists(place)


# Of these a new one takes the place, so that other names of the old one stay as they are.
REPLACED = (traps.hard_link,)
RUN_FILES = {
    "metrics.jsonl": (),
    "settings.json": REPLACED,
    "checkpoints": (traps.folder,),
    "checkpoints/1": (traps.folder, traps.fifo, traps.hard_link),  # no checkpoints
    "tensorboard": (traps.folder,),
    ".lock": (),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", traps.KINDS)
@pytest.mark.parametrize("name", RUN_FILES)
def test_a_resumed_run_follows_no_link_and_waits_for_no_fifo(
    begun, tmp_path, victims, capsys, name, kind
):
    run = shutil.copytree(begun / "run", tmp_path / "run")
    command = [*tiny_run.train(tmp_path), "--run.num-iterations", 3]
    attack(run / name, kind, victims, capsys, command, RUN_FILES[name])


@pytest.mark.parametrize("kind", traps.LINKS)
@pytest.mark.parametrize("name", ["metrics.jsonl", "checkpoints", "tensorboard"])
def test_a_new_run_refuses_a_folder_that_has_only_a_link(tmp_path, victims, capsys, name, kind):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoints").mkdir()
    attack(tmp_path / "run" / name, kind, victims, capsys, tiny_run.train(tmp_path))


@pytest.mark.parametrize("kind", traps.KINDS)
def test_damaged_lines_of_metrics_are_moved_through_no_link(begun, tmp_path, victims, capsys, kind):
    run = shutil.copytree(begun / "run", tmp_path / "run")
    path = run / "metrics.jsonl"
    path.write_bytes(b"garbage\n" + path.read_bytes())
    command = [*tiny_run.train(tmp_path), "--run.num-iterations", 3]
    set_trap(run / "metrics.jsonl.damaged", kind, victims)
    code = commands.run(*command)
    victims.assert_untouched()
    assert code == (0 if kind is traps.hard_link else 2)


@pytest.mark.parametrize("kind", traps.KINDS)
@pytest.mark.parametrize("name", ["games.jsonl", "players.jsonl", "games.txt", "engines.log"])
def test_a_resumed_tournament_follows_no_link_and_waits_for_no_fifo(
    begun, tmp_path, victims, capsys, name, kind
):
    shutil.copytree(begun / "games", tmp_path / "games")
    command = ["tournament", begun / "cup.toml", "--folder", tmp_path / "games"]
    safe = REPLACED if name == "games.txt" else ()
    attack(tmp_path / "games" / name, kind, victims, capsys, command, safe)


@pytest.mark.parametrize("kind", [*traps.LINKS, traps.hard_link])
def test_the_log_of_engines_is_written_through_no_link(tmp_path, victims, kind):
    kind(tmp_path / "engines.log", victims)
    log = tournament_runner._Log(tmp_path / "engines.log", delay=True, encoding="utf-8")
    with pytest.raises(ValueError, match=r"engines\.log: cannot write here \("):
        log._open()
    victims.assert_untouched()


@pytest.mark.parametrize("kind", traps.KINDS)
@pytest.mark.parametrize("name", ["report", "report/index.html"])
def test_a_report_replaces_hard_links_and_refuses_other_traps(
    begun, tmp_path, victims, capsys, name, kind
):
    run = shutil.copytree(begun / "run", tmp_path / "run")
    (run / "report").mkdir()
    safe = (traps.folder,) if name == "report" else REPLACED
    attack(run / name, kind, victims, capsys, ["report", run], safe)


@pytest.mark.parametrize("kind", traps.KINDS)
@pytest.mark.parametrize("name", ["index.html", "icon.svg", "worker.js"])
def test_an_exported_page_replaces_hard_links_and_refuses_other_traps(
    tmp_path, victims, capsys, name, kind
):
    (tmp_path / "page").mkdir()
    command = ["web", "--export", tmp_path / "page"]
    attack(tmp_path / "page" / name, kind, victims, capsys, command, REPLACED)


@pytest.mark.parametrize("kind", traps.KINDS)
def test_shown_games_are_read_and_written_through_no_link(tmp_path, victims, kind):
    kind(tmp_path / shown_games.FILE, victims)
    assert shown_games.read(tmp_path).boards == ()
    game = othello.Othello(4)
    games = trajectories.GamesInProgress(game.start(2), jnp.zeros(2, jnp.int32), {})
    shown_games.write(tmp_path, game, games, 1)
    victims.assert_untouched()
    assert bool(shown_games.read(tmp_path).boards) == (kind is traps.hard_link)


@pytest.mark.parametrize("kind", traps.LINKS)
def test_matches_of_a_run_refuse_a_link_in_place_of_kept_generations(tmp_path, victims, kind):
    kind(tmp_path / run_matches.GENERATIONS, victims)
    settings = tiny_run.settings(run={"folder": str(tmp_path)})
    message = refusals.message_of(run_matches.RunMatches, settings, tiny_run.game())
    assert "is a symbolic link" in message
    victims.assert_untouched()


@pytest.mark.parametrize("kind", [kind for kind in traps.KINDS if kind is not traps.folder])
def test_a_generation_is_saved_through_no_link(begun, tmp_path, victims, kind):
    kind(tmp_path / run_matches.GENERATIONS, victims)
    variables, _ = network_files.load(begun / "run")
    settings = tiny_run.settings(run={"folder": str(tmp_path)})
    place = tmp_path / run_matches.GENERATIONS / "5"
    message = refusals.message_of(network_files.save, place, variables, settings, inside=tmp_path)
    assert str(place) in message
    victims.assert_untouched()


@pytest.mark.parametrize("kind", traps.LINKS)
def test_a_generation_is_removed_through_no_link(tmp_path, victims, kind):
    kind(tmp_path / run_matches.GENERATIONS, victims)
    place = tmp_path / run_matches.GENERATIONS / "5"
    assert str(place) in refusals.message_of(files.remove_folder, place, tmp_path)
    victims.assert_untouched()


@pytest.mark.parametrize("name", [".new", ".old", "best"])
@pytest.mark.parametrize("kind", traps.LINKS)
def test_supervised_training_saves_its_best_network_through_no_link(
    begun, tmp_path, victims, name, kind
):
    kind(tmp_path / name, victims)
    variables, _ = network_files.load(begun / "run")
    settings = supervised_data.SuperviseConfig(
        game={"name": "tictactoe"},
        source="random",
        folder=tmp_path,
        network=tiny_run.SECTIONS["network"],
    )
    message = refusals.message_of(supervised_training._save, settings, variables)
    assert f"{name} is a symbolic link" in message
    victims.assert_untouched()


@pytest.mark.parametrize("kind", [*traps.KINDS, None])
def test_an_export_leaves_leftovers_of_a_process_of_the_same_number(
    begun, tmp_path, victims, capsys, kind
):
    leftover = tmp_path / f".net.{os.getpid()}.tmp"
    if kind is not None:
        kind(leftover, victims)
    assert commands.run("export", begun / "run", tmp_path / "net") == 0
    assert capsys.readouterr().err == ""
    victims.assert_untouched()
    assert exported_network.is_in(tmp_path / "net")
    assert os.path.lexists(leftover) == (kind is not None)


def test_an_export_follows_a_link_that_the_user_named(begun, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "net").symlink_to("there")
    assert commands.run("export", begun / "run", tmp_path / "net") == 0
    assert (tmp_path / "net").is_symlink()
    assert exported_network.is_in(tmp_path / "there")


def write_deck(path):
    deck.Deck(path).add([])


def write_book(path):
    opening_book.Book(variant.Variant(8, False)).save(path)


@pytest.mark.parametrize("write", [write_deck, write_book])
def test_a_deck_and_a_book_keep_their_link_and_their_permissions(tmp_path, write):
    place = tmp_path / "there" / "file"
    write(place)
    place.chmod(0o640)
    (tmp_path / "name").symlink_to(place)
    write(tmp_path / "name")
    assert (tmp_path / "name").is_symlink()
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert [name for name in os.listdir(place.parent) if name != ".file.lock"] == ["file"]
    assert sorted(os.listdir(tmp_path)) == ["name", "there"]


READERS = {
    "deck": deck.read,
    "book": lambda path: opening_book.load(path, variant.Variant(8, False)),
    "problems": obf.read,
    "settings": config.load_file,
    "games": lambda path: game_files.read_archives([path]),
    "lines": lambda path: journal.read(path, bytes.decode),
    "tournament": tournament_file.load,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("suffix", ["", ".gz", ".wtb", ".toml"])
def test_a_fifo_is_not_waited_for(tmp_path, name, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    message = refusals.message_of(READERS[name], tmp_path / f"pipe{suffix}")
    assert message == f"{tmp_path}/pipe{suffix}: cannot be read: it is a FIFO, not a file"


@pytest.mark.parametrize(
    "name",
    [
        *("network.npz", "settings.json", "checkpoint.json", files.CHECKSUMS),
        *("state/manifest.ocdbt", "state/d", "state"),
    ],
)
def test_a_fifo_in_a_checkpoint_is_not_waited_for(begun, tmp_path, capsys, name):
    place = shutil.copytree(begun / "run", tmp_path / "run") / "checkpoints" / "2"
    if (place / name).is_dir():
        shutil.rmtree(place / name)
    else:
        (place / name).unlink()
    os.mkfifo(place / name)
    commands_to_try = [[*tiny_run.train(tmp_path), "--run.num-iterations", 3]]
    if not name.startswith("state"):
        commands_to_try.append(["export", place, tmp_path / "net"])
    for command in commands_to_try:
        message = commands.refused(capsys, *command)
        assert str(place) in message
        assert "not a file" in message or "is missing" in message or "not a rec" in message


@pytest.mark.parametrize("name", ["network.npz", "settings.json", files.CHECKSUMS])
def test_a_fifo_in_an_exported_network_is_not_waited_for(begun, tmp_path, capsys, name):
    assert commands.run("export", begun / "run", tmp_path / "net") == 0
    (tmp_path / "net" / name).unlink()
    os.mkfifo(tmp_path / "net" / name)
    message = commands.refused(capsys, "export", tmp_path / "net", tmp_path / "other")
    assert str(tmp_path / "net") in message
