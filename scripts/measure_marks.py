"""Measures the marks of analyses: how many hold against a much longer search.

python scripts/measure_marks.py game1.txt game2.txt WTH_1990.wtb --out marks.jsonl --label before

Each game is analysed as `azo analyse` and the page do it. Then every position is searched again
from an empty tree with `--reference` simulations, or solved. A mark is confirmed if the losses of
these searches have the same mark. A long file gives `--num-games` games, drawn by `--seed`.
Finished games are in the file of results, so that a second call goes on; references are shared by
labels.
"""

import argparse
import json
import pathlib
import time
from typing import Any

import numpy as np

from azo.coach import game_analysis
from azo.engine import engine_factory, engine_settings, live_engine
from azo.formats import game_files

MARKS = ("??", "?", "?!")
# The thresholds of marks, as players read them. They are written here again, so that all versions
# of azo are compared with the same ones.
LEAST = {"??": 10.0, "?": 4.0, "?!": 2.0}


def main() -> None:
    """Analyses, searches again, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="file of results")
    parser.add_argument("--label", default="marks", help="name of this version of azo")
    parser.add_argument("--num-games", type=int, default=1, help="of each file")
    parser.add_argument("--seed", type=int, default=0, help="of the games of a long file")
    parser.add_argument("--num-simulations", type=int, default=400)
    parser.add_argument("--reference", type=int, default=50_000, help="simulations per position")
    options = parser.parse_args()
    rows = _read(options.out)
    done = {(row["kind"], row.get("label"), row["game"]) for row in rows}
    engine = engine_factory.load_engine(num_simulations=options.num_simulations, solve_seconds=60.0)
    game_analysis.analyse_game("f5d6", engine)  # compiles
    with options.out.open("a") as out:
        for name, actions in _games(options):
            for kind, label in (("marks", options.label), ("reference", None)):
                if (kind, label, name) in done:
                    continue
                if kind == "marks":
                    found = _marks(engine, actions)
                else:
                    found = _reference(engine, actions, options.reference)
                row = {"kind": kind, "label": label, "game": name, **found}
                out.write(json.dumps(row) + "\n")
                out.flush()
                rows.append(row)
    _print(rows)


def _read(path: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _games(options: argparse.Namespace) -> list[tuple[str, list[int]]]:
    found = []
    for path in options.files:
        games = game_files.read_archives([path])
        numbers = np.arange(len(games))
        if len(games) > options.num_games:
            rng = np.random.default_rng(options.seed)
            numbers = np.sort(rng.choice(len(games), options.num_games, replace=False))
        for number in numbers:
            game = games[number]
            found.append((f"{path.name}:{number + 1}", game.action[: game.num_plies].tolist()))
    return found


def _marks(engine: live_engine.Engine, actions: list[int]) -> dict[str, Any]:
    engine.new_game(None, actions)
    start = time.process_time()
    analysis = game_analysis.analyse(engine)
    return {
        "seconds": round(time.process_time() - start, 2),
        "moves": [
            {
                "number": position.number,
                "mark": position.mark,
                "discs": position.loss_discs,
                "result": position.loss,
                "is_exact": position.is_loss_exact,
            }
            for position in analysis.positions[:-1]
        ],
    }


def _reference(engine: live_engine.Engine, actions: list[int], number: int) -> dict[str, Any]:
    """Returns the discs and the result that each move loses by long searches from empty trees."""
    limits = engine_settings.Limits(number, is_analysis=True)
    engine.new_game(None, actions)
    reports = []
    for board in engine.boards:
        engine.new_game(board)
        is_over = engine.is_over
        reports.append(game_analysis.end_report(engine) if is_over else engine.think(limits))
    moves = []
    for before, after, action in zip(reports, reports[1:], actions, strict=False):
        is_best = action == before.action
        discs = 0.0 if is_best else max((before.discs or 0.0) + (after.discs or 0.0), 0.0)
        result = 0.0 if is_best else max(before.value + after.value, 0.0)
        is_exact = before.score is not None and after.score is not None
        moves.append({"discs": discs, "result": result, "is_exact": is_exact})
    return {"moves": moves}


def _mark(move: dict[str, Any]) -> str:
    """Returns the mark of a move by its reference."""
    if move["result"] >= 1.0:
        return "??"
    return next((mark for mark in MARKS if move["discs"] >= LEAST[mark]), "")


def _print(rows: list[dict[str, Any]]) -> None:
    """Prints for each label the marks of moves that were not solved, and of all moves."""
    references = {row["game"]: row["moves"] for row in rows if row["kind"] == "reference"}
    for label in dict.fromkeys(row["label"] for row in rows if row["kind"] == "marks"):
        own = [r for r in rows if r["label"] == label and r["game"] in references]
        seconds = [row["seconds"] for row in own]
        pairs = [
            (move, reference)
            for row in own
            for move, reference in zip(row["moves"], references[row["game"]], strict=True)
        ]
        print(f"\n{label}: {len(own)} games, {np.mean(seconds):.1f} s per game")
        for title, kept in (
            ("searched", [(m, r) for m, r in pairs if not m["is_exact"]]),
            ("all", pairs),
        ):
            print(f"| {title} | marks | confirmed | difference | missed |")
            print("| --- | ---: | ---: | ---: | ---: |")
            for mark in MARKS:
                shown = [(m, r) for m, r in kept if m["mark"] == mark]
                held = sum(_mark(r) == mark for _, r in shown)
                difference = [abs(m["discs"] - r["discs"]) for m, r in shown]
                missed = sum(_mark(r) == mark and m["mark"] != mark for m, r in kept)
                share = f"{held} ({held / len(shown):.0%})" if shown else "-"
                mean = f"{np.mean(difference):.1f} discs" if shown else "-"
                print(f"| {mark} | {len(shown)} | {share} | {mean} | {missed} |")


if __name__ == "__main__":
    main()
