"""What a reply loses against the best move, by searches of the positions after both.

The table of a search has few visits of most moves: its worth of such a move is off by discs. So
both positions are searched alike, or solved near the end. `web/static/replies.js` has the same for
the page.
"""

from collections.abc import Callable

from azo.games import notation
from azo.games.host import live_game
from azo.play.analysis import game_analysis
from azo.play.engine import live_engine
from azo.play.engine.engine_settings import Limits

NUM_SIMULATIONS = 20_000
"""Of each of the two positions."""
_SECONDS = 10.0  # of each; for slow networks


def loss_of(
    engine: live_engine.Engine,
    live: live_game.LiveGame,
    move: str,
    best: str,
    *,
    is_stopped: Callable[[], bool] | None = None,
) -> float:
    """Returns the discs that a move in a position loses against another one, at least 0.

    The engine has its game again afterwards.
    """
    start, actions = engine.start, engine.actions
    limits = Limits(NUM_SIMULATIONS, _SECONDS, is_analysis=True)

    def worth(text: str) -> float:
        action = notation.parse_action(text, engine.game.size)
        engine.new_game(live.start, (*live.actions, action))
        if engine.is_over:
            discs = game_analysis.end_report(engine).discs
        else:
            discs = engine.think(limits, is_stopped=is_stopped).discs
        assert discs is not None
        return -discs * engine.utility(1)

    try:
        return max(worth(best) - worth(move), 0.0)
    finally:
        engine.new_game(start, actions)
