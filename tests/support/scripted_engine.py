"""An engine with the real rules whose opinions are written down: for tests of what uses one."""

from azo.play import engine_settings, live_game, search_report


class ScriptedEngine(live_game.LiveGame):
    """Thinks what `opinions` says of a position, by its place in the game: 0 at the start.

    An opinion is a dict with any of `value`, `raw_value`, `score`, `best`, `prior`, `visits`,
    `values`, `scores` (the last four by action). By default all moves are alike and worth 0.
    """

    def __init__(self, game, opinions=None, config=None):
        super().__init__(game)
        self.opinions = opinions or {}
        self.config = config or engine_settings.EngineConfig(num_simulations=100)
        self.evaluator = None
        self.limits = []

    def think(self, limits=None, *, is_stopped=None, on_progress=None, progress_seconds=0.25):
        legal = self.legal_actions
        if not legal:
            raise ValueError("the game is over")
        self.limits.append(limits)
        opinion = self.opinions.get(len(self.actions), {})
        moves = self.look()
        best = opinion.get("best", self.legal_actions[0])
        moves = sorted(moves, key=lambda move: move.action != best)
        found = search_report.SearchReport(
            board=self.board,
            action=best,
            moves=tuple(moves),
            value=opinion.get("value", 0.0),
            raw_value=opinion.get("raw_value", 0.0),
            score=opinion.get("score"),
            source="search" if "score" not in opinion else "exact",
            num_simulations=self.config.num_simulations or 0,
            num_evaluations=0,
            seconds=0.0,
        )
        if on_progress is not None:
            on_progress(found)
        return found

    def look(self, line=()):
        there = live_game.LiveGame(self.game)
        there.new_game(self.board, line)
        legal = there.legal_actions
        opinion = {} if line else self.opinions.get(len(self.actions), {})
        moves = [
            search_report.MoveReport(
                action=action,
                visits=opinion.get("visits", {}).get(action, 20),
                prior=opinion.get("prior", {}).get(action, 1 / len(legal)),
                value=opinion.get("values", {}).get(action, 0.0),
                score=opinion.get("scores", {}).get(action),
                line=(action,),
            )
            for action in legal
        ]
        return tuple(sorted(moves, key=lambda move: -move.visits))
