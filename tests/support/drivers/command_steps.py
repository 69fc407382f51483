"""The commands that the pages name, with smaller numbers, and what they should show.

A shell runs the commands of a screen one after another, in one folder: `train` makes the run that
others use.
"""

import dataclasses
import functools
import os
import pathlib
import re
import shutil
import sys

from azo import __main__
from azo.formats import ggf
from azo.games import notation, variant
from support.builders import small_tournament, tiny_run, wthor_files
from support.drivers import azo_shell, pseudo_terminal
from support.drivers.pseudo_terminal import CTRL_C, CTRL_D
from support.references import nboard_example

ROOT = pathlib.Path(__file__).parents[3]
GAME = "f5d6c3d3c4f4c5b3"
OBF = """\
-----------X------XOOOOOXO-OXXXXXOOOOXXXXOOOXXXXXOOOOXXXXXOOOOXX O;
---------------------------OX------XO--------------------------- X;
"""
SMALL = (
    "--network.num-blocks 0 --network.num-channels 8 --learner.batch-size 8 --examples.held-out 0.5"
)
ZERO = "~0%"  # a progress bar is drawn
QUICK = "--engine.num-simulations 10"
ENDLESS = "--engine.num-simulations 3_000_000"
KEPT = "the game is saved: 'azo play' offers it at the next start"
MATCH = r"\d/\d/\d \(score [01]\.\d+, 95 % [\d.]+ to [\d.]+\)"


@dataclasses.dataclass(frozen=True)
class Screen:
    """Where the commands are shown."""

    name: str
    columns: int = 80
    has_colours: bool = True
    is_piped: bool = False


FULL, NARROW, PIPE = SCREENS = (
    Screen("terminal"),
    Screen("narrow terminal without colours", columns=40, has_colours=False),
    Screen("pipe", columns=400, is_piped=True),
)


@dataclasses.dataclass(frozen=True)
class Step:
    """A command, and what follows it."""

    command: str
    shown: str
    """Regular expression for the last lines; spaces and line breaks do not count."""
    code: int = 0
    keys: tuple[tuple[str, str], ...] = ()
    """Pairs: what is shown at last (after ~ anywhere), and the keys that are typed then."""
    screens: tuple[Screen, ...] = SCREENS
    """Where it is run."""
    reads_on: bool = False
    """A thread still waits for a line at the end, so the next step needs a new shell."""

    @property
    def needs_terminal(self):
        return any(key in keys for _, keys in self.keys for key in (CTRL_C, CTRL_D))


# What is slow, or the same everywhere, is run in one terminal only.
once = functools.partial(Step, screens=(FULL,))
in_terminals = functools.partial(Step, screens=(FULL, NARROW))
protocol = functools.partial(Step, screens=(FULL, PIPE), reads_on=True)
_PAGE = r"azo \w+ --help-all explains all \d+ settings\."
_WITH_PAGE = ("evaluate", "supervise", "train")
STEPS = (
    # What a person sees first.
    once("--version", r"azo \S+"),
    Step("evalute", r"unknown command 'evalute'\. Did you mean 'azo evaluate'\?", 2),
    Step("evaluate", r"PLAYER is missing: The player whose result is reported\.", 2),
    *(
        once(f"{name} --help", _PAGE if name in _WITH_PAGE else r"\(default: .*\) .*")
        for name in sorted(set(__main__.COMMANDS) - {"book", "report"})
    ),
    once("report --help", r"\(required\) .*"),
    once("book --help", r".*lists the flags\."),
    # A run, and what is done with it.
    Step(
        "train --config tiny.toml --run.folder runs/azo8 --minutes 9 --run.num-iterations 999_999",
        r"stopped and saved after iteration \d+ iteration \d+/\d+ .*",
        keys=(("~iteration 2", CTRL_C),),
    ),
    in_terminals(
        "train --config tiny.toml --run.folder runs/azo8 --run.num-iterations 2",
        r"the run has ended: its 2 iterations are done; .* continues it",
    ),
    in_terminals(
        "evaluate network:runs/azo8:4 random --num-games 4 --opening-plies 2 --seed 1",
        rf"network:runs/azo8:4 against random: {MATCH}",
    ),
    once("report runs/azo8", "runs/azo8/report/index.html"),
    Step(
        "watch runs/azo8 --open --port 0",
        r"runs/azo8 is shown at http://127\.0\.0\.1:\d+; Ctrl-C ends",
        130,
        (("~Ctrl-C ends", CTRL_C),),
    ),
    once("export runs/azo8 mine --portable", "learned from the rules alone"),
    once("export zero-fast6 small --compact", "learned from the rules alone"),
    once(
        "evaluate zero-fast6 --exact random:4 --limit 8 --simulations 0 --solve-empties 4",
        r"\| calibration \| .* \| random:4 \| 8 \| raw \| .* \|",
    ),
    Step(
        "evaluate greedy random --game.size 6 --sprt 0 300 --num-games 400",
        r"greedy against random: .* sequential test of \+0 and \+300 Elo: accepts \+0 Elo after .*",
    ),
    Step(
        "evaluate random greedy --game.size 8 --openings openings.txt --num-games 4",
        rf"random against greedy: {MATCH}",
    ),
    # Games and positions.
    Step(
        f"analyse {GAME} --rating 1800 {QUICK}",
        r"ply move discs .* best lost .* (Largest losses: .*|No move lost anything\.)",
    ),
    Step(
        f"analyse game.ggf --html game.html {QUICK}",
        r"wrote game\.html",
    ),
    Step(
        f"analyse WTH_2025.wtb --number 2 --ply 4 {QUICK}",
        r"white \(O\) to move .* move discs wins .*",
    ),
    Step(
        f"analyse - --ply 4 {QUICK}",
        r"white \(O\) to move .* move discs wins .*",
        keys=(("", f"{GAME}\n{CTRL_D}"),),
    ),
    Step(
        "analyse lost.ggf",
        r"lost\.ggf: there is no such file, and as text: cannot read 'lost\.ggf' after 0 moves: .*",
        2,
    ),
    Step(f"analyse game.ggf {ENDLESS}", r"positions .* 0% -:--:--", 130, ((ZERO, CTRL_C),)),
    Step(
        "solve ffo.obf --max-empties 18 --skip-larger --every-move",
        r"ffo\.obf: 1 solved, [\d,]+ nodes in \d+\.\d\d s",
    ),
    Step(
        "solve ffo.obf --max-empties 60 --json",
        r"ffo\.obf .* 50% -:--:--",
        130,
        (("~50%", CTRL_C),),
    ),
    Step(
        f"book build openings.book --growth.num-positions 3 {QUICK}",
        r"openings\.book: 3 positions, \d+ moves, \d+ bytes",
    ),
    Step(
        f"book build big.book --growth.num-positions 1_000_000 {QUICK}",
        r"positions .* \d+% .*",
        130,
        ((ZERO, CTRL_C),),
    ),
    Step("book show openings.book f5d6", r"move wins visits .*"),
    Step(
        "book drill openings.book drill.json --play white",
        r"drill\.json: [12] positions?, [12] (is|are) new",
    ),
    Step(
        "play --network zero-fast --level 3",
        rf"unknown command 'hepl': did you mean 'help'\? .* black> {KEPT}",
        keys=(("black>", "hepl\n"), ("black>", "f5\n"), ("black>", CTRL_D)),
    ),
    Step(
        f"play {ENDLESS}",
        rf"leave this game\? \(y/n\)> (\^C)? {KEPT}",
        keys=(
            ("black>", "f5\n"),
            ("~move now", CTRL_C),
            ("black>", "hint\n"),
            ("~looking", CTRL_C),
            *(("black>", CTRL_C), ("leave this game? (y/n)>", "n\n")) * 5,
            ("black>", CTRL_C),
            ("leave this game? (y/n)>", CTRL_C),
        ),
    ),
    Step(
        "web --open --port 0",
        r"azo plays at http://127\.0\.0\.1:\d+; Ctrl-C ends",
        130,
        (("~Ctrl-C ends", CTRL_C),),
    ),
    Step("web --export practice", "wrote practice: open index.html there, or .*"),
    # Comparisons.
    in_terminals(
        "tournament cup.toml --num-games 2",
        r"\| 3 \w+ \| \d/\d/\d \| \d/\d/\d \| \|",
    ),
    Step("queue ablation --table", r"\| sims-100 \| .* \| 0 of 3 \|"),
    *(
        once(
            f"tournament {flags}",
            "stopped; finished games are saved; the same command resumes",
            keys=((ZERO, CTRL_C),),
        )
        for flags in (
            "cup.toml --num-games 80",
            "champion --num-games 4 --openings openings.txt",
        )
    ),
    once(
        f"supervise games.txt --num-epochs 1 --folder runs/people --seed 1 {SMALL}",
        r"best network: .*; in runs/people/best",
    ),
    once(
        "supervise runs/azo8 --source runs --start runs/azo8 --folder runs/taught",
        r"best network: .*; in runs/taught/best",
    ),
    # Protocols.
    protocol("gtp --network zero-fast --level 1", "= azo =", keys=(("", "name\nquit\n"),)),
    protocol("gtp --level 1", "= azo", 130, (("", "name\n"), ("~= azo", CTRL_C))),
    protocol("nboard --level 1", "set myname azo.*", keys=(("", "nboard 2\nquit\n"),)),
)


class Shells:
    """The shells of the screens, which start when they are needed; a context manager."""

    def __init__(self, new_folder):
        self._new_folder = new_folder
        self._folders, self._shells = {}, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for shell in self._shells.values():
            shell.close()

    def check(self, screen, step):
        """Runs a step, and fails unless it ends as it should."""
        shell = self._shells.get(screen)
        if shell is None or shell.process.poll() is not None:
            if shell is not None:
                shell.close()
            if screen not in self._folders:
                self._folders[screen] = self._new_folder()
                _fill(self._folders[screen])
            self._shells[screen] = shell = _begin(screen, self._folders[screen])
        shell.clear()
        shell.press(f"{step.command}\n")
        try:
            for shown, keys in step.keys:
                if shown.startswith("~"):
                    shell.wait_until_shown(shown[1:], before=azo_shell.PROMPT)
                elif shown:
                    shell.wait_for(shown)
                shell.press(keys)
            shell.wait_for(azo_shell.PROMPT)
            lines = shell.lines
        finally:
            if step.reads_on or shell.lines[-1] != azo_shell.PROMPT:
                shell.process.kill()  # the next step begins with a new shell
                shell.process.wait()
        text, code = "\n".join(lines[:-2]), lines[-2]
        assert code == f"[exit code {step.code}]", text
        assert "Traceback" not in text, text
        assert re.search(_squeezed(rf"{step.shown} (\^C)?") + "$", _squeezed(text)), text
        assert not shell.is_cursor_hidden
        if screen.is_piped:
            assert b"\x1b" not in shell.output, text
        elif not screen.has_colours:
            assert not re.search(rb"\x1b\[(\d+;)*[349]\d[;m]", shell.output), text


def on(*screens):
    """Returns pairs of a screen and a step: Ctrl-C and Ctrl-D are keys of terminals."""
    pairs = [(screen, step) for screen in screens for step in STEPS if screen in step.screens]
    return [(a, b) for a, b in pairs if not (a.is_piped and b.needs_terminal)]


def name(value):
    """Returns the name of a screen or step, for the ids of tests."""
    return value.name if isinstance(value, Screen) else value.command


def _begin(screen, folder):
    """Returns the shell of a screen in a folder."""
    env = os.environ | {
        "BROWSER": "true",  # a program that opens nothing
        "JAX_PLATFORMS": "cpu",
        "PATH": os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        "TERM": "xterm-256color",
        "XDG_STATE_HOME": str(folder / "state"),
        **({} if screen.has_colours else {"NO_COLOR": "1"}),
    }
    shell = pseudo_terminal.PseudoTerminal(
        [sys.executable, "-m", "support.drivers.azo_shell"],
        columns=screen.columns,
        env=env,
        cwd=folder,
        is_piped=screen.is_piped,
    )
    shell.wait_for(azo_shell.PROMPT)
    return shell


def _fill(folder):
    actions = [notation.parse_action(GAME[i : i + 2], 8) for i in range(0, len(GAME), 2)]
    start = ggf.usual_start(variant.Variant())
    game = ggf.GgfGame(8, start, tuple(actions), "Ann", "Bob", black_score=0)
    (folder / "WTH_2025.wtb").write_bytes(wthor_files.write([game] * 2)["wtb"])
    shutil.copy(ROOT / "tests/support/references/wipe_outs.txt", folder / "games.txt")
    (folder / "openings.txt").write_text("f5d6c3\nf5f6e6\n")
    (folder / "ffo.obf").write_text(OBF)
    (folder / "game.ggf").write_text(nboard_example.PUBLISHED)
    (folder / "tiny.toml").write_text(tiny_run.toml())
    small_tournament.write(folder, small_tournament.SMALL)


def _squeezed(text):
    return re.sub(r"\s", "", text)
