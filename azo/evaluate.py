"""Judges players: by a match, or a network by exact scores.

A match: `python -m azo.evaluate runs/quickstart rollouts:100`.

A player is `random`, `greedy`, `rollouts:N` (PUCT with N random games a move), the folder of a run
or of an exported network (searching as in its self-play, but greedily), `network:FOLDER:N` (with N
simulations a move) or `policy:FOLDER` (no search). The game is that of the first folder named;
`--game.*` says it where no folder is, and may not contradict one.

Exact scores: `python -m azo.evaluate network:runs/quickstart:100 --exact FILE random:10 line`. The
network by itself and with its search is compared with the truth, a line of a table each, for every
set of positions: those of a FILE of OBF lines or CSV (also .gz), whose scores are taken to be exact
and of the network's variant; `random:N`, solved positions with N empty squares from random games;
`line`, the published perfect games of 6x6, which also says which of their moves are chosen.
"""

import pathlib
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import jax
import numpy as np
import pydantic
import tyro

from azo import config, networks, problems
from azo.games import notation, othello, protocol, registry
from azo.measure import arena, exact, exact_sets, players

_OPPONENT = "rollouts:100"


class EvaluateConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A match between two players; with --exact, a network against exact scores."""

    first: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PLAYER")]
    """Whose side the result is told from."""
    second: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="OPPONENT")] = _OPPONENT
    """Its opponent."""
    num_games: int = 128
    """Games: pairs from the same random opening with both colours."""
    opening_plies: int = 4
    """Random plies at the start of each game."""
    seed: int = 0
    """Of openings and players; the same seed repeats the match."""
    game: registry.GameConfig = registry.GameConfig()
    """The game, if neither player is a network."""
    exact: Annotated[tuple[str, ...], tyro.conf.arg(metavar="SET [SET ...]")] = ()
    """No match, but the network's values and moves on positions: a FILE, random:EMPTIES or line."""
    limit: pydantic.PositiveInt = 1000
    """With --exact: positions a set, drawn by the seed."""
    solve_empties: Annotated[int, pydantic.Field(ge=0, le=20)] = 14
    """With --exact: up to so many empty squares, moves whose scores no file tells are solved."""


def main(argv: Sequence[str]) -> int:
    """Plays the match, or judges by exact scores, and prints what came out; returns 0."""
    match = config.parse_flags(EvaluateConfig, argv, prog="python -m azo.evaluate")
    is_game_given = any(flag.startswith("--game.") for flag in argv)
    if match.exact:
        for line in judge(match, _rules(match, is_game_given=is_game_given)):
            print(line, flush=True)
        return 0
    result = play(match, _rules(match, is_game_given=is_game_given))
    print(f"{match.first} against {match.second}: {result}")
    return 0


def play(match: EvaluateConfig, game: protocol.Game) -> arena.MatchResult:
    """Plays the match on the default device."""
    load = networks.loader(game)
    first, second = (players.parse(text, game, load) for text in (match.first, match.second))
    return arena.play_match(
        game,
        first,
        second,
        jax.random.key(match.seed),
        num_games=match.num_games,
        opening_plies=match.opening_plies,
    )


def judge(match: EvaluateConfig, game: protocol.Game) -> Iterator[str]:
    """Yields the lines of a Markdown table, and then what the network plays in perfect games."""
    if match.second != _OPPONENT:
        raise ValueError(f"--exact judges one network: leave {match.second!r} out")
    if not isinstance(game, othello.Othello):
        raise ValueError(f"--exact needs a network for Othello, not for {game.name}")
    player = players.parse(match.first, game, networks.loader(game))
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
    found = problems.read(path)
    for problem in found:
        if problem.size != game.size:
            raise ValueError(
                f"{path}:{problem.line}: a board of {problem.size}x{problem.size} squares, but"
                f" {match.first} plays {game.size}x{game.size}"
            )
    scored = [problem for problem in found if problem.best_score() is not None]
    if not scored:
        raise ValueError(f"{path}: no exact scores in it")
    if len(scored) > match.limit:
        chosen = random.Random(match.seed).sample(range(len(scored)), match.limit)
        scored = [scored[row] for row in sorted(chosen)]
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
        trained_for = networks.game_of(player)
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
    sys.exit(config.run_main(main))
