"""Compares a network with engines' scores: `azo puzzles NETWORK --sets FILE ...`.

NETWORK is the folder of a run or of an exported network, also as `network:FOLDER`. For each file
and each number of simulations: how its values go with the scores, how often sign and move are
right, and what its values turn out to be worth. Files are OBF or CSV, also .gz; their scores may
be exact or estimates. `--timing` says how long a move takes in the network's own games.
"""

import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import jax
import pydantic
import tyro

from azo.cli import command_line
from azo.formats import obf
from azo.games import othello, protocol, registry
from azo.measure import calibration, exact, extras, players, timing
from azo.run import network_files
from azo.search import search_tree


class PuzzlesConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A network against the scores of engines or solvers."""

    network: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NETWORK")]
    """Folder of a run or of an exported network."""
    sets: Annotated[tuple[pathlib.Path, ...], tyro.conf.arg(metavar="FILE [FILE ...]")] = ()
    """Files of positions with scores: OBF or CSV, also .gz."""
    simulations: tuple[
        Annotated[int, pydantic.Field(ge=0, le=search_tree.MAX_SIMULATIONS)], ...
    ] = (
        0,
        1,
        100,
        400,
    )
    """Simulations a move; 0 is the network by itself."""
    limit: pydantic.PositiveInt = 1000
    """Positions a set, drawn by the seed."""
    seed: pydantic.NonNegativeInt = 0
    """Of that draw, of searches, and of the games for --timing."""
    plot: pathlib.Path | None = None
    """PNG to write: mean results by value, and values by score."""
    timing: bool = False
    """Also time the moves, alone and in batches, by ply."""


def main(argv: Sequence[str]) -> int:
    """Prints Markdown tables, and writes the plot if asked for; returns 0."""
    for line in report(command_line.parse(PuzzlesConfig, argv, prog="azo puzzles")):
        print(line, flush=True)
    return 0


def report(settings: PuzzlesConfig) -> Iterator[str]:
    """Yields the lines of the tables as they come; writes the plot.

    Raises:
      ValueError: One line that says what is wrong, before anything is measured.
    """
    if not (settings.sets or settings.timing):
        raise ValueError("nothing to do: give --sets FILE ... or --timing")
    if not settings.simulations:
        raise ValueError("--simulations needs numbers, such as 0 100")
    game, trained = _network(settings.network)
    draw = _drawing(settings)
    if settings.sets:
        yield from _compare(settings, game, trained, draw)
    if settings.timing:
        yield from ("", timing.HEADING, timing.RULE)[not settings.sets :]
        key = jax.random.key(settings.seed)
        for pace in timing.paces(game, trained, key, settings.simulations):
            yield timing.row(_player_name(pace.num_simulations), pace)


def _compare(
    settings: PuzzlesConfig, game: protocol.Game, trained: players.TrainedNetwork, draw: Any
) -> Iterator[str]:
    if not isinstance(game, othello.Othello):
        raise ValueError(f"--sets needs a network for Othello, not for {game.name}")
    sets = [(path.name, _labels(settings, game, path)) for path in settings.sets]
    found = []
    yield from (calibration.HEADING, calibration.RULE)
    for name, labels in sets:
        opinions = {}
        for number in settings.simulations:
            player = _player_name(number)
            opinion = _opinion(settings, game, trained, labels, number)
            fit = calibration.judge(labels, opinion)
            opinions[player] = (opinion, fit)
            yield calibration.row(name, player, len(labels), fit)
        found.append((name, labels, opinions))
    for name, _, opinions in found:
        fits = {player: fit for player, (_, fit) in opinions.items()}
        yield from ("", *calibration.bin_table(name, fits))
    if settings.plot is not None:
        _write(settings.plot, draw(found))


def _network(name: str) -> tuple[protocol.Game, players.TrainedNetwork]:
    folder = pathlib.Path(name.removeprefix("network:"))
    if not folder.is_dir():
        raise ValueError(
            f"{folder}: no such folder; give a run's or an exported network's, and the numbers of"
            " simulations by --simulations"
        )
    trained_for = network_files.game_of(str(folder))
    assert trained_for is not None
    game = registry.make(trained_for)
    return game, network_files.loader(game)(str(folder))


def _labels(
    settings: PuzzlesConfig, game: othello.Othello, path: pathlib.Path
) -> calibration.Labels:
    scored = obf.read_scored(path, size=game.size, limit=settings.limit, seed=settings.seed)
    try:
        return calibration.of_problems(game, scored)
    except ValueError as error:
        raise ValueError(f"{path}:{error}") from None


def _opinion(
    settings: PuzzlesConfig,
    game: othello.Othello,
    trained: players.TrainedNetwork,
    labels: calibration.Labels,
    num_simulations: int,
) -> exact.Opinion:
    """Returns what the network says with so many simulations."""
    player: exact.Player
    if num_simulations:
        player = players.network_player(game, trained, num_simulations)
    else:
        player = players.PolicyPlayer(trained.variables, game, trained.network_config)
    key = jax.random.key(settings.seed)
    return list(exact.opinions(game, player, key, labels.known).values())[-1]


def _player_name(num_simulations: int) -> str:
    if not num_simulations:
        return "raw"
    return f"{num_simulations} simulation{'s' * (num_simulations > 1)}"


def _drawing(settings: PuzzlesConfig) -> Any:
    """Returns what draws a picture, which needs a library that nothing else here does."""
    if settings.plot is None:
        return None
    if not settings.sets:
        raise ValueError("--plot shows what comes of --sets FILE ...: give both")
    if len(settings.simulations) > calibration.MAX_CURVES:
        raise ValueError(
            f"--plot shows up to {calibration.MAX_CURVES} numbers of simulations, not"
            f" {len(settings.simulations)}"
        )
    with extras.needed("--plot", "matplotlib"):
        from azo.measure.report import calibration_figure
    _write(settings.plot, b"")  # better now than after hours
    return calibration_figure.png


def _write(path: pathlib.Path, png: bytes) -> None:
    try:
        path.write_bytes(png)
    except OSError as error:
        raise ValueError(f"{path}: cannot write here ({error.strerror})") from None


if __name__ == "__main__":
    sys.exit(command_line.run_main(main))
