"""What a file of someone else names is not imported, whichever command opens it."""

import functools
import itertools
import json
import pathlib
import subprocess
import sys

import jax
import pytest
from support.builders import fake_run, tiny_run
from support.drivers import commands

import azo
from azo.networks import initial_variables, network_files
from azo.storage import files
from azo.training import checkpoint

_numbers = itertools.count()
FIELDS = ("game.name", "network.kind")
OTHELLO = {"game": {"name": "othello", "size": 4}, "replay": {"capacity": 256}}
MODULE = """import pathlib
import azo
from azo.networks import residual

pathlib.Path({marker!r}).touch()


class G(azo.TicTacToe):
    pass


class N(residual.ResidualNetwork):
    pass
"""
COMMANDS = {
    "play": "play --network X",
    "web": "web --port 0 --network X",
    "analyse": "analyse f5 --network X",
    "export": "export X new",
    "export --portable": "export X new --portable",
    "book build": "book build new.book --network X",
    "book drill": "book drill new.book new.json --network X",
    "evaluate": "evaluate X random",
    "evaluate, second": "evaluate random X",
    "evaluate network:": "evaluate network:X:4 random",
    "evaluate policy:": "evaluate policy:X random",
    "evaluate engine:": "evaluate engine:X:4 random",
    "evaluate --exact": "evaluate X --exact random:4",
    "tournament": "tournament players.toml --folder new",
    "train --run.start-from": "train --run.folder new --run.start-from X",
    "train --selfplay.teacher": "train --run.folder new --selfplay.teacher X",
    "train --evaluation.opponent": (
        "train --run.folder new --evaluation.every 1 --evaluation.opponent X"
    ),
    "supervise --source runs": "supervise X --source runs --folder new",
    "supervise --start": "supervise --source random --folder new --num-games 64 --start X",
    "supervise --player": "supervise --source search --folder new --player X",
}
PLAYERS = """[[players]]
name = "random"
player = "random"

[[players]]
name = "theirs"
network = "X"
"""
PLAYERS_OF_GAME = """[game]
name = "PATH"

[[players]]
name = "random"
player = "random"

[[players]]
name = "greedy"
player = "greedy"
"""


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module that leaves a file when it runs, in the current folder: its name and the file."""
    folder = tmp_path / "current"
    folder.mkdir()
    name, marker = f"evil_{next(_numbers)}", tmp_path / "it_ran"
    (folder / f"{name}.py").write_text(MODULE.format(marker=str(marker)))
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    return name, marker


def path_in(field, module):
    return f"{module}:{'G' if field == 'game.name' else 'N'}"


def change(folder, field, path, *, has_checksums=True):
    """Writes an import path into the settings of a network, with sound checksums."""
    file = folder / "settings.json"
    settings = json.loads(file.read_text())
    section, name = field.split(".")
    settings[section][name] = path
    if section == "game":
        settings["game"]["size"] = 6
    file.write_text(json.dumps(settings))
    (folder / files.CHECKSUMS).unlink()
    if has_checksums:
        files.write_checksums(folder)


@functools.cache
def tiny_network():
    settings = tiny_run.settings(**OTHELLO)
    game = azo.Othello(4)
    return initial_variables.init(game, settings.network, jax.random.key(0)), settings


def export(folder, field, path, **how):
    network_files.save(folder, *tiny_network())
    change(folder, field, path, **how)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A sound run with one checkpoint."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        checkpoints.save(1, tiny_run.begin(1), tiny_run.settings(), 0.5)
    return folder


def assert_refused(capsys, path, marker, *words):
    message = commands.refused(capsys, *words)
    assert repr(path) in message
    assert f"--allow-import {path}" in message
    assert not marker.exists(), "the module has run"
    assert path.partition(":")[0] not in sys.modules
    return message


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_network_names_no_code_that_runs(command, field, evil, capsys):
    module, marker = evil
    path = path_in(field, module)
    export(pathlib.Path("X"), field, path)
    pathlib.Path("players.toml").write_text(PLAYERS)
    message = assert_refused(capsys, path, marker, *COMMANDS[command].split())
    assert "X" in message
    assert not pathlib.Path("new").exists() or command.startswith(("train", "supervise", "tourn"))


@pytest.mark.parametrize("field", FIELDS)
def test_a_run_and_its_checkpoint_name_none_either(field, evil, run, capsys, tmp_path):
    module, marker = evil
    path, theirs = path_in(field, module), tmp_path / "theirs"
    subprocess.run(["cp", "-r", run, theirs], check=True)
    change(theirs / "checkpoints" / "1", field, path)
    for folder in (theirs, theirs / "checkpoints" / "1"):
        assert_refused(capsys, path, marker, "export", folder, "new")
        assert_refused(capsys, path, marker, "play", "--network", folder)
    assert_refused(capsys, path, marker, *tiny_run.train(tmp_path, name="theirs"))
    kept = theirs / "checkpoints" / "1" / "settings.json"
    assert_refused(capsys, path, marker, "train", "--config", kept)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("own.toml", "[SECTION]\nNAME = 'PATH'\n", ["train", "--config", "own.toml"]),
        ("own.toml", "[SECTION]\nNAME = 'PATH'\n", ["supervise", "--config", "own.toml"]),
        (
            "phases.toml",
            "[[curriculum]]\nname = 'a'\n[curriculum.set]\n'SECTION.NAME' = 'PATH'\n",
            ["train", "--config", "phases.toml"],
        ),
        ("base.toml", "[SECTION]\nNAME = 'PATH'\n", ["train", "--config", "on_base.toml"]),
    ],
)
def test_a_recipe_names_none(name, text, command, field, evil, capsys):
    module, marker = evil
    path = path_in(field, module)
    section, setting = field.split(".")
    for old, new in (("SECTION", section), ("NAME", setting), ("PATH", path)):
        text = text.replace(old, new)
    pathlib.Path(name).write_text(text)
    pathlib.Path("on_base.toml").write_text('base = "base.toml"\n')
    assert name in assert_refused(capsys, path, marker, *command)


def test_reports_read_no_code(evil, tmp_path, capsys):
    module, marker = evil
    folder = tmp_path / "run"
    fake_run.write(folder, fake_run.events(3))
    settings = {"game": {"name": f"{module}:G"}, "network": {"kind": f"{module}:N"}}
    (folder / "settings.json").write_text(json.dumps(settings))
    assert commands.run("report", folder) == 0
    assert module in (folder / "report" / "index.html").read_text()
    assert not marker.exists()
    assert "unknown flag '--allow-import'" in commands.refused(
        capsys, "report", folder, "--allow-import", f"{module}:G"
    )


def test_a_tournament_and_a_queue_name_none(evil, capsys):
    module, marker = evil
    path = f"{module}:G"
    pathlib.Path("game.toml").write_text(PLAYERS_OF_GAME.replace("PATH", path))
    assert_refused(capsys, path, marker, "tournament", "game.toml", "--folder", "new")
    arms = "seeds = [0]\narms = [{name = 'a', question = 'b'}]\n"
    queue = f"base = 'tiny.toml'\nmax_evaluations = 10\n{arms}"
    pathlib.Path("tiny.toml").write_text(tiny_run.toml())
    for changes in (f"set = {{'game.name' = '{path}'}}", f"set = {{'network.kind' = '{path}'}}"):
        pathlib.Path("queue.toml").write_text(queue + changes)
        words = ["queue.toml", "--folder", "new"]
        message = commands.refused(capsys, "queue", *words)
        assert f"--allow-import {path}" in message
        assert not marker.exists()


def test_what_the_user_gives_is_imported(evil, capsys, tmp_path):
    module, marker = evil
    folder = export(tmp_path / "theirs", "game.name", f"{module}:G")
    assert commands.run("export", folder, "new", "--allow-import", f"{module}:other") == 2
    assert not marker.exists()
    assert commands.run("export", folder, "new", f"--allow-import={module}:G") == 2
    assert "array" in capsys.readouterr().err  # the game has run, and has another board
    assert marker.exists()


@pytest.mark.thorough
def test_a_flag_gives_a_path_by_its_setting(evil, capsys):
    module, marker = evil
    words = tiny_run.train(pathlib.Path(), "--run.num-iterations", 1, network={"kind": "patterns"})
    recipe = pathlib.Path("tiny.toml")
    recipe.write_text(recipe.read_text().replace('"patterns"', f'"{module}:N"'))
    assert_refused(capsys, f"{module}:N", marker, *words)
    assert commands.run(*words, "--network.kind", f"{module}:N") == 0
    assert marker.exists()
    settings = network_files.load_settings(pathlib.Path("run"))  # what it names is allowed
    assert settings.network.kind == f"{module}:N"


@pytest.mark.parametrize("text", ["evil", "evil.py", "evil:", "", "evil:G()"])
def test_only_an_import_path_can_be_allowed(text, capsys):
    message = commands.refused(capsys, "export", "x", "new", f"--allow-import={text}")
    assert message.startswith(f"--allow-import is {text!r}, but should be an import path")


def test_programs_allow_paths_by_an_argument(evil, tmp_path):
    module, marker = evil
    folder = export(tmp_path / "theirs", "network.kind", f"{module}:N")
    for load in (azo.load_network, azo.load_engine):
        with pytest.raises(ValueError, match=r"allow_imports=\['evil"):
            load(folder)
    recipe = tmp_path / "own.toml"
    recipe.write_text(f"[network]\nkind = '{module}:N'\n")
    with pytest.raises(ValueError, match=r"allow_imports=\['evil"):
        azo.run_training(recipe, folder=tmp_path / "new")
    with pytest.raises(ValueError, match="allow_imports is 'evil', but should be"):
        azo.load_network(folder, allow_imports=["evil"])
    assert not marker.exists()
    azo.load_network(folder, allow_imports=[f"{module}:N"])
    assert marker.exists()
    assert azo.load_engine(folder, num_simulations=4).game.name == "othello4"


def test_networks_without_checksums_are_named_once(tmp_path, capsys):
    folder = tmp_path / "bare"
    network_files.save(folder, *tiny_network())
    (folder / files.CHECKSUMS).unlink()
    azo.load_network(folder)
    azo.load_network(folder)
    shown = capsys.readouterr().err
    assert shown.count("no SHA256SUMS") == 1
    assert str(folder) in shown


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["gtp", "nboard", "json"])
@pytest.mark.parametrize("path", ["venv.__main__:x", "here:N"])
def test_protocols_in_processes_of_their_own(command, path, tmp_path):
    (tmp_path / "here.py").write_text(MODULE.format(marker=str(tmp_path / "it_ran")))
    export(tmp_path / "X", "network.kind", path)
    done = subprocess.run(
        commands.azo(command, "--network", "X"),
        cwd=tmp_path, capture_output=True, text=True, input="quit\n",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"X/settings.json [network]: kind is '{path}', but a file does not decide which code runs:"
        f" if you trust {path.split(':')[0]}, give --allow-import {path}, or"
        f" allow_imports=['{path}'] in Python\n"
    )
    assert not (tmp_path / "it_ran").exists()


@pytest.mark.thorough
def test_optional_modules_are_not_searched_in_the_current_folder(tmp_path):
    evil = "import pathlib\npathlib.Path('it_ran').touch()\n"
    plugin = tmp_path / "jax_plugins" / "theirs"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(evil)
    for name in ("prometheus_client", "etils_extra", "pgx_theirs", "cloud_tpu_init"):
        (tmp_path / f"{name}.py").write_text(evil)
    (tmp_path / "own_game.py").write_text("import helper\nfrom azo import TicTacToe as G\n")
    (tmp_path / "helper.py").write_text("def late():\n    import later\n    return later\n")
    (tmp_path / "later.py").write_text("")
    words = ["evaluate", "random", "greedy", "--game.name", "own_game:G", "--num-games", 2]
    words += ["--opening-plies", 0]
    script = tmp_path / "elsewhere" / "azo_script.py"  # as pip makes it
    script.parent.mkdir()
    script.write_text("from azo import __main__\n\n__main__.process()\n")
    for command in (commands.azo(*words), [sys.executable, script, *map(str, words)]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert not (tmp_path / "it_ran").exists()


def test_own_code_of_the_current_folder_finds_its_neighbours_later(tmp_path):
    (tmp_path / "own_game.py").write_text("def late():\n    import later\n    return later.X\n")
    (tmp_path / "later.py").write_text("X = 3\n")
    program = """import sys
from azo.settings import import_paths
import_paths.search_current_folder()
import_paths.allow(["own_game:late"])
assert "" not in sys.path
late = import_paths.load("game.name", "own_game:late")
try:
    import later
except ModuleNotFoundError:
    assert late() == 3
"""
    script = tmp_path / "elsewhere" / "program.py"
    script.parent.mkdir()
    script.write_text(program)
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_numba_reads_no_settings_in_the_current_folder(tmp_path):
    (tmp_path / ".numba_config.yaml").write_text(f"cache_dir: {tmp_path}/theirs\n")
    program = """import numba
from azo.games.host import kernels, compiling
numba.config.reload_config()
print(repr(numba.config.CACHE_DIR))
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("''\n", "")
    assert not (tmp_path / "theirs").exists()
