"""What a reply loses against the best move, by searches of the positions after both.

The table of a search has few visits of most moves: its worth of such a move is off by discs. So
both positions are searched alike, or solved near the end. `web/static/replies.js` has the same for
the page.
"""

from collections.abc import Callable

from azo.coach import game_analysis
from azo.engine import live_engine
from azo.engine.engine_settings import Limits
from azo.games import notation
from azo.games.host import live_game

NUM_SIMULATIONS = 20_000, 40_000
"""Of each of the two positions, one search after the other."""
_SECONDS = 10.0  # of a search; for slow networks


def loss_of(
    engine: live_engine.Engine,
    live: live_game.LiveGame,
    move: str,
    best: str,
    *,
    is_stopped: Callable[[], bool] | None = None,
) -> float:
    """Returns the discs that a move in a position loses against another one, at least 0.

    It is the larger of two losses, after a search and after its continuation: a score of one search
    alone is off by two discs in open positions. The engine has its game again afterwards.
    """
    start, actions = engine.start, engine.actions

    def worths(text: str) -> list[float]:
        action = notation.parse_action(text, engine.game.size)
        engine.new_game(live.start, (*live.actions, action))
        values = []
        for number in NUM_SIMULATIONS:
            if engine.is_over:
                report = game_analysis.end_report(engine)
            else:
                limits = Limits(number, _SECONDS, is_analysis=True)
                report = engine.think(limits, is_stopped=is_stopped)
            assert report.discs is not None
            values.append(-report.discs * engine.utility(1))
        return values

    try:
        pairs = zip(worths(best), worths(move), strict=True)
        return max(0.0, *(own - other for own, other in pairs))
    finally:
        engine.new_game(start, actions)
