"""Plays the human-like levels against one another, and counts what is typical of human players.

python scripts/measure_people.py --num-games 200
python scripts/measure_people.py --people WTHOR_FOLDER

The table has the Elo of the round robin, with 1800 for human:1800, and of each level the share of
its moves that are passes, of its games lost without a disc, and the discs that its moves lose with
at most ten empty squares. The second command prints both shares of people within 100 of these
ratings, averaged over opponents within 100 of each of the others.
"""

import argparse
import collections
import itertools
import pathlib

import fit_people
import numpy as np

from azo.engine import engine_factory, people
from azo.games import notation
from azo.games.host import live_game
from azo.matches import elo
from azo.solver.host import endgame


def main() -> None:
    """Plays and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-games", type=int, default=200, help="of each pair of levels")
    parser.add_argument("--ratings", type=int, nargs="+", default=list(range(1400, 2401, 200)))
    parser.add_argument("--people", type=pathlib.Path, help="folder of WTHOR")
    options = parser.parse_args()
    if options.people:
        _print_people(options.people, options.ratings)
        return
    engines = {
        rating: engine_factory.load_engine(level=f"human:{rating}", seed=rating)
        for rating in options.ratings
    }
    solver, counts = endgame.Solver(8), collections.defaultdict(collections.Counter)
    pairings = []
    for first, second in itertools.combinations(options.ratings, 2):
        results = collections.Counter()
        for number in range(options.num_games):
            black, white = (first, second) if number % 2 else (second, first)
            live = play(engines[black], engines[white])
            for rating, is_black in ((black, True), (white, False)):
                _count(counts[rating], live, is_black, solver)
            black_score = live.final_score()
            results[np.sign(black_score if black == first else -black_score)] += 1
        match = elo.MatchResult(results[1], results[0], results[-1])
        pairings.append(elo.Pairing(str(first), str(second), match))
        print(f"{first} against {second}: {match}", flush=True)
    rated = elo.rate(pairings, known={"1800": 1800.0}).standings
    print("| level | Elo | passes | lost without a disc | discs lost per move, late |")
    print("| --- | --- | ---: | ---: | ---: |")
    for one in sorted(rated, key=lambda one: one.name):
        found, (low, high) = counts[int(one.name)], one.interval
        shares = found["passes"] / found["moves"], found["wiped"] / found["games"]
        lost = found["lost"] / max(found["late"], 1)
        print(
            f"| human:{one.name} | {one.rating:.0f} ({low:.0f} to {high:.0f}) | {shares[0]:.2%}"
            f" | {shares[1]:.2%} | {lost:.2f} |"
        )


def _print_people(folder: pathlib.Path, levels: list[int]) -> None:
    """Prints the shares of human players."""
    games, names = fit_people.load_games(folder)
    rating = fit_people.ratings(games, len(names))
    both = np.array([[rating(number, side) for side in (0, 1)] for number in range(len(games))])
    is_usable = fit_people.are_people(games, names)
    plies = np.arange(games["actions"].shape[1])
    is_played = plies < games["num_plies"][:, None]
    print("| rating | games | passes | lost without a disc |\n| --- | ---: | ---: | ---: |")
    for own in levels:
        num_games, shares = 0, []
        for other in set(levels) - {own}:
            counts = collections.Counter()
            for side, sign in ((0, 1), (1, -1)):
                is_near = np.abs(both[:, [side, 1 - side]] - (own, other)).max(axis=1) <= 100
                met = is_usable & is_near
                moves = is_played[met] & (plies % 2 == side)
                counts["games"] += met.sum()
                counts["moves"] += moves.sum()
                counts["passes"] += (moves & (games["actions"][met] == 64)).sum()
                counts["wiped"] += (games["margin"][met] * sign == -64).sum()
            num_games += counts["games"]
            shares.append((counts["passes"] / counts["moves"], counts["wiped"] / counts["games"]))
        passes, wiped = np.mean(shares, axis=0)
        print(f"| {own} | {num_games} | {passes:.2%} | {wiped:.2%} |")


def play(black, white) -> live_game.LiveGame:
    """Returns a game of two engines."""
    live = live_game.LiveGame(black.game)
    while not live.is_over:
        engine = black if live.board.is_black_to_move else white
        engine.new_game(live.start, live.actions)
        live.play(engine.think().action)
    return live


def _count(
    found: collections.Counter, live: live_game.LiveGame, is_black: bool, solver: endgame.Solver
) -> None:
    """Adds what one side did in a game; every tenth game is solved near its end."""
    end = live.board
    found["games"] += 1
    found["wiped"] += not (end.black if is_black else end.white)
    for board, action in zip(live.boards, live.actions, strict=False):
        if board.is_black_to_move != is_black:
            continue
        found["moves"] += 1
        found["passes"] += action == live.game.pass_action
        if found["games"] % 10 == 0 and _num_empties(board) <= people.SOLVED_EMPTIES:
            scores = solver.solve(board.player, board.opponent, every_move=True).move_scores
            if len(scores) > 1:
                found["late"] += 1
                found["lost"] += max(scores.values()) - scores[action]


def _num_empties(board: notation.Board) -> int:
    return 64 - (board.black | board.white).bit_count()


if __name__ == "__main__":
    main()
