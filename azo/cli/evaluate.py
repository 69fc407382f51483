"""Measures players: by a match, or a network by known scores.

    azo evaluate runs/quickstart rollouts:100
    azo evaluate runs/quickstart rollouts:100 --sprt.elo1 30
    azo evaluate runs/quickstart --exact random:10 ffo.obf --simulations 0 100

PLAYER and OPPONENT are `random`, `greedy`, `iagno:LEVEL` (easy, medium or hard), `alphabeta:DEPTH`
(in plies), `patterns:DEPTH` (alpha-beta on pattern weights, in discs), `rollouts:N` (PUCT with N
random games a move), the FOLDER of a run or of an exported network (searching as in its self-play,
but greedily), `network:FOLDER:N` (with N simulations a move) or `policy:FOLDER` (without search).
`othello8` is a shipped network. The game is that of the first network; `--game.*` gives it if no
player is a network.

With `--sprt.*`, batches of games with new openings are played until a sequential test decides
whether the first player is better. With `--exact`, the values and moves of a network are compared
with known scores of positions: docs/puzzles.md. A set is a FILE of OBF lines or CSV (also .gz) with
exact scores or estimates, `random:N` for solved positions with N empty squares from random games,
or `line` for the published perfect games of 6x6. With `--json`, each match and each row of the
table is one JSON object.
"""

import functools
import json
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import jax
import pydantic
import tyro

from azo.cli import command_line
from azo.games import othello, protocol, registry, setting_types
from azo.measure import arena, elo, players, sequential
from azo.measure.tournament import openings
from azo.run import metrics, network_files, score_comparison
from azo.search import settings

_OPPONENT = "rollouts:100"
# A line of text, and the object that `--json` prints in its place, if any.
_Output = Iterator[tuple[str, dict[str, Any] | None]]


class SprtConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A sequential test of whether the first player is better."""

    elo0: setting_types.Finite = 0.0
    """The hypothesis "not better": an Elo difference of at most this."""
    elo1: setting_types.Finite | None = None
    """The hypothesis "better": an Elo difference of at least this. Required for a test."""
    alpha: setting_types.Finite = 0.05
    """Rate of the error "better" at elo0."""
    beta: setting_types.Finite = 0.05
    """Rate of the error "not better" at elo1."""
    max_games: setting_types.PositiveInt = 10_000
    """Games after which the test ends undecided."""


class EvaluateConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A match between two players; with --exact, a network against known scores."""

    first: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PLAYER")]
    """The player whose result is given."""
    second: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="OPPONENT")] = _OPPONENT
    """Its opponent."""
    num_games: setting_types.Games = 128
    """Games: pairs from the same random opening with both colours. With --sprt.*: of a batch."""
    opening_plies: setting_types.Plies = 4
    """Random plies at the start of each game."""
    openings: pathlib.Path | None = None
    """File with one opening a line, all of one length, to draw from in place of random plies."""
    seed: setting_types.Seed = 0
    """Of openings, players and sets of positions; the same seed repeats the result."""
    game: registry.GameConfig = registry.GameConfig()
    """The game, if neither player is a network."""
    sprt: SprtConfig = SprtConfig()
    json_lines: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print one JSON object a match, or a row of the table, in place of text."""
    exact: Annotated[tuple[str, ...], tyro.conf.arg(metavar="SET [SET ...]")] = ()
    """Compare a network with known scores: FILE, random:EMPTIES or line."""
    simulations: tuple[Annotated[int, pydantic.Field(ge=0, le=settings.MAX_SIMULATIONS)], ...] = ()
    """With --exact: simulations a move, 0 without search; by default 0 and those of the player."""
    limit: setting_types.PositiveInt = 1000
    """With --exact: positions a set, drawn by the seed."""
    solve_empties: Annotated[int, pydantic.Field(ge=0, le=20)] = 14
    """With --exact: solve moves without known scores up to so many empty squares."""
    plot: pathlib.Path | None = None
    """With --exact: HTML page to write, with a plot of the mean result by value."""


def main(argv: Sequence[str]) -> int:
    """Plays the match, or compares with known scores, and prints the results; returns 0."""
    match = command_line.parse(EvaluateConfig, argv, prog="azo evaluate", description=__doc__)
    game = _rules(match, is_game_given=any(flag.startswith("--game.") for flag in argv))
    if match.exact:
        output = compare(match, game)
    elif match.simulations or match.plot is not None:
        raise ValueError("--simulations and --plot are for --exact SET ...")
    elif match.sprt != SprtConfig():
        output = decide(match, game)
    else:
        output = play(match, game)
    for line, data in output:
        if not match.json_lines:
            print(line, flush=True)
        elif data is not None:
            print(json.dumps(data), flush=True)
    return 0


def play(match: EvaluateConfig, game: protocol.Game) -> _Output:
    """Yields the result of a match on the default device."""
    with command_line.waiting(f"compiling and playing {match.num_games} games"):
        result = _batch_player(match, game)(jax.random.key(match.seed))
    yield f"{match.first} against {match.second}: {result}", _match_data(match, result)
    if note := _training_note(match):
        yield note, None


def _training_note(match: EvaluateConfig) -> str:
    """Returns how the matches of a run against this opponent differ from this one, "" without."""
    name, trained = "evaluation/opponent", network_files.folder_of(match.first)
    if trained is None:
        return ""
    events = metrics.read(trained, "evaluation")
    scores = [event["evaluation/score"] for event in events if event.get(name) == match.second]
    if not scores:
        return ""
    settings = network_files.load_settings(trained)
    here = str(settings.search.num_simulations)
    if match.first.startswith("policy:"):
        here = "0"
    elif counted := re.fullmatch(r"network:.+:(\d+)", match.first):
        here = counted[1]
    return (
        f"Matches of its training against {match.second}: {len(scores)}, best score"
        f" {max(scores):.3f}, with {settings.evaluation.num_simulations} simulations a move (here"
        f" {here}) and other openings, of {settings.evaluation.opening_plies} random plies. The"
        " best of several scores is too high on average."
    )


def _match_data(match: EvaluateConfig, result: arena.MatchResult) -> dict[str, Any]:
    return {
        "players": [match.first, match.second],
        "wins": result.wins,
        "draws": result.draws,
        "losses": result.losses,
        "pair_scores": result.pair_scores,
        "score": result.score,
        "interval": result.interval(),
    }


def decide(match: EvaluateConfig, game: protocol.Game) -> _Output:
    """Yields a line for each batch of games of a sequential test, and then the verdict.

    A test ends at a favourable moment, so the final difference is too large on average.
    """
    sprt, run_key, play_batch = match.sprt, jax.random.key(match.seed), _batch_player(match, game)
    if sprt.elo1 is None:
        raise ValueError("a test with --sprt.* needs --sprt.elo1, say 30")
    limits = sprt.model_dump(exclude={"max_games"})
    if match.num_games > sprt.max_games:
        raise ValueError(
            f"--sprt.max-games {sprt.max_games} is less than a batch, --num-games"
            f" {match.num_games}: choose smaller batches"
        )
    total = arena.MatchResult(0, 0, 0, pair_scores=(0, 0, 0, 0, 0))
    test = sequential.sequential_test((0, 0, 0, 0, 0), **limits)
    while test.verdict == "undecided" and total.num_games + match.num_games <= sprt.max_games:
        total += play_batch(jax.random.fold_in(run_key, total.num_games))
        assert total.pair_scores is not None
        test = sequential.sequential_test(total.pair_scores, **limits)
        ratio = f"log-likelihood ratio {test.llr:.2f} ({test.lower:.2f} to {test.upper:.2f})"
        yield f"{total.num_games} games: {total}, {ratio}", None
    yield f"{match.first} against {match.second}: {total}", None
    half_point = 0.5 / total.num_games  # subtracted from a perfect score, or added to 0
    difference = elo.from_score(min(max(total.score, half_point), 1 - half_point))
    low, high = map(elo.from_score, total.interval())
    verdict = {"verdict": test.verdict, "log_likelihood_ratio": test.llr}
    conclusion = f"{_conclusion(match, test.verdict)} after {total.num_games} games"
    rated = f"difference {difference:+.0f} Elo, 95 % {low:+.0f} to {high:+.0f}"
    yield f"{conclusion}: {rated}", _match_data(match, total) | verdict


def _batch_player(
    match: EvaluateConfig, game: protocol.Game
) -> Callable[[jax.Array], arena.MatchResult]:
    """Returns a function from a key to the result of a match or of a batch of a test."""
    load = network_files.loader(game)
    first, second = (players.parse(text, game, load) for text in (match.first, match.second))
    play_match = functools.partial(arena.play_match, game, first, second, num_games=match.num_games)
    path = match.openings
    if path is None:
        return functools.partial(play_match, opening_plies=match.opening_plies)
    if not isinstance(game, othello.Othello):
        raise ValueError(f"--openings needs Othello, not {game.name}")

    def play_from_file(key: jax.Array) -> arena.MatchResult:
        drawn = openings.from_file(path, game, key, count=match.num_games // 2)
        starts = openings.positions_after(game, drawn)
        return play_match(key, opening_plies=len(starts.actions), openings=starts)

    return play_from_file


def _conclusion(match: EvaluateConfig, verdict: sequential.Verdict) -> str:
    sprt = match.sprt
    if verdict == "better":
        more = f"by more than {sprt.elo0:g} Elo (error rate {sprt.alpha:g})"
        return f"{match.first} is better than {match.second}, {more},"
    if verdict == "not better":
        less = f"by as much as {sprt.elo1:g} Elo (error rate {sprt.beta:g})"
        return f"{match.first} is not better than {match.second}, {less},"
    return f"undecided whether {match.first} is better than {match.second}"


def compare(match: EvaluateConfig, game: protocol.Game) -> _Output:
    """Yields the table of a network's accuracy on sets of positions."""
    if match.sprt != SprtConfig():
        raise ValueError("--exact plays no games, but --sprt.* is a test on games: remove one")
    if match.second != _OPPONENT:
        raise ValueError(f"--exact measures one network: leave {match.second!r} out")
    if not isinstance(game, othello.Othello):
        raise ValueError(f"--exact needs a network for Othello, not for {game.name}")
    player = players.parse(match.first, game, network_files.loader(game))
    if not isinstance(player, players.NetworkPlayer | players.PolicyPlayer):
        raise ValueError(f"--exact measures a network, not {match.first!r}")
    if isinstance(player, players.PolicyPlayer) and any(match.simulations):
        raise ValueError(f"{match.first} has no search: leave 'policy:' or --simulations out")
    return score_comparison.compare(
        game,
        player,
        match.exact,
        simulations=match.simulations,
        limit=match.limit,
        solve_empties=match.solve_empties,
        seed=match.seed,
        plot=match.plot,
    )


def _rules(match: EvaluateConfig, *, is_game_given: bool) -> protocol.Game:
    """Returns the game of the first network, or that of the flags if there is none."""
    for player in (match.first, match.second):
        trained_for = network_files.game_of(player)
        if trained_for is None:
            continue
        game = registry.make(trained_for)
        if is_game_given and game != registry.make(match.game):
            given, trained = match.game.model_dump(), trained_for.model_dump()
            names = [name for name in given if given[name] != trained[name]]
            raise ValueError(
                f"--game.* asks for {_listed(given, names)}, but {player} was trained with"
                f" {_listed(trained, names)}: leave --game.* out"
            )
        return game
    return registry.make(match.game)


def _listed(settings: dict[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name} {settings[name]}" for name in names)
