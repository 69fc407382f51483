"""The wheel, installed outside the repository: its files are all that the commands need."""

import os
import pathlib
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest

REPOSITORY = pathlib.Path(__file__).parents[2]
SECONDS = 300

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # The build backend by itself: pip would fetch one from the internet.
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    pytest.importorskip("hatchling")
    subprocess.run(command, cwd=REPOSITORY, check=True, timeout=SECONDS)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A virtual environment with the wheel, beside the libraries of the running environment."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=False)
    packages = next((folder / "venv").glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def run(folder, *arguments, text=""):
    """Runs a command in the installation's folder; an editable azo is not on its path."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [folder / "venv" / "bin" / "python", "-m", "azo", *arguments],
        cwd=folder,
        env=environment | {"JAX_PLATFORMS": "cpu"},
        input=text,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_configs_networks_and_pages(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "azo/py.typed",
        "azo/__init__.pyi",
        "configs/azo8.toml",
        "configs/queues/ablation.toml",
        *("web/static/index.html", "web/static/app.js"),
        *(f"report/{name}" for name in ("figures.toml", "page.html", "plots.css")),
        "opponents/pattern_search/patterns.npz",
        "networks/shipped/zero-fast/alphabeta.npz",
        *("azo/docs/play.md", "azo/docs/notebook/classical.md"),
    ):
        assert any(path.endswith(name) for path in names), name
    assert any("networks/shipped/zero-fast/" in path for path in names)
    assert all(path.startswith("azo") for path in names)
    assert wheel.stat().st_size <= 14e6


def test_training_finds_its_settings(installed):
    flags = ["--config", "tictactoe", "--run.num-iterations", "2", "--evaluation.every", "0"]
    run(installed, "train", *flags, "--run.num-devices", "1")
    assert (installed / "runs" / "tictactoe" / "metrics.jsonl").exists()


def test_a_game_is_played_against_the_shipped_network(installed):
    out = run(installed, "play", "--size", "6", "--level", "1", text="c2\nquit\n")
    assert "azo (white) plays" in out
