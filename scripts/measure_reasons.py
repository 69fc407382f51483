"""Measures reasons for mistakes: how many mistakes have one, and how many hold when read deeper.

python scripts/measure_reasons.py game1.txt game2.txt
python scripts/measure_reasons.py WTH_1990.wtb --num-games 5

A reason holds if the same kind of reason is found again with expected lines from a deeper search of
both moves; those from the network's tables do not depend on lines, and have only a number. Each
kind has a row: of all mistakes, with how many it is told, and how often it holds.
"""

import argparse
import collections
import pathlib

from azo.coach import game_analysis, reasons
from azo.engine import engine_factory, engine_settings
from azo.formats import game_files


def main() -> None:
    """Analyses games and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--num-games", type=int, default=1, help="of each file")
    parser.add_argument("--num-simulations", type=int, default=400)
    parser.add_argument("--deeper", type=int, default=4000, help="simulations of the second search")
    options = parser.parse_args()
    engine = engine_factory.load_engine(num_simulations=options.num_simulations)
    limits = engine_settings.Limits(options.deeper, is_analysis=True)

    def line(start, actions):
        """Returns the actions with the moves that a deeper search expects after them."""
        engine.new_game(start, actions)
        return [*actions, *(() if engine.is_over else engine.think(limits).line)]

    told, held, num_mistakes, num_explained = collections.Counter(), collections.Counter(), 0, 0
    for path in options.files:
        for game in game_files.read_archives([path])[: options.num_games]:
            engine.new_game(None, game.action[: game.num_plies].tolist())
            analysis = game_analysis.analyse(engine)
            for position in filter(lambda position: position.mark, analysis.positions):
                found = {reason.kind for reason in analysis.reasons(position)}
                lines = (line(position.board, [move]) for move in (position.played, position.best))
                again = reasons.find(position.board, *lines, engine.game)
                num_mistakes += 1
                num_explained += bool(found)
                told.update(found)
                held.update(found & {reason.kind for reason in again})
    print(f"{num_explained} of {num_mistakes} mistakes have a reason")
    print("| reason | told | holds |\n| --- | ---: | ---: |")
    for kind, number in told.most_common():
        share = "" if kind == "tables" else f"{held[kind] / number:.0%}"
        print(f"| {kind} | {number} | {share} |")
    num_told = told.total() - told["tables"]
    print(f"| all but tables | {num_told} | {held.total() / num_told:.0%} |")


if __name__ == "__main__":
    main()
