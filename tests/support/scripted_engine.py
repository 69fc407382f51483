"""An engine with the real rules and written evaluations, for tests of its users."""

from azo.play import engine_settings, live_game, search_report


class ScriptedEngine(live_game.LiveGame):
    """Reports the entry of `evaluations` for a position, by its ply: 0 at the start.

    An evaluation is a dict with any of `value`, `raw_value`, `score`, `best`, `prior`, `visits`,
    `values`, `scores` (the last four by action). By default all moves are equal and have value 0.
    """

    def __init__(self, game, evaluations=None, config=None):
        super().__init__(game)
        self.evaluations = evaluations or {}
        self.config = config or engine_settings.EngineConfig(num_simulations=100)
        self.evaluator = None
        self.limits = []

    def think(self, limits=None, *, is_stopped=None, on_progress=None, progress_seconds=0.25):
        legal = self.legal_actions
        if not legal:
            raise ValueError("the game is over")
        self.limits.append(limits)
        evaluation = self.evaluations.get(len(self.actions), {})
        moves = self._moves()
        best = evaluation.get("best", self.legal_actions[0])
        moves = sorted(moves, key=lambda move: move.action != best)
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
            num_evaluations=0,
            seconds=0.0,
        )
        if on_progress is not None:
            on_progress(report)
        return report

    def _discs(self, evaluation, action):
        """Returns the exact score of a move, or 64 times its value."""
        value = evaluation.get("values", {}).get(action, 0.0)
        expected = None if value is None else 64 * value
        return evaluation.get("scores", {}).get(action, expected)

    def _moves(self):
        legal = self.legal_actions
        evaluation = self.evaluations.get(len(self.actions), {})
        moves = [
            search_report.MoveReport(
                action=action,
                visits=evaluation.get("visits", {}).get(action, 20),
                prior=evaluation.get("prior", {}).get(action, 1 / len(legal)),
                value=evaluation.get("values", {}).get(action, 0.0),
                discs=self._discs(evaluation, action),
                score=evaluation.get("scores", {}).get(action),
                line=(action,),
            )
            for action in legal
        ]
        return tuple(sorted(moves, key=lambda move: -move.visits))
