"""Origin of a network: what it learned from besides the rules of its game.

A run that begins with fresh weights and plays its own games adds nothing. A run that begins with
another network, or learns from the games of another one, adds that network and its whole origin.
`azo supervise` adds the recorded games that it read. So the origin lists all runs of the chain, and
a network learned from the rules alone if none of them read recorded games.
"""

from typing import Literal

import pydantic

from azo.storage import files


class Source(pydantic.BaseModel, frozen=True, extra="forbid"):
    """One thing that a network learned from."""

    kind: Literal["network", "teacher", "recorded games", "unknown"]
    """A network whose weights were the start; one that played the games; games from files; or a
    network of unknown origin."""
    name: str
    """Folder of the network, or the files."""


Origin = tuple[Source, ...]


def is_from_rules_alone(origin: Origin) -> bool:
    """Returns whether no recorded games, and no network of unknown origin, are in an origin."""
    return all(source.kind in ("network", "teacher") for source in origin)


def describe(origin: Origin) -> str:
    """Returns an origin in words, such as "learned from the rules alone"."""
    verdict = "learned from the rules alone"
    if not is_from_rules_alone(origin):
        verdict = "not from the rules alone, as far as recorded"
        if any(source.kind == "recorded games" for source in origin):
            verdict = "learned from recorded games"
    chain = files.printable("; ".join(f"{source.kind}: {source.name}" for source in origin))
    return f"{verdict} ({chain})" if chain else verdict
