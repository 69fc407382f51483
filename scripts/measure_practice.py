"""Measures the replies that practice accepts: what they lose by a much longer search.

python scripts/measure_practice.py game1.txt game2.txt --out practice.jsonl

Each game is analysed as `azo analyse` and the page do it, and its marked moves become cards. Close
replies are moves other than the best that lose at most `--most-lost` discs by the table of the
analysis. Some cards that have such replies are drawn by `--seed`. Up to `--num-replies` of each
are judged in three ways: by that table, by practice (`replies.loss_of`), and by a search of
`--reference` simulations of the positions after the reply and after the best move. A reply is
accepted if it loses at most `deck.MOST_LOST` discs. Judged cards are in the file of results, so
that a second call goes on.
"""

import argparse
import json
import pathlib
import time
from typing import Any

import numpy as np

from azo.coach import deck, game_analysis, replies
from azo.engine import engine_factory, engine_settings, live_engine
from azo.engine.search_report import SearchReport
from azo.formats import game_files
from azo.games import notation
from azo.games.host import live_game

WAYS = {"table": "table of the analysis", "practice": "practice"}


def main() -> None:
    """Analyses, judges replies, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="file of results")
    parser.add_argument("--num-games", type=int, default=1, help="the first of each file")
    parser.add_argument("--num-cards", type=int, default=10, help="of all games together")
    parser.add_argument("--num-replies", type=int, default=3, help="of each card")
    parser.add_argument("--most-lost", type=float, default=2.0, help="discs, by the table")
    parser.add_argument("--seed", type=int, default=0, help="of the cards")
    parser.add_argument("--num-simulations", type=int, default=400, help="of the analysis")
    parser.add_argument("--reference", type=int, default=150_000, help="simulations per position")
    options = parser.parse_args()
    rows = _read(options.out)
    done = {(row["game"], row["number"]) for row in rows}
    engine = engine_factory.load_engine(num_simulations=options.num_simulations, solve_seconds=60.0)
    with options.out.open("a") as out:
        for name, number, live, report in _cards(engine, options):
            if (name, number) in done:
                continue
            start = time.monotonic()
            judged = _judged(engine, live, report, options)
            seconds = round(time.monotonic() - start, 1)
            row = {"game": name, "number": number, "seconds": seconds, "replies": judged}
            out.write(json.dumps(row) + "\n")
            out.flush()
            rows.append(row)
    _print(rows)


def _read(path: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _cards(
    engine: live_engine.Engine, options: argparse.Namespace
) -> list[tuple[str, int, live_game.LiveGame, SearchReport]]:
    """Returns marked positions: game, number of the move, the game so far, and its report."""
    found = []
    for path in options.files:
        for index, game in enumerate(game_files.read_archives([path])[: options.num_games]):
            actions = game.action[: game.num_plies].tolist()
            engine.new_game(None, actions)
            for position in game_analysis.analyse(engine).positions:
                if position.mark and _close(position, options.most_lost):
                    live = live_game.LiveGame(engine.game)
                    live.new_game(actions=actions[: position.number - 1])
                    found.append((f"{path.name}:{index + 1}", position.number, live, position))
    chosen = np.random.default_rng(options.seed).permutation(len(found))[: options.num_cards]
    return [found[index] for index in np.sort(chosen)]


def _close(report: SearchReport, most: float) -> dict[int, float]:
    """Returns what moves other than the best lose by the table, at most so much, in order."""
    worths = {move.action: move.discs for move in report.moves if move.discs is not None}
    losses = {action: max(worths.values()) - worth for action, worth in worths.items()}
    close = [action for action in losses if action != report.action and losses[action] <= most]
    return {action: losses[action] for action in sorted(close, key=losses.__getitem__)}


def _judged(
    engine: live_engine.Engine,
    live: live_game.LiveGame,
    report: SearchReport,
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    """Returns what close replies lose, in discs, by each way."""
    size, reference = engine.game.size, options.reference
    close = list(_close(report, options.most_lost).items())[: options.num_replies]
    best = notation.action_text(report.action, size)
    best_worth = _worth(engine, live, report.action, reference)
    judged = []
    for action, loss in close:
        move = notation.action_text(action, size)
        judged.append(
            {
                "move": move,
                "table": loss,
                "practice": replies.loss_of(engine, live, move, best),
                "reference": best_worth - _worth(engine, live, action, reference),
            }
        )
    return judged


def _worth(engine: live_engine.Engine, live: live_game.LiveGame, action: int, number: int) -> float:
    """Returns the discs of a move for its mover, by a search of the position after it."""
    engine.new_game(live.start, (*live.actions, action))
    if engine.is_over:
        report = game_analysis.end_report(engine)
    else:
        report = engine.think(engine_settings.Limits(number, is_analysis=True))
    assert report.discs is not None
    return -report.discs


def _print(rows: list[dict[str, Any]]) -> None:
    """Prints for each way how many replies it accepts, and what the worst of them loses."""
    judged = [reply for row in rows for reply in row["replies"]]
    seconds = sum(row["seconds"] for row in rows)
    print(f"{len(rows)} cards, {len(judged)} replies, {seconds:.0f} s")
    good = [reply for reply in judged if reply["reference"] <= deck.MOST_LOST]
    print("| judged by | accepted | of them lose more than a disc | worst | good ones refused |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for way, title in WAYS.items():
        accepted = [reply for reply in judged if reply[way] <= deck.MOST_LOST]
        losses = [reply["reference"] for reply in accepted]
        wrong = sum(loss > deck.MOST_LOST for loss in losses)
        worst = f"{max(0.0, *losses):.1f}" if losses else "-"
        refused = sum(reply[way] > deck.MOST_LOST for reply in good)
        print(f"| {title} | {len(accepted)} | {wrong} | {worst} | {refused} of {len(good)} |")


if __name__ == "__main__":
    main()
