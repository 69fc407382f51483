"""Time to strength: the training that a run needed to equal each of the fixed opponents.

Strength rises almost monotonically in training, so bisection over the checkpoints of a run finds
the first one that scores 50 %. Where strength falls for a while, or chance decides a match, there
are several crossings, and the result is one of them: a checkpoint that scores 50 % after one that
does not. The standard error of a score of 100 games is at most 0.05. A match that is clear after
the first games ends there. All matches have the same openings.

RUN/strength/OPPONENT/ITERATION/games.jsonl has the games of a match, so a stopped measurement
continues and repeats no game.
"""

import bisect
import pathlib

from azo.lab import elo, external_engines, ladder, records, tournament_file
from azo.training import checkpoint_folder, shipped_files

NUM_SIMULATIONS = 400
"""Simulations a move of the measured networks."""
FEW_GAMES = 20
"""Games after which a clear match ends."""
CLEAR_SCORE = 0.85
"""A score of `FEW_GAMES` that is clear for either side: once in 400 matches of equal players."""
_RHINO = shipped_files.CONFIGS / "engines" / "gtp-rhino.toml"
OPPONENTS = {
    "iagno-hard": tournament_file.PlayerConfig(name="iagno-hard", player="iagno:hard"),
    "alphabeta-4": tournament_file.PlayerConfig(name="alphabeta-4", player="alphabeta:4"),
    "gtp-rhino-2": tournament_file.PlayerConfig(name="gtp-rhino", engine=_RHINO, levels=(2,)),
    "gtp-rhino-3": tournament_file.PlayerConfig(name="gtp-rhino", engine=_RHINO, levels=(3,)),
    "patterns-6": tournament_file.PlayerConfig(name="patterns-6", player="patterns:6"),
}
"""Opponents by their names in tournaments, which have the level or the simulations."""


def measure(
    run: pathlib.Path, opponent: str, num_games: int, num_processes: int
) -> records.StrengthTime | None:
    """Plays the missing matches of a run with one of `OPPONENTS`.

    A match has `num_games`, or if it is clear at most `FEW_GAMES`. `num_processes` are those of an
    external engine. Returns None for an engine that is not installed. Raises ValueError for a run
    without checkpoints or costs, or for another game, and for a damaged checkpoint.
    """
    steps = records.all_steps(run)
    costs = records.costs(run, steps)
    other = OPPONENTS[opponent].model_copy(update={"num_processes": num_processes})
    if other.engine is not None:
        engine = tournament_file.load_engine(other.engine, *other.levels)
        if not external_engines.is_installed(engine):
            return None
    results: dict[int, elo.MatchResult] = {}

    def is_equal(step: int) -> bool:
        player = tournament_file.PlayerConfig(
            name=ladder.NAME,
            network=checkpoint_folder.folder_of(run, step),
            simulations=(NUM_SIMULATIONS,),
        )
        for number in (min(FEW_GAMES, num_games), num_games):
            folder = run / "strength" / opponent / str(step)
            played = ladder.play(player, {opponent: other}, folder, number, games_at_once=number)
            results[step] = played[opponent]
            score = results[step].score
            if max(score, 1 - score) >= CLEAR_SCORE:
                break
        return score >= 0.5

    place = bisect.bisect_left(steps, True, key=is_equal)
    last = len(steps) - 1
    return records.StrengthTime(
        **dict(costs[min(place, last)]),
        bound="over " if place > last else "at most " if place == 0 else "",
        matches={step: result.counts for step, result in results.items()},
    )
