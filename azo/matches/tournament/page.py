"""Tables of a tournament in Markdown."""

from collections.abc import Mapping, Sequence

from azo.games import plurals
from azo.matches import elo, tables
from azo.matches.tournament import game_log


def results(
    rated: elo.Ratings,
    pairings: Sequence[elo.Pairing],
    played: Sequence[game_log.PlayedGame],
    *,
    num_missing: int,
) -> list[str]:
    """Returns lines of Markdown: ratings and cross-table."""
    names = [standing.name for standing in rated.standings]
    lines = _leaderboard(rated, played)
    if num_missing:
        missing = plurals.counted(num_missing, "game", form=",")
        lines += ["", f"{missing} {'is' if num_missing == 1 else 'are'} still to be played."]
    return [*lines, "", *_cross_table(names, elo.cross_table(pairings))]


def _leaderboard(rated: elo.Ratings, played: Sequence[game_log.PlayedGame]) -> list[str]:
    elo_column = f"Elo ({rated.anchor or 'the mean'} 0)>"
    columns = [">", "player", elo_column, "95 %>", "games>", "won/drawn/lost>", "points>"]
    columns += ["positions per move>", "seconds per move>", "lost early>"]
    rows = []
    for rank, one in enumerate(rated.standings, start=1):
        positions, seconds, num_forfeits = effort(one.name, played)
        low, high = one.interval
        rows.append(
            [
                rank,
                one.name,
                f"{one.rating:.0f}",
                "" if one.name == rated.anchor else f"{low:.0f} to {high:.0f}",
                f"{one.result.num_games:,}",
                "/".join(map(str, one.result.counts)),
                f"{one.result.points:g}",
                "" if positions is None else f"{positions:,.0f}",
                "" if seconds is None else f"{seconds:.3g}",
                num_forfeits,
            ]
        )
    notes = f"Draws between equal players: {rated.draw_share:.1%}."
    if rated.dispersion is not None:
        notes += (
            f" Variance of pairs of games: {rated.dispersion:.2f} times that of independent games."
        )
    return [*tables.table(columns, rows), "", notes]


def effort(
    name: str, games: Sequence[game_log.PlayedGame]
) -> tuple[float | None, float | None, int]:
    """Returns the positions and seconds of a player's move, and the games lost by a fault.

    Only moves with a choice count; None without any, or if a game's positions are unknown.
    """
    own = [
        (game, (game.black, game.white).index(name))
        for game in games
        if name in (game.black, game.white)
    ]
    num_moves = sum(game.num_moves[side] for game, side in own)
    num_forfeits = sum(bool(game.ended) and game.result == (-1, 1)[side] for game, side in own)
    if not num_moves:
        return None, None, num_forfeits
    searched = [game.positions[side] for game, side in own]
    counts = [positions for positions in searched if positions is not None]
    positions = sum(counts) / num_moves if len(counts) == len(searched) else None
    return positions, sum(game.seconds[side] for game, side in own) / num_moves, num_forfeits


def _cross_table(
    names: Sequence[str], table: Mapping[tuple[str, str], elo.MatchResult]
) -> list[str]:
    shown = {pair: "/".join(map(str, result.counts)) for pair, result in table.items()}
    rows = [
        [f"{rank} {name}", *(shown.get((name, other), "") for other in names)]
        for rank, name in enumerate(names, start=1)
    ]
    columns = ["won/drawn/lost", *(f"{number}^" for number in range(1, len(names) + 1))]
    return tables.table(columns, rows)
