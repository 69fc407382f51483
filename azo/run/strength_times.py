"""Time to strength: the training that a run needed to equal each of the fixed opponents.

Strength rises almost monotonically in training, so bisection over the checkpoints of a run finds
the first one that scores 50 %. Where strength falls for a while, or chance decides a match, there
are several crossings, and the result is one of them. The standard error of a score of 100 games is
at most 0.05. A match that is clear after the first games ends there. All matches have the same
openings.

`docs/strength_times.jsonl` has one line a measurement. RUN/strength/OPPONENT/ITERATION/games.jsonl
has the games of a match, so a stopped measurement continues and repeats no game.
"""

import bisect
import pathlib
from collections.abc import Callable, Sequence

import pydantic

from azo.measure import arena, external_engines, journal, ladder
from azo.run import (
    checkpoint,
    checkpoint_folder,
    ladder_matches,
    records,
    shipped_files,
    tournament_file,
)

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
    "othello8-400": tournament_file.PlayerConfig(
        name="othello8", network=shipped_files.NETWORKS / "othello8", simulations=(400,)
    ),
}
"""Opponents by their names in tournaments, which have the level or the simulations."""
_HEADER = """\
## Minutes to equal strength

The training until a kept checkpoint scores 50 % or more against an opponent in paired games with
400 simulations a move, newest first: processor minutes / minutes of wall time / evaluations, of the
iterations alone. "over": the last checkpoint does not score 50 %. "at most": the first one that was
kept does. A match that is clear after 20 games ends there. `azo leaderboard RUN --time-to-strength`
measures a run and adds a row to `docs/strength_times.jsonl`; it needs many kept checkpoints
(`run.save_every`, `run.keep_checkpoints`).
"""


class StrengthTime(pydantic.BaseModel, frozen=True, extra="forbid"):
    """The training until equal strength with an opponent, or the whole one if it was too short."""

    is_reached: bool
    iteration: int
    """Of the first checkpoint that scores 50 %, or of the last checkpoint."""
    processor_minutes: float
    wall_minutes: float
    evaluations: int
    matches: dict[int, tuple[int, int, int]]
    """Won, drawn and lost by all checkpoints that met the opponent, by iteration."""

    @property
    def iteration_before(self) -> int | None:
        """The checkpoint before the first one that scores 50 %, None without one."""
        before = [step for step in self.matches if step < self.iteration]
        return max(before) if self.is_reached and before else None

    def __str__(self) -> str:
        sign = "" if self.iteration_before is not None else "at most "
        return (
            f"{sign if self.is_reached else 'over '}{self.processor_minutes:.1f} /"
            f" {self.wall_minutes:.1f} / {self.evaluations / 1e6:.2f} M"
        )


class TimesRecord(records.Training):
    """A run, and its time to equal strength with each opponent."""

    seed: int
    num_games: int
    """Games of each match."""
    times: dict[str, StrengthTime | None]
    """By opponent; None for an engine that is not installed."""


def measure(
    run: pathlib.Path, opponent: str, num_games: int, num_processes: int
) -> StrengthTime | None:
    """Plays the missing matches of a run with one of `OPPONENTS`.

    Args:
      run: its folder.
      opponent: a name in `OPPONENTS`.
      num_games: games of each match, even; of a clear one at most `FEW_GAMES`.
      num_processes: processes of an external engine.

    Returns:
      None if the opponent is an engine that is not installed.

    Raises:
      ValueError: One line: the run has no checkpoints or is for another game, a checkpoint is
        damaged, or the metrics do not say what the checkpoints took.
    """
    steps = records.all_steps(run)
    figures = dict(zip(steps, records.figures(run, steps), strict=True))
    other = OPPONENTS[opponent].model_copy(update={"num_processes": num_processes})
    if other.engine is not None:
        engine = tournament_file.load_engine(other.engine, *other.levels)
        if not external_engines.is_installed(engine):
            return None

    def play(step: int) -> arena.MatchResult:
        network = checkpoint_folder.CheckpointFolder(run).checkpoint(step)
        player = tournament_file.PlayerConfig(
            name=ladder_matches.NAME, network=network, simulations=(NUM_SIMULATIONS,)
        )
        names = [f"{ladder_matches.NAME}-{NUM_SIMULATIONS}", opponent]
        folder = run / "strength" / opponent / str(step)

        def result_of(number: int) -> arena.MatchResult:
            tournament = tournament_file.TournamentConfig(
                players=(player, other), num_games=number, games_at_once=number, game=ladder.GAME
            )
            (match,) = ladder_matches.play(tournament, folder, names)
            return arena.MatchResult(match.wins, match.draws, match.losses)

        first = result_of(min(FEW_GAMES, num_games))
        is_clear = max(first.score, 1 - first.score) >= CLEAR_SCORE
        return first if is_clear else result_of(num_games)

    first, results = find_first(steps, play)
    at = figures[steps[-1] if first is None else first]
    return StrengthTime(
        is_reached=first is not None,
        iteration=at["iteration"],
        processor_minutes=round(at["time/processor_seconds"] / 60, 2),
        wall_minutes=round(at["time/training_seconds"] / 60, 2),
        evaluations=at["selfplay/evaluations"],
        matches={step: (one.wins, one.draws, one.losses) for step, one in results.items()},
    )


def find_first(
    steps: Sequence[int], play: Callable[[int], arena.MatchResult]
) -> tuple[int | None, dict[int, arena.MatchResult]]:
    """Returns the first checkpoint that scores 50 % or more, and all results.

    Assumes scores that rise from one checkpoint to the next. If they do not, the result is still a
    checkpoint that scores 50 %, and the one before it does not.

    Args:
      steps: iterations of the checkpoints, in order.
      play: plays the match of a checkpoint.

    Returns:
      None in place of an iteration if the last checkpoint scores less; and the results by
      iteration, those of the checkpoint and of the one before it included.
    """
    results = {}

    def is_equal(step: int) -> bool:
        results[step] = play(step)
        return results[step].score >= 0.5

    place = bisect.bisect_left(steps, True, key=is_equal)
    return (steps[place] if place < len(steps) else None), dict(sorted(results.items()))


def describe(time: StrengthTime | None) -> str:
    """Returns a measurement in words, with the scores on which it rests."""
    if time is None:
        return _cell(time)
    scores = [
        f"iteration {step}: {arena.MatchResult(*time.matches[step])}"
        for step in (time.iteration, time.iteration_before)
        if step is not None
    ]
    return "; ".join([_cell(time), *scores])


def of_run(run: pathlib.Path, num_games: int, times: dict[str, StrengthTime | None]) -> TimesRecord:
    """Returns the record of a run, given its times by opponent."""
    step = records.latest_step(run)
    return TimesRecord(
        **dict(records.of_training(run, step)),
        seed=checkpoint.read_settings(run, step).run.seed,
        num_games=num_games,
        times=times,
    )


def read(path: pathlib.Path) -> list[TimesRecord]:
    """Returns the records of a file, oldest first; a later one of the same training replaces it.

    Trainings are the same if recipe, seed, commit and hardware are.
    """
    latest: dict[tuple[str, int, str, str], TimesRecord] = {}
    for record in journal.read(path, TimesRecord.model_validate_json):
        training = (record.recipe, record.seed, record.commit, record.hardware)
        latest.pop(training, None)
        latest[training] = record
    return list(latest.values())


def section(times: Sequence[TimesRecord]) -> str:
    """Returns the part of the leaderboard with the times to strength, newest record first."""
    opponents = list(dict.fromkeys(name for record in times for name in record.times))
    head = ["date", "recipe", "seed", "commit", "hardware", "rules alone", "games", *opponents]
    signs = ["---", "---", "---:", "---", "---", "---", "---:"] + ["---:"] * len(opponents)
    rows = [
        [
            f"{record.date}",
            f"`{record.recipe}`",
            f"{record.seed}",
            record.commit,
            record.hardware,
            "yes" if record.from_rules_alone else "no",
            f"{record.num_games}",
            *(_cell(record.times[name]) if name in record.times else "" for name in opponents),
        ]
        for record in reversed(times)
    ]
    return f"{_HEADER}\n{records.table(head, signs, rows)}\n"


def _cell(time: StrengthTime | None) -> str:
    return "not installed" if time is None else str(time)
