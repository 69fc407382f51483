"""Judges players: by a match, or a network by exact scores.

A match: `azo evaluate runs/quickstart rollouts:100`.

A player is `random`, `greedy`, `iagno:LEVEL` (easy, medium or hard), `alphabeta:DEPTH` (in plies),
`rollouts:N` (PUCT with N random games a move), the folder of a run or of an exported network
(searching as in its self-play, but greedily), `network:FOLDER:N` (with N simulations a move) or
`policy:FOLDER` (no search). The game is that of the first folder named;
`--game.*` says it where no folder is, and may not contradict one.

Whether the first is better, with stated error rates: `--sprt.elo1 30`. Batches of `--num-games`
with new openings are played until a sequential test on the points of each opening decides. The
claim is about the openings that are drawn, so it holds even where few are distinct.

Exact scores: `azo evaluate network:runs/quickstart:100 --exact FILE random:10 line`. The
network by itself and with its search is compared with the truth, a line of a table each, for every
set of positions: those of a FILE of OBF lines or CSV (also .gz), whose scores are taken to be exact
and of the network's variant; `random:N`, solved positions with N empty squares from random games;
`line`, the published perfect games of 6x6, which also says which of their moves are chosen.
"""

import functools
import pathlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import jax
import numpy as np
import pydantic
import tyro

from azo.cli import command_line
from azo.formats import obf
from azo.games import notation, othello, protocol, registry
from azo.measure import arena, elo, exact, exact_sets, players, sequential
from azo.run import network_files

_OPPONENT = "rollouts:100"


class SprtConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A sequential test of whether the first player is better."""

    elo0: float = 0.0
    """The first is not better if it is at most so many points of Elo above the opponent."""
    elo1: float | None = None
    """It is better if it is at least so many above; without this one match is played, no test."""
    alpha: float = 0.05
    """How often "better" may be said at elo0."""
    beta: float = 0.05
    """How often "not better" may be said at elo1."""
    max_games: pydantic.PositiveInt = 10_000
    """Games after which the test ends undecided."""


class EvaluateConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A match between two players; with --exact, a network against exact scores."""

    first: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PLAYER")]
    """Whose side the result is told from."""
    second: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="OPPONENT")] = _OPPONENT
    """Its opponent."""
    num_games: int = 128
    """Games: pairs from the same random opening with both colours; with --sprt.* of a batch."""
    opening_plies: int = 4
    """Random plies at the start of each game."""
    seed: int = 0
    """Of openings and players; the same seed repeats the match."""
    game: registry.GameConfig = registry.GameConfig()
    """The game, if neither player is a network."""
    sprt: SprtConfig = SprtConfig()
    exact: Annotated[tuple[str, ...], tyro.conf.arg(metavar="SET [SET ...]")] = ()
    """No match, but the network's values and moves on positions: a FILE, random:EMPTIES or line."""
    limit: pydantic.PositiveInt = 1000
    """With --exact: positions a set, drawn by the seed."""
    solve_empties: Annotated[int, pydantic.Field(ge=0, le=20)] = 14
    """With --exact: up to so many empty squares, moves whose scores no file tells are solved."""


def main(argv: Sequence[str]) -> int:
    """Plays the match, or judges by exact scores, and prints what came out; returns 0."""
    match = command_line.parse(EvaluateConfig, argv, prog="azo evaluate")
    game = _rules(match, is_game_given=any(flag.startswith("--game.") for flag in argv))
    if match.exact:
        lines = judge(match, game)
    elif match.sprt != SprtConfig():
        lines = decide(match, game)
    else:
        lines = iter([f"{match.first} against {match.second}: {play(match, game)}"])
    for line in lines:
        print(line, flush=True)
    return 0


def play(match: EvaluateConfig, game: protocol.Game) -> arena.MatchResult:
    """Plays the match on the default device."""
    return _meeting(match, game)(jax.random.key(match.seed))


def decide(match: EvaluateConfig, game: protocol.Game) -> Iterator[str]:
    """Yields a line for each batch of games, and then the verdict.

    A test ends at a lucky or an unlucky moment, so the difference that it ends with is too large on
    average.
    """
    asked, run_key, play_batch = match.sprt, jax.random.key(match.seed), _meeting(match, game)
    if asked.elo1 is None:
        raise ValueError("--sprt.* is for a test, which needs --sprt.elo1, say 30")
    limits = {"elo0": asked.elo0, "elo1": asked.elo1, "alpha": asked.alpha, "beta": asked.beta}
    if match.num_games > asked.max_games:
        raise ValueError(
            f"--sprt.max-games {asked.max_games} is less than a batch, --num-games"
            f" {match.num_games}: choose smaller batches"
        )
    total = arena.MatchResult(0, 0, 0, pair_scores=(0, 0, 0, 0, 0))
    found = sequential.sequential_test((0, 0, 0, 0, 0), **limits)
    while found.verdict == "undecided" and total.num_games + match.num_games <= asked.max_games:
        total += play_batch(jax.random.fold_in(run_key, total.num_games))
        assert total.pair_scores is not None
        found = sequential.sequential_test(total.pair_scores, **limits)
        between = f"{found.lower:.2f} to {found.upper:.2f}"
        yield f"{total.num_games} games: {total}, log-likelihood ratio {found.llr:.2f} ({between})"
    yield f"{match.first} against {match.second}: {total}"
    yield f"{_conclusion(match, found.verdict)} after {total.num_games} games: {_elo(total)}"


def _meeting(
    match: EvaluateConfig, game: protocol.Game
) -> Callable[[jax.Array], arena.MatchResult]:
    """Returns what plays a match or a batch of a test, given its key."""
    load = network_files.loader(game)
    first, second = (players.parse(text, game, load) for text in (match.first, match.second))
    return functools.partial(
        arena.play_match,
        game,
        first,
        second,
        num_games=match.num_games,
        opening_plies=match.opening_plies,
    )


def _conclusion(match: EvaluateConfig, verdict: sequential.Verdict) -> str:
    asked = match.sprt
    if verdict == "better":
        more = f"by more than {asked.elo0:g} Elo (error rate {asked.alpha:g})"
        return f"{match.first} is better than {match.second}, {more},"
    if verdict == "not better":
        less = f"by as much as {asked.elo1:g} Elo (error rate {asked.beta:g})"
        return f"{match.first} is not better than {match.second}, {less},"
    return f"undecided whether {match.first} is better than {match.second}"


def _elo(result: arena.MatchResult) -> str:
    half_point = 0.5 / result.num_games  # subtracted from a perfect score, or added to 0
    score = min(max(result.score, half_point), 1 - half_point)
    low, high = map(elo.from_score, result.interval())
    return f"difference {elo.from_score(score):+.0f} Elo, 95 % {low:+.0f} to {high:+.0f}"


def judge(match: EvaluateConfig, game: protocol.Game) -> Iterator[str]:
    """Yields the lines of a Markdown table, and then what the network plays in perfect games."""
    if match.sprt != SprtConfig():
        raise ValueError("--exact plays no games to test: leave --sprt.* out")
    if match.second != _OPPONENT:
        raise ValueError(f"--exact judges one network: leave {match.second!r} out")
    if not isinstance(game, othello.Othello):
        raise ValueError(f"--exact needs a network for Othello, not for {game.name}")
    player = players.parse(match.first, game, network_files.loader(game))
    if not isinstance(player, players.NetworkPlayer | players.PolicyPlayer):
        raise ValueError(f"--exact judges a network, not {match.first!r}")
    sets = list(_sets(match, game))  # before anything is printed: what is wrong is told at once
    remarks = []
    yield exact.HEADING
    yield exact.RULE
    for name, known, line in sets:
        for who, opinion in exact.opinions(game, player, jax.random.key(match.seed), known).items():
            yield exact.row(name, who, len(known), exact.grade(game, known, opinion))
            if line is not None:
                remarks.append(f"{name}, {who}: {_followed(line, opinion, game.size)}")
    if remarks:
        yield from ("", *remarks)


_Set = tuple[str, exact.ExactSet, exact_sets.Line | None]


def _sets(match: EvaluateConfig, game: othello.Othello) -> Iterator[_Set]:
    """Yields the name and the positions of each set, and the game that they are from, if one."""
    for source in match.exact:
        kind, _, count = source.partition(":")
        if source == "line":
            lines = exact_sets.perfect_games(game, max_solved=match.solve_empties)
            for number, line in enumerate(lines, start=1):
                yield f"perfect game {number}", line.known, line
        elif kind == "random" and not pathlib.Path(source).exists():
            yield source, _random_set(match, game, source, count), None
        else:
            yield pathlib.Path(source).name, _set_of_file(match, game, pathlib.Path(source)), None


def _random_set(
    match: EvaluateConfig, game: othello.Othello, source: str, count: str
) -> exact.ExactSet:
    if not (count.isascii() and count.isdigit()):
        raise ValueError(f"{source}: {count!r} is not a number of empty squares, as in random:10")
    key = jax.random.key(match.seed)
    try:
        return exact_sets.of_random_games(
            game, key, num_positions=match.limit, num_empties=int(count)
        )
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def _set_of_file(
    match: EvaluateConfig, game: othello.Othello, path: pathlib.Path
) -> exact.ExactSet:
    scored = obf.read_scored(path, size=game.size, limit=match.limit, seed=match.seed)
    try:
        return exact_sets.of_problems(game, scored, max_solved=match.solve_empties)
    except ValueError as error:
        raise ValueError(f"{path}:{error}") from None


def _followed(line: exact_sets.Line, opinion: exact.Opinion, size: int) -> str:
    """Returns how many moves of a perfect game are chosen, and what in place of the others."""
    others = []
    actions = np.asarray(opinion.action).tolist()
    steps = zip(line.texts, line.moves, actions, line.known.move_utility, strict=True)
    for number, (text, moves, action, utility) in enumerate(steps, start=1):
        if action not in moves:
            is_best = utility[action] == utility.max() != exact.NO_UTILITY
            other = f"{number} {notation.action_text(action, size)} for {text}"
            others.append(other + " (as good)" * bool(is_best))
    chosen = f"{len(actions) - len(others)} of {len(actions)} moves"
    return f"{chosen}; {', '.join(others)}" if others else chosen


def _rules(match: EvaluateConfig, *, is_game_given: bool) -> protocol.Game:
    """Returns the game of the first network, or that of the flags if there is none."""
    for player in (match.first, match.second):
        trained_for = network_files.game_of(player)
        if trained_for is None:
            continue
        game = registry.make(trained_for)
        if is_game_given and game != registry.make(match.game):
            asked, found = match.game.model_dump(), trained_for.model_dump()
            names = [name for name in asked if asked[name] != found[name]]
            raise ValueError(
                f"--game.* asks for {_listed(asked, names)}, but {player} was trained with"
                f" {_listed(found, names)}: leave --game.* out"
            )
        return game
    return registry.make(match.game)


def _listed(settings: dict[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name} {settings[name]}" for name in names)


if __name__ == "__main__":
    sys.exit(command_line.run_main(main))
