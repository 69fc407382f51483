"""Pictures of what is played: results, where games turn, strength."""

import numpy as np

from azo.measure.report import panels, run_log


def pictures(record: run_log.Record, board_shape: tuple[int, int]) -> list[panels.Picture]:
    """Returns the pictures; `board_shape` is rows and columns of the board."""
    return [
        _strength(record),
        _results(record),
        _margins(record),
        _crucial(record, board_shape),
        _values(record),
        _evaluations(record),
        _drops(record),
        _resignation(record),
    ]


def _strength(record: run_log.Record) -> panels.Picture:
    cycles = record.cycles
    games = np.diff([0.0, *_last(record, "selfplay/games")])
    bars = panels.Bars(
        title=f"Games per {record.cycle_name}",
        x_label="iteration",
        y_label="games",
        x=np.array([(c.first + c.last) / 2 for c in cycles]),
        width=np.array([float(c.last - c.first + 1) for c in cycles]),
        heights=games[None],
        labels=["games"],
    )
    iteration, score = run_log.column(record.evaluations, "evaluation/score")
    ends = [
        run_log.column(record.evaluations, f"evaluation/score_{end}") for end in ("low", "high")
    ]
    has_interval = all(len(end[1]) == len(score) for end in ends)
    low, high = (end[1] if has_interval else None for end in ends)
    opponents = sorted({str(e.get("evaluation/opponent", "")) for e in record.evaluations})
    against = f"Score against {', '.join(opponents)}"
    names = {"selfplay/games": "games", "selfplay/evaluations": "network evaluations"}
    over = {"iteration": iteration.astype(float)} | {
        label: run_log.total_at(record, field, iteration) for field, label in names.items()
    }
    scores = [
        panels.Lines(
            title=against,
            x_label=label,
            y_label="score",
            series=[panels.Series("score", x, score, low, high)],
            level=0.5,
            limits=(0, 1.02),
            marks=panels.phase_marks(record) if label == "iteration" else (),
        )
        if len(score) and not np.isnan(x).all()
        else None
        for label, x in over.items()
    ]
    return panels.picture(
        "strength",
        "Games and strength",
        "Finished games of each cycle, and the score (a draw is half a win) in matches against a "
        "fixed opponent with its 95 % interval, over iterations, games and network evaluations: "
        "the last compares recipes at equal cost. At a gate the new network plays the best so far, "
        "and is promoted if it wins clearly.",
        {
            "selfplay/games": bars if games.any() else None,
            "evaluation/score": scores[0],
            "evaluation/score, selfplay/games": scores[1],
            "evaluation/score, selfplay/evaluations": scores[2],
            "gate/score": _gates(record),
        },
    )


def _gates(record: run_log.Record) -> panels.Lines | None:
    kinds = {"promoted": True, "not promoted": False, "gate": None}
    series = []
    for label, is_promoted in kinds.items():
        events = [e for e in record.gates if e.get("gate/is_promoted") == is_promoted]
        iteration, score = run_log.column(events, "gate/score")
        if len(score):
            series.append(panels.Series(label, iteration, score, is_points=True))
    if not series:
        return None
    return panels.Lines(
        title="Gates: score against the best network so far",
        x_label="iteration",
        y_label="score",
        series=series,
        level=0.5,
        limits=(0, 1.02),
        marks=panels.phase_marks(record),
    )


def _results(record: run_log.Record) -> panels.Picture:
    fields = ["selfplay/first_player_wins", "selfplay/draws", "selfplay/first_player_losses"]
    counts = np.stack([run_log.cycle_sums(record, field) for field in fields])
    total = counts.sum(axis=0)
    # Not all cycles end a game.
    shares = 100 * counts / np.where(total > 0, total, np.nan)
    bars = panels.Bars(
        title=f"Results by {record.cycle_name}",
        x_label=panels.cycle_axis(record),
        y_label="share of games (%)",
        x=np.arange(len(record.cycles), dtype=float),
        width=np.full(len(record.cycles), 0.85),
        heights=shares,
        labels=["first wins", "draw", "second wins"],
        ticks=[cycle.label for cycle in record.cycles],
    )
    return panels.picture(
        "results",
        "Who wins in self-play",
        "Results of the games finished in each cycle, from below: the first player (black in "
        "Othello) wins, draws, the second player wins; below, the same as a score, and how long "
        "games are. Play that improves drifts towards the game's true result.",
        {
            "selfplay/first_player_wins": bars if total.any() else None,
            "selfplay/first_player_score": panels.curves(
                record.iterations,
                "First player's score",
                "score",
                {"score": "selfplay/first_player_score"},
                record,
                level=0.5,
                limits=(0, 1.02),
            ),
            "selfplay/mean_plies": panels.curves(
                record.iterations,
                "Length of games",
                "plies",
                {"plies": "selfplay/mean_plies"},
                record,
            ),
        },
    )


def _margins(record: run_log.Record) -> panels.Picture:
    field = "selfplay/final_margins"
    parts: dict[str, panels.Panel | None] = {field: None}
    chosen = {"whole run": record.iterations} | {
        panels.cycle_title(record, cycle): cycle.events
        for cycle in panels.ends(record)
        if len(record.cycles) > 1
    }
    for label, events in chosen.items():
        found = run_log.rows(events, field)
        if not found.size or not np.nansum(found):
            continue
        counts = np.nansum(found, axis=0)
        squares = counts.shape[1] // 2
        parts[field if label == "whole run" else f"{field}, {label}"] = panels.Bars(
            title=f"Final positions, {label}",
            x_label="final disc difference (first − second player)",
            y_label="games",
            x=np.arange(-squares, squares + 1, dtype=float),
            width=np.ones(2 * squares + 1),
            heights=counts,
            labels=["first won", "draw", "second won"],
        )
    return panels.picture(
        "margins",
        "Final positions",
        "How far apart the sides ended, coloured by who won. Equal opponents give a narrow heap "
        "about the middle; wins at the far ends come from wiped-out boards.",
        parts,
    )


def _crucial(record: run_log.Record, board_shape: tuple[int, int]) -> panels.Picture:
    by_action, by_ply = "selfplay/crucial_by_action", "selfplay/crucial_by_ply"
    parts: dict[str, panels.Panel | None] = {by_action: None, by_ply: None}
    of_cycles = run_log.cycle_rows(record, by_action)
    if of_cycles is not None and np.nansum(of_cycles):
        del parts[by_action]
        for cycle in panels.ends(record):
            title = f"Crucial moves, {panels.cycle_title(record, cycle)}"
            counts = of_cycles[record.cycles.index(cycle)]
            parts[f"{by_action}, {cycle.label}"] = _board(title, counts, board_shape)
    of_plies = run_log.cycle_rows(record, by_ply)
    if of_plies is not None and np.nansum(of_plies):
        total = np.nansum(of_plies, axis=1, keepdims=True)
        share = 100 * of_plies / np.where(total > 0, total, np.nan)
        parts[by_ply] = panels.by_ply(record, share, "Crucial moves by ply", "share of games (%)")
    return panels.picture(
        "crucial",
        "Where games turn",
        "The crucial move of a game is the one after which the search's value fell most. The board "
        "shows where such moves were played, the table at which ply. Early in a run they lie "
        "anywhere; a network that knows more is surprised later and at fewer squares.",
        parts,
    )


def _board(title: str, counts: np.ndarray, board_shape: tuple[int, int]) -> panels.HeatMap | None:
    """Returns counts `[A]` as shares on the squares, None if nothing was counted."""
    total = np.nansum(counts)
    if not total:
        return None
    height, width = board_shape
    share = 100 * counts / total
    passes = share[height * width :].sum()
    return panels.HeatMap(
        title=title,
        x_label="column" + (f" ({passes:.1f} % passes)" if passes else ""),
        y_label="row",
        colour_label="share of games (%)",
        values=share[: height * width].reshape(board_shape),
        row_ticks=[str(row + 1) for row in range(height)],
        column_ticks=[chr(ord("a") + column) for column in range(width)],
    )


def _values(record: run_log.Record) -> panels.Picture:
    field = "selfplay/value_correlation_by_ply"
    by_ply = run_log.cycle_rows(record, field)
    title, label = "Correlation of value and result by ply", "correlation"
    return panels.picture(
        "values",
        "How well values foretell results",
        "The signed error is the network's value minus the result: above 0 the side to move hopes "
        "too much. The correlation is 1 for perfect foresight; it rises along a game, and the "
        "ply at which it becomes high moves forward as the network learns.",
        {
            "selfplay/value_error": panels.curves(
                record.iterations,
                "Signed value error",
                "value − result",
                {"error": "selfplay/value_error"},
                record,
                level=0.0,
            ),
            "selfplay/value_correlation": panels.curves(
                record.iterations,
                "Correlation of value and result",
                "correlation",
                {"correlation": "selfplay/value_correlation"},
                record,
                limits=(min(0.0, _least(record, "selfplay/value_correlation") - 0.02), 1.02),
            ),
            field: None if by_ply is None else panels.by_ply(record, by_ply, title, label, (-1, 1)),
        },
    )


def _evaluations(record: run_log.Record) -> panels.Picture:
    field = "selfplay/evaluations_by_ply"
    by_ply = run_log.cycle_rows(record, field)
    panel = None
    if by_ply is not None:
        chosen = panels.ends(record)
        rows = [by_ply[record.cycles.index(cycle)] for cycle in chosen]
        panel = panels.Lines(
            title="Network evaluations by ply",
            x_label="ply",
            y_label="evaluations an iteration",
            series=[
                panels.Series(f"{panels.cycle_title(record, cycle)}", np.arange(len(row)), row)
                for cycle, row in zip(chosen, rows, strict=True)
            ],
        )
    return panels.picture(
        "evaluations",
        "Where the search spends its evaluations",
        "Network evaluations of an iteration by the ply of the position searched, in the first and "
        "in the last cycle. A level curve treats all stages of the game alike; it falls at the end "
        "as games end early.",
        {field: panel},
    )


def _drops(record: run_log.Record) -> panels.Picture:
    iteration, average = run_log.column(record.iterations, "selfplay/largest_drop_mean")
    others, deviation = run_log.column(record.iterations, "selfplay/largest_drop_std")
    low = high = None
    if np.array_equal(iteration, others):
        low, high = average - deviation, average + deviation
    panel = panels.Lines(
        title="Largest fall of the value in a game",
        x_label="iteration",
        y_label="value, from −1 to 1",
        series=[panels.Series("mean ± deviation over games", iteration, average, low, high)],
        marks=panels.phase_marks(record),
    )
    return panels.picture(
        "drops",
        "Surprises",
        "The largest fall of the search's value from one ply to the next within a game, mean over "
        "games and standard deviation. Surprises shrink as values become right; 2 is a win that "
        "became a loss.",
        {"selfplay/largest_drop_mean": panel if len(average) else None},
    )


def _resignation(record: run_log.Record) -> panels.Picture:
    single = {
        "selfplay/resigned_share": ("Games resigned", "share of games"),
        "resignation/threshold": ("Value below which a side resigns", "value"),
        "resignation/false_positive_share": ("Resigned games not lost", "share"),
    }
    return panels.picture(
        "resignation",
        "Resignation",
        "Share of games that were resigned, the threshold, and, of games played to the end "
        "although a side would have resigned, how many that side did not lose: this is to stay "
        "below 5 %.",
        panels.singles(record.iterations, single, record),
    )


def _last(record: run_log.Record, field: str) -> np.ndarray:
    """Returns a running total at the end of each cycle, 0 where it is unknown."""
    ends = np.array([cycle.last for cycle in record.cycles])
    return np.nan_to_num(run_log.total_at(record, field, ends))


def _least(record: run_log.Record, field: str) -> float:
    _, values = run_log.column(record.iterations, field)
    return float(values.min(initial=0.0))
