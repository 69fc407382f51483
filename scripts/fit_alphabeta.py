"""Fits the evaluation of alpha-beta, and its ProbCut, to a network and to games of its own.

    python -m scripts.fit_alphabeta zero-fast
    python -m scripts.fit_alphabeta zero-fast --continue  # only step 4

1. The network plays games with itself: up to 45 random plies, then the move with the best expected
   score after one ply, and every twentieth move at random. Each position of the second part has the
   score that the network expects after its best move. The weights are the ridge regression of these
   scores by stage.
2. Alpha-beta plays games with itself by these weights (`azo.alphabeta.self_play`). The weights of
   the stages with at most 31 empty squares are fitted to the scores in which these games ended; the
   regression shrinks the change. It leaves the earlier stages as they are, since a game between
   searches of few plies says less about an early position than the network does.
3. A second round plays better games, with the new weights and deeper searches. It fits only to
   these games.
4. Alpha-beta plays more such games with the new weights. PUCT searches their positions with 32 to
   53 empty squares with the network, and the weights of these stages are fitted to the values: the
   network knows more after 400 simulations than after one ply.

One process per core plays the games of alpha-beta, and searches. The number of cores does not
change the result.

No game by a human or another program is read. After the first step, after each round of games and
at the end, the deviations of deep searches from shallow ones are measured, for ProbCut. The result
is written as `alphabeta.npz` into the folder of the network, whose checksums are renewed.
docs/notebook/alphabeta.md has times and errors.
"""

import argparse
import concurrent.futures
import functools
import multiprocessing
import pathlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from azo.alphabeta import evaluation, fitting, search, self_play, weights
from azo.engine import engine_factory
from azo.engine.engine_settings import EngineConfig, Limits
from azo.engine.live_search import Evaluator, LiveSearch
from azo.games import notation
from azo.games.host.compiling import jit
from azo.games.host.kernels import FULL, ONE, ZERO, count, first, legal_moves, play
from azo.settings import shipped_files
from azo.solver.host import table
from azo.storage import files

_MOST_RANDOM = 45  # plies before the network plays
_RANDOM_SHARE = 0.05  # of its moves
_MOST_MOVES = 34

_TO_NETWORK = {"ridge": 10.0, "num_steps": 15}

# Of the fit to final scores: they deviate by 10 discs from what a position is worth, and positions
# of one game share one. Smaller ridges fit new games better, but exact scores worse.
_SCORE_STAGES = range(6, 16)
_TO_SCORES = {"ridge": 2000.0, "num_steps": 12, "decided": 16.0}
_ROUNDS = (4, 0.2), (6, 0.8)  # plies of the searches, and share of the games
_LOG_ROWS, _FACTOR = 11, 1.5  # of these searches
_GAMES_PER_PART = 2_000

# Of the fit to values of PUCT.
_VALUE_STAGES = range(16, 27)
_TO_VALUES = {"ridge": 300.0, "num_steps": 15}
_VALUE_SEARCH = EngineConfig(score_share=0.8, c_puct=0.5)
_VALUE_SIMULATIONS = 400
_POSITIONS_PER_GAME = 10  # of these stages, at least, in games of alpha-beta
_POSITIONS_PER_PART = 5_000
_CLEAR_RESULT = 0.9  # expected; beyond it, the score does not follow from it
_FEW_POSITIONS = 100_000  # of games of the network, which have few empty squares at their end

# Depths of the shallow searches that may replace one of a depth; two are tried in this order.
_SHALLOW = {
    2: (0,), 3: (1,), 4: (2,), 5: (1, 3), 6: (2,), 7: (3,), 8: (2, 4), 9: (3,), 10: (4,),
    11: (3, 5), 12: (4, 6), 13: (5,), 14: (4, 6), 15: (5,), 16: (6, 8), 17: (7,), 18: (6, 8),
    19: (7,), 20: (8,), 21: (7,), 22: (8, 10), 23: (9,), 24: (10,),
}  # fmt: skip
_FULL_DEPTH, _MAX_MEASURED = 8, 12  # without cuts, and with those of the less deep ones
_STAGES = range(5, 27)  # measured; the others have the cuts of the nearest one
_NUM_NEAR = 2  # stages on each side whose positions count too
_MAX_DECIDED = 30  # discs: the values of more decided positions do not matter

_NUM_ENTRIES = int(evaluation.shared_entries().max()) + 1


def main(argv: Sequence[str]) -> int:
    """Fits and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", type=pathlib.Path, help="folder or name of a network for 8x8")
    parser.add_argument("--positions", type=int, default=12_000_000)
    parser.add_argument("--games", type=int, default=240_000, help="of steps 2 and 3; 0: none")
    parser.add_argument("--values", type=int, default=400_000, help="positions of step 4; 0: none")
    parser.add_argument("--searched", type=int, default=80, help="positions of a stage for ProbCut")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--continue",
        dest="continues",
        action="store_true",
        help="begin with the weights that the folder has, and do only step 4",
    )
    flags = parser.parse_args(argv)
    start = time.monotonic()

    def note(text: str) -> None:
        print(f"{text}, {time.monotonic() - start:.0f} s", flush=True)

    evaluator = engine_factory.load_evaluator(engine_factory.NetworkChoice(network=flags.network))
    folder = shipped_files.find_network(flags.network)
    number = _FEW_POSITIONS if flags.continues else flags.positions
    examples = positions(evaluator, number, seed=flags.seed)
    note(f"{len(examples[0])} positions")
    is_end = fitting.num_empties(*examples[:2]) < self_play.SOLVED
    ends = [side[is_end] for side in examples[:2]]
    if flags.continues:
        learned = _load(folder)
    else:
        learned = _fit_to_network(examples, flags)
        if flags.games:
            learned = _fit_to_scores(learned, ends, flags, note)
    if flags.values:
        learned = _fit_to_values(learned, evaluator, ends, flags, note)
    scaled = np.clip(np.rint(learned.own * evaluation.UNIT), -32767, 32767).astype(np.int16)
    weights.save(folder / weights.FILE, scaled, learned.cuts)
    files.write_checksums(folder)
    note(str(folder / weights.FILE))
    return 0


class Learned(NamedTuple):
    """Weights and the ProbCut that was measured with them."""

    own: np.ndarray  # weights in discs, [NUM_STAGES, distinct entries] float32
    cuts: np.ndarray  # [NUM_STAGES, MAX_CUT_DEPTH + 1, NUM_CUTS] CUT


def _load(folder: pathlib.Path) -> Learned:
    """Returns what the folder of a network has."""
    learned = weights.load(folder)
    if learned is None:
        raise SystemExit(f"{folder} has no {weights.FILE} to continue with")
    own = np.zeros((evaluation.NUM_STAGES, _NUM_ENTRIES), np.float32)
    own[:, evaluation.shared_entries()] = learned.weights / evaluation.UNIT
    return Learned(own, learned.cuts)


def _fit_to_network(examples: Sequence[np.ndarray], flags: argparse.Namespace) -> Learned:
    """Does step 1, with the positions of games of the network and their targets."""
    zero = np.zeros((evaluation.NUM_STAGES, _NUM_ENTRIES), np.float32)
    own = fit(zero, range(evaluation.NUM_STAGES), *examples, **_TO_NETWORK)
    return Learned(own, _measure(own, examples[:2], flags))


def _fit_to_scores(
    learned: Learned,
    ends: Sequence[np.ndarray],
    flags: argparse.Namespace,
    note: Callable[[str], None],
) -> Learned:
    """Does steps 2 and 3; `ends` are positions that games of alpha-beta do not reach."""
    base = learned.own
    for game_round, (depth, share) in enumerate(_ROUNDS):
        seeds = np.random.SeedSequence([flags.seed, game_round])
        examples = play_games(learned, round(share * flags.games), depth=depth, seeds=seeds)
        note(f"{len(examples.player)} positions")
        own = fit(base, _SCORE_STAGES, *examples, **_TO_SCORES)
        learned = Learned(own, _measure(own, _joined(examples[:2], ends), flags))
    return learned


def _fit_to_values(
    learned: Learned,
    evaluator: Evaluator,
    ends: Sequence[np.ndarray],
    flags: argparse.Namespace,
    note: Callable[[str], None],
) -> Learned:
    """Does step 4."""
    seeds = np.random.SeedSequence([flags.seed, len(_ROUNDS)])
    number = -(-flags.values // _POSITIONS_PER_GAME)
    examples = play_games(learned, number, depth=_ROUNDS[-1][0], seeds=seeds)
    note(f"{len(examples.player)} positions")
    stages = fitting.num_empties(*examples[:2]) // evaluation.STAGE_EMPTIES
    rows = np.flatnonzero(np.isin(stages, _VALUE_STAGES))[: flags.values]
    early = examples.player[rows], examples.opponent[rows]
    values = search_values(flags.network, *early)
    note(f"{len(values)} values")
    target = to_discs(values, evaluator, *early)
    own = fit(learned.own, _VALUE_STAGES, *early, target, **_TO_VALUES)
    return Learned(own, _measure(own, _joined(examples[:2], ends), flags))


def _measure(own: np.ndarray, sides: Sequence[np.ndarray], flags: argparse.Namespace) -> np.ndarray:
    return measure_cuts(own, *sides, num=flags.searched, seed=flags.seed)


def _joined(*pairs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns both sides' discs of several pairs of them."""
    return [np.concatenate(side) for side in zip(*pairs, strict=True)]


def positions(
    evaluator: Evaluator, number: int, *, seed: int, num_games: int = 4096
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns at least `number` positions: both sides' discs, and scores for the side to move.

    `num_games` games are played side by side.
    """
    rng = np.random.default_rng(seed)
    self_play.seed_draws(seed)
    parts, found = [], 0
    while found < number:
        parts.append(_play_games(evaluator, rng, num_games))
        found += len(parts[-1][0])
    player, opponent, target = map(np.concatenate, zip(*parts, strict=True))
    return player, opponent, target


def _play_games(evaluator, rng, num_games):
    P, O = (np.full(num_games, discs, np.uint64) for discs in self_play.START)
    num_random = rng.integers(0, _MOST_RANDOM, num_games)
    going, parts, ply = np.ones(num_games, bool), [], 0
    while going.any():
        games = np.flatnonzero(going)
        own, other = P[games], O[games]
        is_random = ply < num_random[games]
        room = _MOST_MOVES * len(games)
        after_P, after_O = np.zeros((2, room), np.uint64)
        starts, is_passed = np.zeros(len(games) + 1, int), np.zeros(room, bool)
        num = _list_children(own, other, after_P, after_O, is_passed, starts)
        scores = np.zeros(num, np.float32)
        rows = np.flatnonzero(np.repeat(~is_random, np.diff(starts)))
        if len(rows):
            sides = after_P[rows], after_O[rows]
            output = np.asarray(evaluator.request(*sides, batch_size=len(rows)))
            scores[rows] = evaluator.game.size**2 * output[:, -1]
        targets, is_over = np.zeros(len(games), np.float32), np.zeros(len(games), bool)
        before = own.copy(), other.copy()
        _choose(
            own, other, after_P, after_O, is_passed, starts, scores, is_random, targets, is_over
        )
        parts.append((before[0][~is_random], before[1][~is_random], targets[~is_random]))
        P[games], O[games], going[games] = own, other, ~is_over
        ply += 1
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


@jit
def _list_children(P, O, after_P, after_O, is_passed, starts):
    """Writes the positions after all moves, for the side to move there; returns their number."""
    num = 0
    for game in range(len(P)):
        starts[game] = num
        legal = legal_moves(P[game], O[game], FULL)
        while legal:
            square = first(legal)
            legal &= legal - ONE
            own, other = play(P[game], O[game], square)
            is_passed[num] = not legal_moves(own, other, FULL)
            if is_passed[num]:
                own, other = other, own
            after_P[num], after_O[num] = own, other
            num += 1
    starts[len(P)] = num
    return num


@jit
def _choose(P, O, after_P, after_O, is_passed, starts, scores, is_random, targets, is_over):
    """Plays a move in each game; writes the score of the best one, and which games are over."""
    for game in range(len(P)):
        begin, end = starts[game], starts[game + 1]
        best, best_score = begin, np.float32(-np.inf)
        for child in range(begin, end):
            own, other = after_P[child], after_O[child]
            score = scores[child]
            if legal_moves(own, other, FULL) == ZERO:  # and the other side has passed
                score = np.float32(_final_score(own, other))
            score = score if is_passed[child] else -score
            if score > best_score:
                best, best_score = child, score
        targets[game] = best_score
        if is_random[game] or np.random.random() < _RANDOM_SHARE:
            best = begin + np.random.randint(end - begin)
        P[game], O[game] = after_P[best], after_O[best]
        is_over[game] = legal_moves(P[game], O[game], FULL) == ZERO


@jit
def _final_score(own, other):
    margin = count(own) - count(other)
    empty = 64 - count(own | other)
    return margin + empty if margin > 0 else margin - empty if margin < 0 else 0


def fit(
    start: np.ndarray,
    stages: Sequence[int],
    player: np.ndarray,
    opponent: np.ndarray,
    target: np.ndarray,
    **regression: Any,
) -> np.ndarray:
    """Returns weights in discs `[NUM_STAGES, distinct entries]`, with some stages fitted anew.

    `regression` are the last arguments of `fitting.fit_stage`.
    """
    own, weight = start.copy(), np.ones(len(player))
    for stage in stages:
        own[stage], used, error = fitting.fit_stage(
            stage, player, opponent, target, weight, start[stage], **regression
        )
        print(f"stage {stage}: {used} positions, mean error {error:.2f} discs", flush=True)
    return own


def play_games(
    learned: Learned, number: int, *, depth: int, seeds: np.random.SeedSequence
) -> self_play.ScoredPositions:
    """Returns the positions of games of alpha-beta, played by a process per core."""
    entries = fitting.to_entries(learned.own)
    numbers = [min(_GAMES_PER_PART, number - at) for at in range(0, number, _GAMES_PER_PART)]
    parts = [int(seed) for seed in seeds.generate_state(len(numbers))]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(mp_context=context) as pool:
        play_part = functools.partial(_play_part, entries, learned.cuts, depth)
        found = list(pool.map(play_part, numbers, parts))
    return self_play.ScoredPositions(*map(np.concatenate, zip(*found, strict=True)))


def _play_part(entries, cuts, depth, number, seed):
    memory = search.make_search(entries, cuts, log_rows=_LOG_ROWS, factor=_FACTOR)
    return self_play.play_games(number, memory, depth=depth, seed=seed)


def search_values(network: pathlib.Path, player: np.ndarray, opponent: np.ndarray) -> np.ndarray:
    """Returns the mean values of searches by PUCT for the side to move, by a process per core.

    Their share of the score is that of `_VALUE_SEARCH`.
    """
    cuts = range(_POSITIONS_PER_PART, len(player), _POSITIONS_PER_PART)
    parts = np.split(player, cuts), np.split(opponent, cuts)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(mp_context=context) as pool:
        return np.concatenate(list(pool.map(functools.partial(_search_part, network), *parts)))


def _search_part(network, player, opponent):
    choice = engine_factory.NetworkChoice(network=network)
    tree = LiveSearch(engine_factory.load_evaluator(choice), _VALUE_SEARCH)
    values = np.zeros(len(player))
    for row, (P, O) in enumerate(zip(player.tolist(), opponent.tolist(), strict=True)):
        tree.restart(notation.Board(P, O, is_black_to_move=True))
        tree.grow(Limits(num_simulations=_VALUE_SIMULATIONS))
        values[row] = tree.mean_value
    return values


def to_discs(
    values: np.ndarray, evaluator: Evaluator, player: np.ndarray, opponent: np.ndarray
) -> np.ndarray:
    """Returns the scores in discs of values that mix result and score as `_VALUE_SEARCH` does.

    The result is taken to be the hyperbolic tangent of the score in some unit. The unit is that of
    the network's own results and scores of the positions.
    """
    output = np.asarray(evaluator.request(player, opponent, batch_size=len(player)))
    result, score = output[:, -2:].T
    is_open = np.abs(result) < _CLEAR_RESULT
    squares = evaluator.game.size**2
    unit = np.polyfit(np.arctanh(result[is_open]), squares * score[is_open], 1)[0]
    share, discs = _VALUE_SEARCH.score_share, np.linspace(-2 * squares, 2 * squares, 10_001)
    mixed = (1 - share) * np.tanh(discs / unit) + share * discs / squares
    return np.interp(values, mixed, discs)


def measure_cuts(
    own: np.ndarray, player: np.ndarray, opponent: np.ndarray, *, num: int, seed: int
) -> np.ndarray:
    """Returns the cuts of weights in discs, `[NUM_STAGES, MAX_CUT_DEPTH + 1, NUM_CUTS]` CUT.

    The value at each depth is regressed on that of a shallower search of the same position. Depths
    beyond those that are measured have the deviation that grows with the logarithm of the quotient
    of both depths.
    """
    stages = fitting.num_empties(player, opponent) // evaluation.STAGE_EMPTIES
    entries, cuts = fitting.to_entries(own), search.no_cuts()
    for top in (_FULL_DEPTH, _MAX_MEASURED):
        memory = search.make_search(entries, cuts, log_rows=16, factor=2.0)
        memory.counters[search.LIMIT] = 1 << 60
        values = {}
        for stage in _STAGES:
            rows = np.flatnonzero(stages == stage)
            rows = np.random.default_rng([seed, stage]).choice(rows, min(num, len(rows)), False)
            found = [_values(player[row], opponent[row], top, memory) for row in rows]
            values[stage] = np.array(found, float).reshape(-1, top + 1)
        for stage in _STAGES:
            near = [one for one in _STAGES if abs(one - stage) <= _NUM_NEAR]
            _fit_cuts(cuts[stage], np.concatenate([values[one] for one in near]), top)
    for stage in _STAGES:
        _extend_cuts(cuts[stage])
    for stage in range(evaluation.NUM_STAGES):
        cuts[stage] = cuts[min(max(stage, _STAGES[0]), _STAGES[-1])]
    return cuts


def _values(P, O, top, memory):
    """Returns the values of a position at depths 0 to `top`."""
    table.clear(memory.memory)
    whole = search.INFINITE
    return [search.run(P, O, depth, -whole, whole, memory) for depth in range(top + 1)]


def _fit_cuts(cuts, values, top):
    """Writes the cuts of a stage `[depths, NUM_CUTS]`, up to a depth."""
    for depth in range(1, top + 1):
        for place, shallow in enumerate(_SHALLOW.get(depth, ())):
            part = values[np.abs(values[:, shallow]) < _MAX_DECIDED * evaluation.UNIT]
            slope, offset = np.polyfit(part[:, shallow], part[:, depth], 1)
            error = part[:, depth] - slope * part[:, shallow] - offset
            cuts[depth, place] = shallow, slope, offset, np.sqrt((error**2).mean())


def _extend_cuts(cuts):
    """Writes the cuts of a stage at depths that were not measured."""
    known = [
        (np.log(depth / cut["depth"]), cut["deviation"])
        for depth in range(5, _MAX_MEASURED + 1)
        for cut in cuts[depth]
        if cut["depth"] > 0
    ]
    logs, deviations = np.transpose(known)
    growth, base = np.polyfit(logs, deviations, 1)
    for depth in range(_MAX_MEASURED + 1, search.MAX_CUT_DEPTH + 1):
        for place, shallow in enumerate(_SHALLOW[depth]):
            deviation = max(base + growth * np.log(depth / shallow), deviations.min())
            cuts[depth, place] = shallow, 1.0, 0.0, deviation


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
