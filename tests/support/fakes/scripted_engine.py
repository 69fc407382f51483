"""An engine with the real rules and written evaluations, for tests of its users."""

from azo.engine import engine_settings, search_report
from azo.games import notation
from azo.games.host import live_game


class ScriptedEngine(live_game.LiveGame):
    """Reports the entry of `evaluations` for a position, by its moves or its ply: 0 at the start.

    An evaluation is a dict with any of `value`, `raw_value`, `score`, `best` (a move as text or an
    action), and by action `prior`, `visits`, `values`, `scores`, `lines`. By default all moves are
    equal and have value 0.
    """

    book = evaluator = None

    def __init__(self, game, evaluations=None, config=None):
        super().__init__(game)
        self.evaluations = evaluations or {}
        self.config = config or engine_settings.EngineConfig(num_simulations=100)
        self.level = engine_settings.NUM_LEVELS
        self.limits = []

    def deep_limits(self, usual):
        return engine_settings.Limits(1000, is_analysis=True, is_deep=True)

    @property
    def play_config(self):
        return engine_settings.at_level(self.config, self.level)

    def with_people(self, report):
        return report

    def think(self, limits=None, *, is_stopped=None, on_progress=None, progress_seconds=0.25):
        legal = self.legal_actions
        if not legal:
            raise ValueError("the game is over")
        self.limits.append(limits)
        moves = notation.transcript(self.actions, self.game.size)
        by_ply = self.evaluations.get(len(self.actions), {})
        evaluation = self.evaluations.get(moves, by_ply)
        best = evaluation.get("best", legal[0])
        best = notation.parse_action(best, self.game.size) if isinstance(best, str) else best
        moves = [self._move(evaluation, action, 1 / len(legal)) for action in legal]
        moves.sort(key=lambda move: (move.action != best, -move.visits))
        report = search_report.SearchReport(
            board=self.board,
            action=best,
            moves=tuple(moves),
            value=evaluation.get("value", 0.0),
            raw_value=evaluation.get("raw_value", 0.0),
            discs=evaluation.get("score", evaluation.get("discs", 64 * evaluation.get("value", 0))),
            score=evaluation.get("score"),
            source="search" if "score" not in evaluation else "exact",
            num_simulations=self.config.num_simulations or 0,
            is_deep=limits is not None and limits.is_deep,
        )
        if on_progress is not None:
            on_progress(report)
        return report

    def solve(self, *, is_stopped=None, on_progress=None, progress_seconds=0.25):
        return self.think(is_stopped=is_stopped, on_progress=on_progress)

    def _move(self, evaluation, action, prior):
        """Returns the report of a move; the discs are the exact score, or 64 times the value."""
        value = evaluation.get("values", {}).get(action, 0.0)
        score = evaluation.get("scores", {}).get(action)
        return search_report.MoveReport(
            action=action,
            visits=evaluation.get("visits", {}).get(action, 20),
            prior=evaluation.get("prior", {}).get(action, prior),
            value=value,
            discs=64 * value if score is None and value is not None else score,
            score=score,
            line=evaluation.get("lines", {}).get(action, (action,)),
        )
