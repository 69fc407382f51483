"""Pictures of the generations that a run kept: their Elo, and who beat whom."""

import dataclasses

import numpy as np

from azo.measure import cycles, elo, generation_elo
from azo.measure.report import panels, run_log

_MOST_TEXTS = 24  # generations whose results fit into the fields of a table
_NUM_LEVELS = 5  # players of the pool that are shown


def pictures(record: run_log.Record) -> list[panels.Picture]:
    """Returns the pictures; all matches of the run are rated together, as they are known now."""
    pairings = [generation_elo.pairing(event) for event in record.rating_matches]
    return [_elo(record, pairings), _cross_table(record, pairings)]


def _elo(record: run_log.Record, pairings: list[elo.Pairing]) -> panels.Picture:
    panel, certainty = None, ""
    if record.ratings:
        anchor = record.ratings[-1]["rating/anchor"]
        rated = _standings(pairings, anchor)
        opponents = map(generation_elo.opponent, record.rating_matches)
        pool = {opponent for opponent in opponents if isinstance(opponent, str)}
        levels = sorted((rated[name] for name in pool), key=lambda one: -one.rating)
        strongest = levels[0]
        apart = _standings(pairings, strongest.name)
        names = [generation_elo.name(iteration) for iteration in _generations(record)]
        x = np.array(_generations(record), float)
        y = np.array([rated[name].rating for name in names])
        low, high = np.array([apart[name].interval for name in names]).T + strongest.rating
        panel = panels.Lines(
            title="Elo of kept generations",
            x_label="iteration",
            y_label=f"Elo ({anchor} 0)",
            series=[
                panels.Series("generation", x, y, low, high),
                *(
                    panels.Series(one.name, x[[0, -1]], np.full(2, one.rating))
                    for one in levels[:_NUM_LEVELS]
                ),
            ],
            marks=panels.phase_marks(record),
        )
        certainty = f" The 95 % intervals are of the difference to {strongest.name}"
        if strongest.name != anchor:
            between = "{:.0f} to {:.0f}".format(*strongest.interval)
            certainty += f", which is {strongest.rating:.0f} ({between}) above {anchor}"
        certainty += "."
    return panels.picture(
        "elo",
        "Elo by generation",
        "The networks that were kept, rated by their matches against fixed players, the level "
        "lines, and against one another. All matches are rated together, so a later match moves "
        f"earlier points too.{certainty}",
        {"rating/elo": panel},
    )


def _standings(pairings: list[elo.Pairing], anchor: str) -> dict[str, elo.Standing]:
    return {one.name: one for one in elo.rate(pairings, anchor=anchor).standings}


def _cross_table(record: run_log.Record, pairings: list[elo.Pairing]) -> panels.Picture:
    names = [generation_elo.name(iteration) for iteration in _generations(record)]
    results: dict[tuple[int, int], tuple[int, int, int]] = {}
    for met in pairings:
        if met.first in names and met.second in names:
            row, column = names.index(met.first), names.index(met.second)
            results[row, column] = (met.wins, met.draws, met.losses)
            results[column, row] = (met.losses, met.draws, met.wins)
    panel = None
    if results:
        values = np.full((len(names), len(names)), np.nan)
        texts = [["" for _ in names] for _ in names]
        for (row, column), (wins, draws, losses) in results.items():
            values[row, column] = (wins - losses) / (wins + draws + losses)
            texts[row][column] = f"{wins}/{draws}/{losses}"
        ticks = [str(iteration) for iteration in _generations(record)]
        panel = panels.HeatMap(
            title="Won/drawn/lost by each row",
            x_label="against iteration",
            y_label="iteration",
            colour_label="wins minus losses, a game",
            values=values,
            row_ticks=ticks,
            column_ticks=ticks,
            limits=(-1.0, 1.0),
            texts=texts if len(names) <= _MOST_TEXTS else None,
        )
    caption = (
        "Matches between kept generations. Where a run makes progress, all below the diagonal is "
        f"blue. {_found_cycles(pairings)}"
    )
    found = panels.picture(
        "generations", "Generations against one another", caption, {"rating_match/earlier": panel}
    )
    return dataclasses.replace(found, scale=min(max(1.0, len(names) / 7), 3.0))


def _found_cycles(pairings: list[elo.Pairing]) -> str:
    found = cycles.find_cycles(pairings)
    if not found:
        return (
            "No cycle was found, such as A beats B beats C beats A, where every match is surely "
            "won (95 %)."
        )
    return f"A cycle was found, each beating the next with that share of the points: {found[0]}."


def _generations(record: run_log.Record) -> list[int]:
    """Returns the iterations of the generations that have their Elo."""
    return [event["iteration"] for event in record.ratings]
