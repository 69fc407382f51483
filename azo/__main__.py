"""The command line: `azo COMMAND`, also `python -m azo COMMAND`."""

import importlib
import sys

from azo.cli import command_line

COMMANDS = (
    "train", "evaluate", "play", "web", "analyse", "gtp", "nboard", "tournament", "report",
    "solve", "book", "export", "supervise", "ablate", "puzzles",
)  # fmt: skip


def main() -> int:
    """Runs the command that the arguments name."""
    name, *argv = sys.argv[1:] or ["--help"]
    if name not in COMMANDS:
        print("\n".join(COMMANDS))
        return 0 if name in ("-h", "--help") else 2
    command = importlib.import_module(f"azo.cli.{name}")
    return command_line.run_main(command.main, argv)


if __name__ == "__main__":
    sys.exit(main())
