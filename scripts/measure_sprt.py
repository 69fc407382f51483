"""Measures how often the sequential test of `azo evaluate --sprt` errs, by simulated matches.

`python scripts/measure_sprt.py` plays 10,000 matches at each true difference in Elo and prints a
Markdown table: which hypothesis was accepted how often, with 95 % intervals, and the number of
games. A pair of games has the five results of a balanced opening with 20 % draws; the better player
wins more often by the logistic model. Matches go on until a bound is crossed.
"""

from typing import NamedTuple

import numpy as np
import scipy.stats

from azo.matches import sprt

_DRAWS = 0.2  # of a game between equal players
_MOST_PAIRS = 50_000
_BATCH = 16  # pairs that are added before a test of all matches


class Rates(NamedTuple):
    """How matches ended."""

    num_matches: int
    num_accepted: int  # that accepted `elo1`
    num_undecided: int
    games: np.ndarray  # [matches] int


def pair_chances(elo: float) -> np.ndarray:
    """Returns the chances `[5]` of 0 to 2 points in a pair of two independent games."""
    win = sprt.expected_score(elo) - _DRAWS / 2
    game = np.array([1 - win - _DRAWS, _DRAWS, win])
    return np.convolve(game, game)


def simulate(
    test: sprt.SequentialTest, elo: float, num_matches: int, seed: int, batch: int = _BATCH
) -> Rates:
    """Plays matches between players whose true difference is `elo`.

    All matches are tested after each `batch` pairs, by the same function as a real match.
    """
    rng, chances = np.random.default_rng(seed), pair_chances(elo)
    low, high = test.bounds
    counts = np.zeros((num_matches, 5), int)
    llr, playing = np.zeros(num_matches), np.arange(num_matches)
    for _ in range(_MOST_PAIRS // batch):
        counts[playing] += rng.multinomial(batch, chances, len(playing))
        llr[playing] = test.llr(counts[playing])
        playing = playing[(llr[playing] > low) & (llr[playing] < high)]
        if not len(playing):
            break
    return Rates(num_matches, int((llr >= high).sum()), len(playing), 2 * counts.sum(axis=1))


def _share(number: int, of: int) -> str:
    low, high = scipy.stats.binomtest(number, of).proportion_ci()
    return f"{100 * number / of:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    """Prints the table."""
    print("| test | true Elo | accepts elo0 | accepts elo1 | games, median | games, mean |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for test, truths in (
        (sprt.SequentialTest(0, 10), (0, 5, 10)),
        (sprt.SequentialTest(0, 50), (0, 25, 50)),
    ):
        for elo in truths:
            rates = simulate(test, elo, 10_000, seed=elo)
            rest = rates.num_matches - rates.num_accepted - rates.num_undecided
            print(
                f"| {test.elo0:g} and {test.elo1:g} | {elo} | {_share(rest, rates.num_matches)} |"
                f" {_share(rates.num_accepted, rates.num_matches)} |"
                f" {np.median(rates.games):,.0f} | {rates.games.mean():,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
