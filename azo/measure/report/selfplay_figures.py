"""Figures of self-play: results, crucial moves, values and strength."""

import numpy as np

from azo.measure.report import panels, run_log

_SHARE = (0, 1.02)  # limits of a share or a score


def sheets(run: run_log.RunLog, board_shape: tuple[int, int]) -> list[panels.Sheet]:
    """Returns the figures; `board_shape` is rows and columns of the board."""
    return [
        _strength(run),
        _results(run),
        _margins(run),
        _crucial(run, board_shape),
        _values(run),
        _evaluations(run),
        _drops(run),
        panels.curve_sheet(
            run,
            "resignation",
            "Resignation",
            "Share of games that were resigned, and the threshold. Some games are played to the "
            "end although a side would have resigned: the share of these that the side did not "
            "lose is to stay below 5 %.",
            {
                "selfplay/resigned_share": ("Games resigned", "share of games"),
                "resignation/threshold": ("Value below which a side resigns", "value"),
                "resignation/false_positive_share": ("Resigned games not lost", "share"),
            },
        ),
    ]


def _strength(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "strength",
        "Games and strength",
        "Finished games of each span, and the score (a draw is half a win) in matches against a "
        "fixed opponent with its 95 % interval, over iterations, games and network evaluations. "
        "The last compares recipes at equal cost. At a gate the new network plays the actor "
        "network, and is promoted if it wins clearly.",
    )
    _add_games(sheet, run)
    _add_scores(sheet, run)
    _add_gates(sheet, run)
    return sheet


def _add_games(sheet: panels.Sheet, run: run_log.RunLog) -> None:
    first, last = np.array([(span.first, span.last) for span in run.spans]).T
    games = np.diff([0.0, *np.nan_to_num(run.total_at("selfplay/games", last))])
    if not games.any():
        sheet.missing.append("selfplay/games")
        return
    axes = sheet.add_panel(f"Games per {run.span_name}", "iteration", "games")
    panels.bars(axes, (first + last) / 2, {"games": games}, last - first + 1.0)


def _add_scores(sheet: panels.Sheet, run: run_log.RunLog) -> None:
    iteration, score = run.column("evaluation/score", "evaluation")
    low, high = (run.column(f"evaluation/score_{end}", "evaluation")[1] for end in ("low", "high"))
    interval = (low, high) if len(low) == len(high) == len(score) else ()
    opponents = {str(e.get("evaluation/opponent", "")) for e in run.of_kind("evaluation")}
    totals = {"games": "selfplay/games", "network evaluations": "selfplay/evaluations"}
    for x_label in ("iteration", *totals):
        field = totals.get(x_label)
        x = iteration.astype(float) if field is None else run.total_at(field, iteration)
        if np.isnan(x).all():  # there may be none at all
            sheet.missing.append("evaluation/score" + (f", {field}" if field else ""))
            continue
        title = f"Score against {', '.join(sorted(opponents))}"
        axes = sheet.add_panel(title, x_label, "score", level=0.5, limits=_SHARE)
        panels.curve(axes, "score", x, score, *interval)
        panels.finish_curves(axes, run if field is None else None)


def _add_gates(sheet: panels.Sheet, run: run_log.RunLog) -> None:
    verdicts = {"promoted": True, "not promoted": False, "gate": None}
    points = {
        label: run_log.column(
            [e for e in run.of_kind("gate") if e.get("gate/is_promoted") == verdict], "gate/score"
        )
        for label, verdict in verdicts.items()
    }
    points = {label: (x, y) for label, (x, y) in points.items() if len(y)}
    if not points:
        sheet.missing.append("gate/score")
        return
    title = "Gates: score against the actor network"
    axes = sheet.add_panel(title, "iteration", "score", level=0.5, limits=_SHARE)
    for label, (x, y) in points.items():
        axes.plot(x, y, linestyle="", markersize=6, label=label)
    panels.finish_curves(axes, run)
    axes.legend()


def _results(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "results",
        "Results of self-play",
        "Results of the games finished in each span, from the bottom: wins of the first player "
        "(black in Othello), draws, wins of the second player. The same as a score, and the length "
        "of games. As play improves, results approach the result of perfect play.",
    )
    fields = {
        "first wins": "selfplay/first_player_wins",
        "draw": "selfplay/draws",
        "second wins": "selfplay/first_player_losses",
    }
    counts = {label: run.span_sums(field) for label, field in fields.items()}
    total = np.sum(list(counts.values()), axis=0)
    if total.any():
        axes = sheet.add_panel(f"Results by {run.span_name}", run.span_axis, "share of games (%)")
        scale = 100 / np.where(total > 0, total, np.nan)  # a span may end no game
        shares = {label: scale * count for label, count in counts.items()}
        panels.bars(axes, np.arange(len(total)), shares, 0.85)
        panels.set_ticks(axes, columns=[span.label for span in run.spans])
    else:
        sheet.missing.append("selfplay/first_player_wins")
    score = {"score": "selfplay/first_player_score"}
    sheet.add_curves(run, "First player's score", "score", score, level=0.5, limits=_SHARE)
    sheet.add_curves(run, "Length of games", "plies", {"plies": "selfplay/mean_plies"})
    return sheet


def _margins(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "margins",
        "Final margins",
        "Disc differences at the end of games, coloured by the winner. Equal opponents give a "
        "narrow distribution about 0. Wins at the far ends are wiped-out boards.",
    )
    field = "selfplay/final_margins"
    ends = {f"{run.span_axis} {span.label}": span.events for span in run.span_ends}
    for label, events in {
        "whole run": run.iterations,
        **(ends if len(run.spans) > 1 else {}),
    }.items():
        counts = run_log.rows(events, field)
        if not np.nansum(counts):
            sheet.missing += [field] if label == "whole run" else []
            continue
        counts = np.nansum(counts, axis=0)
        x_label = "final disc difference (first − second player)"
        axes = sheet.add_panel(f"Final margins, {label}", x_label, "games")
        x = np.arange(counts.shape[1]) - counts.shape[1] // 2
        layers = dict(zip(("first won", "draw", "second won"), counts, strict=True))
        panels.bars(axes, x, layers, 1.0)
    return sheet


def _crucial(run: run_log.RunLog, board_shape: tuple[int, int]) -> panels.Sheet:
    sheet = panels.Sheet(
        "crucial",
        "Crucial moves",
        "The crucial move of a game is followed by the largest fall of the search's value. The "
        "board shows the squares of crucial moves, the table their plies. Early in a run they lie "
        "anywhere; later they come at later plies and on fewer squares.",
    )
    by_action, by_ply = "selfplay/crucial_by_action", "selfplay/crucial_by_ply"
    counts = run.span_rows(by_action)
    if counts is None or not np.nansum(counts):
        sheet.missing.append(by_action)
    else:
        for span in run.span_ends:
            title = f"Crucial moves, {run.span_axis} {span.label}"
            _add_board(sheet, title, counts[run.spans.index(span)], board_shape)
    counts = run.span_rows(by_ply)
    if counts is None or not np.nansum(counts):
        sheet.missing.append(by_ply)
    else:
        total = np.nansum(counts, axis=1, keepdims=True)
        axes = sheet.add_panel("Crucial moves by ply", "ply", run.span_axis)
        shares = 100 * counts / np.where(total > 0, total, np.nan)
        panels.plies_heat_map(axes, run, shares, "share of games (%)")
    return sheet


def _add_board(
    sheet: panels.Sheet, title: str, counts: np.ndarray, board_shape: tuple[int, int]
) -> None:
    """Adds counts `[A]` as shares on the squares, unless nothing was counted."""
    if not np.nansum(counts):
        return
    rows, columns = board_shape
    shares = 100 * counts / np.nansum(counts)
    passes = shares[rows * columns :].sum()
    x_label = "column" + (f" ({passes:.1f} % passes)" if passes else "")
    axes = sheet.add_panel(title, x_label, "row")
    panels.heat_map(axes, shares[: rows * columns].reshape(board_shape), "share of games (%)")
    panels.set_ticks(
        axes,
        rows=[str(row + 1) for row in range(rows)],
        columns=[chr(ord("a") + column) for column in range(columns)],
    )


def _values(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "values",
        "Values and results",
        "The signed error is the network's value minus the result: above 0 the network "
        "overestimates the side to move. The correlation with the result is 1 for perfect values. "
        "It rises along a game, and at earlier plies as the network learns.",
    )
    field = "selfplay/value_correlation"
    _, correlation = run.column(field)
    lowest = min(0.0, float(correlation.min(initial=0.0)) - 0.02)
    error = {"error": "selfplay/value_error"}
    sheet.add_curves(run, "Signed value error", "value − result", error, level=0.0)
    title = "Correlation of value and result"
    sheet.add_curves(run, title, "correlation", {"correlation": field}, limits=(lowest, 1.02))
    by_ply = run.span_rows(f"{field}_by_ply")
    if by_ply is None:
        sheet.missing.append(f"{field}_by_ply")
    else:
        axes = sheet.add_panel(f"{title} by ply", "ply", run.span_axis)
        panels.plies_heat_map(axes, run, by_ply, "correlation", limits=(-1, 1))
    return sheet


def _evaluations(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "evaluations",
        "Network evaluations by ply",
        "Network evaluations of an iteration by the ply of the position searched, in the first and "
        "in the last span. A level curve spreads them evenly over the game. It falls at the end, "
        "as games end early.",
    )
    field = "selfplay/evaluations_by_ply"
    by_ply = run.span_rows(field)
    if by_ply is None:
        sheet.missing.append(field)
        return sheet
    axes = sheet.add_panel("Network evaluations by ply", "ply", "evaluations an iteration")
    for span in run.span_ends:
        row = by_ply[run.spans.index(span)]
        panels.curve(axes, f"{run.span_axis} {span.label}", np.arange(len(row)), row)
    panels.finish_curves(axes)
    return sheet


def _drops(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "drops",
        "Largest falls of the value",
        "The largest fall of the search's value from one ply to the next within a game, mean over "
        "games and standard deviation. It shrinks as values become right; 2 is a win that became a "
        "loss.",
    )
    iteration, mean = run.column("selfplay/largest_drop_mean")
    with_deviation, deviation = run.column("selfplay/largest_drop_std")
    if not len(mean):
        sheet.missing.append("selfplay/largest_drop_mean")
        return sheet
    is_whole = np.array_equal(iteration, with_deviation)
    interval = (mean - deviation, mean + deviation) if is_whole else ()
    title = "Largest fall of the value in a game"
    axes = sheet.add_panel(title, "iteration", "value, from −1 to 1")
    panels.curve(axes, "mean ± deviation over games", iteration, mean, *interval)
    panels.finish_curves(axes, run)
    return sheet
