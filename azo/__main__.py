"""The command line: `azo COMMAND`, also `python -m azo COMMAND`."""

import contextlib
import gc
import importlib
import pathlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

COMMANDS = (
    "train", "watch", "evaluate", "play", "web", "analyse", "gtp", "nboard", "json",
    "tournament", "queue", "report", "solve", "book", "export", "supervise",
)  # fmt: skip
_SLOW_TO_IMPORT = ("train", "supervise")


def process() -> NoReturn:
    """Runs the command of this process and ends it, at a second signal even while it computes."""
    from azo.settings import import_paths

    import_paths.search_current_folder()  # before all that imports optional modules
    from azo.cli import ending
    from azo.storage import streams

    streams.install()
    sys.exit(ending.guarded(_run, lambda: None))


def _run() -> int:
    """Runs the command of this process, and returns its exit code."""
    with _importing():
        from azo.cli import ending
        from azo.process import interruption, threads

    threads.spare_numpy()
    with interruption.signals_end_computations():
        code = ending.guarded(main, interruption.interrupted_by)
    interruption.end_process(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name; returns the exit code."""
    name, *flags = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if name == "--version":
        from azo.settings import shipped_files

        print(f"azo {shipped_files.version()}")
        return 0
    if name not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"Did you mean 'azo {near[0]}'?" if near else f"There are: {', '.join(COMMANDS)}"
        print(f"unknown command '{name}'. {hint}", file=sys.stderr)
        return 2

    try:
        with _importing():
            from azo.cli import command_line  # imports pydantic and tyro, which take 0.3 s
            from azo.process import threads

        def run(flags: Sequence[str]) -> int | None:
            with _importing(), _loading(name):
                command = importlib.import_module(f"azo.cli.{name}")
            if "jax" in sys.modules:
                threads.check()
            return command.main(flags)

        return command_line.run_main(run, flags)
    except KeyboardInterrupt:
        return 130


@contextlib.contextmanager
def _importing() -> Iterator[None]:
    """Within the block, Ctrl-C ends the process at once, and garbage collection is off.

    Libraries catch the KeyboardInterrupt that is raised while they are imported, and go on. Garbage
    collection would take a quarter of the start-up time.
    """
    # Else Ctrl-C is ignored, or handled by a program that calls this.
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    is_ours &= threading.current_thread() is threading.main_thread()
    was_enabled = gc.isenabled()
    gc.disable()
    if is_ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if was_enabled:
            gc.freeze()  # what was imported stays until the end
            gc.enable()


@contextlib.contextmanager
def _loading(name: str) -> Iterator[None]:
    """Shows within the block that a command which takes seconds to import has begun.

    In a terminal only, by a text that is removed again.
    """
    text = "loading JAX"
    is_shown = name in _SLOW_TO_IMPORT and sys.stderr.isatty()
    if is_shown:
        print(text, end="\r", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if is_shown:
            print(" " * len(text), end="\r", file=sys.stderr, flush=True)


def _overview() -> str:
    """Returns the commands with the first line of their docstrings, without importing them."""
    import ast

    folder = pathlib.Path(__file__).parent / "cli"
    lines = ["usage: azo COMMAND [FLAGS]; azo COMMAND --help explains a command", ""]
    for name in COMMANDS:
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        summary = (ast.get_docstring(tree) or "").partition("\n")[0]
        lines.append(f"  {name:12}{summary}")
    pages = folder.parent / "docs"  # of a wheel; in a clone beside the package
    pages = pages if pages.exists() else folder.parents[1] / "docs"
    lines += ["", f"Pages such as docs/play.md are in {pages}"]
    return "\n".join(lines)


if __name__ == "__main__":
    process()
