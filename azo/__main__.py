"""The command line: `azo COMMAND`, also `python -m azo COMMAND`."""

import ast
import difflib
import importlib
import pathlib
import sys
from collections.abc import Sequence

COMMANDS = (
    "train", "watch", "evaluate", "play", "web", "analyse", "gtp", "nboard", "tournament",
    "report", "solve", "book", "export", "supervise", "ablate",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name; returns the exit code."""
    name, *flags = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if name == "--version":
        from azo.run import shipped_files

        print(f"azo {shipped_files.version()}")
        return 0
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"Did you mean 'azo {near[0]}'?" if near else f"There are: {', '.join(COMMANDS)}"
        print(f"unknown command '{name}'. {hint}", file=sys.stderr)
        return 2

    try:
        from azo.cli import command_line  # imports pydantic and tyro, which take 0.3 s

        def run(flags: Sequence[str]) -> int | None:
            return importlib.import_module(f"azo.cli.{name}").main(flags)

        return command_line.run_main(run, flags)
    except KeyboardInterrupt:
        return 130


def _overview() -> str:
    """Returns the commands with the first line of their docstrings, without importing them."""
    folder = pathlib.Path(__file__).parent / "cli"
    lines = ["usage: azo COMMAND [FLAGS]; azo COMMAND --help explains a command", ""]
    for name in COMMANDS:
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        summary = (ast.get_docstring(tree) or "").partition("\n")[0]
        lines.append(f"  {name:12}{summary}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
