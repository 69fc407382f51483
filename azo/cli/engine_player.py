"""The engine of live games as a player of `azo evaluate`: `engine:NETWORK:SIMULATIONS`."""

import contextlib
import pathlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from azo.engine import engine_factory
from azo.engine.engine_settings import EngineConfig
from azo.engine.live_engine import Engine
from azo.games import bitboard, notation, othello
from azo.matches import accuracy
from azo.matches.tournament import backends
from azo.opponents import external_engines

PREFIX = "engine:"


class EnginePlayer(NamedTuple):
    """An engine by its network and settings."""

    network: pathlib.Path
    config: EngineConfig

    def contender(self, seed: int) -> backends.ProgramPlayer:
        """Returns the engine as a player of matches."""

        def begin(_: contextlib.ExitStack) -> backends.Choose:
            engine = self.start(seed)

            def choose(moves: Sequence[int]) -> external_engines.Choice:
                engine.new_game(actions=tuple(moves))
                report = engine.think()
                return external_engines.Choice(report.action, report.num_evaluations)

            return choose

        return backends.ProgramPlayer(begin)

    def start(self, seed: int) -> Engine:
        """Returns the engine.

        Raises ValueError, one line, if its network is missing, not for Othello, or without the
        evaluation that alpha-beta needs.
        """
        choice = engine_factory.NetworkChoice(network=self.network)
        if self.config.search == "alphabeta":
            engine_factory.check_alphabeta(choice)
        return Engine(engine_factory.load_evaluator(choice), self.config, seed=seed)


def parse(text: str, config: EngineConfig) -> EnginePlayer | None:
    """Returns the engine that a command line names, None for another player."""
    if not text.startswith(PREFIX):
        return None
    path, colon, count = text.removeprefix(PREFIX).rpartition(":")
    if not (colon and count.isascii() and count.isdigit()):
        return EnginePlayer(pathlib.Path(text.removeprefix(PREFIX)), config)
    return EnginePlayer(pathlib.Path(path), with_simulations(config, int(count)))


def with_simulations(config: EngineConfig, number: int) -> EngineConfig:
    """Returns settings with a number of simulations per move; raises ValueError for 0."""
    if not number:
        raise ValueError("the engine needs at least 1 simulation per move; 0 is for networks")
    return config.model_copy(update={"num_simulations": number})


def assessor(player: EnginePlayer, seed: int) -> accuracy.Assessor:
    """Returns the engine as it analyses positions; with alpha-beta, as it plays them."""
    engine, config = player.start(seed), player.config
    uses_puct = config.search == "puct"
    limits = config.limits(is_analysis=uses_puct)

    def assess(position: othello.Position) -> accuracy.Assessment:
        value, action, score = [], [], []
        sides = map(bitboard.to_ints, (position.player, position.opponent))
        for own, other in zip(*sides, strict=True):
            engine.new_game(notation.Board(own, other, is_black_to_move=True))
            engine.forget()
            report = engine.think(limits)
            value.append(report.value)
            action.append(report.action)
            score.append(report.discs)
        return accuracy.Assessment(
            value=np.array(value, np.float32),
            action=np.array(action, np.int32),
            score=np.array(score, np.float32),
        )

    name = "engine" if uses_puct else "alpha-beta"
    if limits.seconds is not None:
        name += f", {limits.seconds:g} s"
    if limits.num_simulations is not None:
        name += f", {limits.num_simulations} simulations"
    return accuracy.Assessor(name, assess)
