"""Compares a network with known scores on sets of positions: rows of a table, and a plot."""

import dataclasses
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from azo.formats import files, obf
from azo.games import notation, othello
from azo.measure import accuracy, extras, players, position_sets

_Set = tuple[str, position_sets.PositionSet, position_sets.PerfectLine | None]


def compare(
    game: othello.Othello,
    player: accuracy.Player,
    sources: Sequence[str],
    *,
    simulations: Sequence[int] = (),
    limit: int,
    solve_empties: int,
    seed: int,
    plot: pathlib.Path | None = None,
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yields a Markdown table of accuracies, then the chosen moves in perfect games.

    Args:
      game: the rules.
      player: the network, with a search or without one.
      sources: sets of positions: the path of a file, `random:EMPTIES`, or `line`.
      simulations: numbers of simulations a move, 0 without search; by default 0 and those of the
        player.
      limit: positions of a set, drawn by the seed.
      solve_empties: moves without known scores are solved up to so many empty squares.
      seed: of drawn positions and of searches.
      plot: PNG of the mean result by value, to write.

    Yields:
      A line of text, and for a row of the table the same as an object for JSON.

    Raises:
      ValueError: One line, before anything is yielded: a set or the plot is not usable.
    """
    searchers = _searchers(game, player, simulations)
    write_plot = _plot_writer(plot, len(searchers))
    drawn = list(sets(game, sources, limit, solve_empties, seed))
    remarks: list[str] = []
    measured: dict[str, dict[str, accuracy.Accuracy]] = {}
    yield accuracy.HEADING, None
    yield accuracy.RULE, None
    for name, positions, perfect_line in drawn:
        measured[name] = {}
        for searcher in searchers:
            who, key = accuracy.name_of(searcher), jax.random.key(seed)
            assessment = accuracy.assess(game, searcher, key, positions.position)
            measured[name][who] = accuracy.measure(game, positions, assessment)
            data: dict[str, Any] = {"set": name, "player": who, "positions": len(positions)}
            if perfect_line is not None:
                data["perfect_game"] = followed(perfect_line, assessment, game.size)
                remarks.append(f"{name}, {who}: {data['perfect_game']}")
            row = accuracy.row(name, who, len(positions), measured[name][who])
            yield row, data | _as_json(measured[name][who])
    if remarks:
        yield from ((line, None) for line in ("", *remarks))
    write_plot(measured)


def followed(line: position_sets.PerfectLine, assessment: accuracy.Assessment, size: int) -> str:
    """Returns how many moves of a perfect game are chosen, and the other moves chosen."""
    others = []
    actions = np.asarray(assessment.action).tolist()
    steps = zip(line.texts, line.moves, actions, line.positions.move_utility, strict=True)
    for number, (text, moves, action, utility) in enumerate(steps, start=1):
        if action not in moves:
            is_best = utility[action] == utility.max() != position_sets.NO_UTILITY
            other = f"{number} {notation.action_text(action, size)} for {text}"
            others.append(other + " (as good)" * bool(is_best))
    chosen = f"{len(actions) - len(others)} of {len(actions)} moves"
    return f"{chosen}; {', '.join(others)}" if others else chosen


def _searchers(
    game: othello.Othello, player: accuracy.Player, simulations: Sequence[int]
) -> list[accuracy.Player]:
    """Returns the network without search and with numbers of simulations, as players."""
    raw = players.PolicyPlayer(player.variables, game, player.network_config)
    if isinstance(player, players.PolicyPlayer):
        return [raw]
    if not simulations:
        return [raw, player]
    return [players.with_simulations(player, number) if number else raw for number in simulations]


def _as_json(measured: accuracy.Accuracy) -> dict[str, Any]:
    """Returns estimates with mean, interval and count, and the bins that have positions."""
    data = dataclasses.asdict(measured)
    bins = data["calibration"]["bins"]
    data["calibration"]["bins"] = [one for one in bins if one["count"]]
    return data


def _plot_writer(
    path: pathlib.Path | None, num_players: int
) -> Callable[[dict[str, dict[str, accuracy.Accuracy]]], None]:
    """Returns a function that writes the plot, if any; checks its path and library at once."""
    if path is None:
        return lambda _: None
    if num_players > accuracy.MAX_CURVES:
        raise ValueError(
            f"--plot shows up to {accuracy.MAX_CURVES} numbers of simulations, not {num_players}"
        )
    with extras.needed("--plot", "plotly"):
        from azo.measure.report import calibration_figure

    files.write(path, b"")
    return lambda measured: files.write(path, calibration_figure.page(measured).encode())


def sets(
    game: othello.Othello, sources: Sequence[str], limit: int, solve_empties: int, seed: int
) -> Iterator[_Set]:
    """Yields the name and the positions of each set, and the perfect game that they are from."""
    for source in sources:
        kind, _, count = source.partition(":")
        path = pathlib.Path(source)
        if source == "line":
            lines = position_sets.perfect_games(game, max_solved=solve_empties)
            for number, line in enumerate(lines, start=1):
                yield f"perfect game {number}", line.positions, line
        elif kind == "random" and not path.exists():
            if not (count.isascii() and count.isdigit()):
                raise ValueError(
                    f"{source}: {count!r} is not a number of empty squares, as in random:10"
                )
            key = jax.random.key(seed)
            try:
                positions = position_sets.of_random_games(
                    game, key, num_positions=limit, num_empties=int(count)
                )
            except ValueError as error:
                raise ValueError(f"{source}: {error}") from None
            yield source, positions, None
        else:
            scored = obf.read_scored(path, size=game.size, limit=limit, seed=seed)
            try:
                positions = position_sets.of_problems(game, scored, max_solved=solve_empties)
            except ValueError as error:
                raise ValueError(f"{path}:{error}") from None
            yield path.name, positions, None
