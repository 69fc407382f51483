"""How many positions per second does `azo json` analyse, and `azo gtp` one by one?

    python -m benchmarks.json_engine --games FILE --num-positions 1000 --num-simulations 400

FILE is a CSV with a column `game_moves`, whose transcripts are taken in order; every turn of a game
is a position. Over GTP a program walks through each game, and asks `reg_genmove` before each move.
Both commands take turns, each time with further games, in processes that have started before the
clock. Other load disturbs the seconds of the processor less than the time. Flags after `--` go to
both commands.
"""

import argparse
import csv
import gzip
import json
import pathlib
import re
import resource
import subprocess
import sys
import time


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--games", type=pathlib.Path, required=True)
    parser.add_argument("--num-positions", type=int, default=1000)
    parser.add_argument("--num-simulations", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("flags", nargs="*")
    args = parser.parse_args()
    games = _games(args.games, args.num_positions)
    parts = [games[number :: args.repeats] for number in range(args.repeats)]
    flags = ["--engine.num-simulations", str(args.num_simulations), *args.flags]
    ways = {
        "azo gtp": _gtp,
        "azo json": _json,
    }
    rates: dict[str, list[tuple[int, float, float]]] = {name: [] for name in ways}
    for part in parts:
        for name, run in ways.items():
            before = _processor_seconds()
            num_positions, seconds = run(part, flags)
            spent = _processor_seconds() - before
            rates[name].append((num_positions, seconds, spent))
            print(name, num_positions, f"{seconds:.1f} s", f"{spent:.1f} s", file=sys.stderr)
    print("| command | positions | positions/s | lowest, highest | ms of a core per position |")
    print("| --- | ---: | ---: | --- | ---: |")
    for name, rows in rates.items():
        number, seconds, spent = map(sum, zip(*rows, strict=True))
        speeds = [row[0] / row[1] for row in rows]
        bounds = f"{min(speeds):.1f}, {max(speeds):.1f}"
        cost = f"{1000 * spent / number:.1f}"
        print(f"| `{name}` | {number} | {number / seconds:.1f} | {bounds} | {cost} |")


def _games(path: pathlib.Path, num_positions: int) -> list[list[str]]:
    """Returns games as lists of moves, without passes, with so many positions in all."""
    games: list[list[str]] = []
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            left = num_positions - sum(map(len, games))
            if left <= 0:
                break
            games.append(re.findall("..", row["game_moves"])[:left])
    return games


def _gtp(games: list[list[str]], flags: list[str]) -> tuple[int, float]:
    """Walks through the games; returns the number of positions and the seconds."""
    with _started("gtp", flags) as process:

        def ask(line: str) -> str:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            process.stdout.readline()
            return answer

        ask("genmove b")
        start, num_positions = time.perf_counter(), 0
        for moves in games:
            ask("clear_board")
            is_black = True
            for move in moves:
                if ask(f"reg_genmove {'bw'[not is_black]}")[2:].strip() == "pass":
                    is_black = not is_black
                num_positions += 1
                colour = "bw"[not is_black]
                if ask(f"play {colour} {move}")[0] == "?":  # a pass that was left out
                    is_black = not is_black
                    ask(f"play {'bw'[not is_black]} {move}")
                is_black = not is_black
        return num_positions, time.perf_counter() - start


def _json(games: list[list[str]], flags: list[str]) -> tuple[int, float]:
    """Sends all games at once; returns the number of positions and the seconds."""
    with _started("json", flags) as process:
        process.stdin.write('{"id": "first"}\n')
        process.stdin.flush()
        process.stdout.readline()
        start, num_positions = time.perf_counter(), 0
        for number, moves in enumerate(games):
            query = {"id": str(number), "moves": moves, "analyzeTurns": list(range(len(moves)))}
            process.stdin.write(json.dumps(query) + "\n")
        process.stdin.close()
        for line in process.stdout:
            assert "error" not in json.loads(line), line
            num_positions += 1
        return num_positions, time.perf_counter() - start


def _started(command: str, flags: list[str]) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "azo", command, *flags]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
