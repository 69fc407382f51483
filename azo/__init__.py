"""azo learns Othello from its rules alone. The README lists the rooms of this package.

The names below are for programs. They are loaded at their first use, so `import azo` takes no time.
`__init__.pyi` gives their types.
"""

import importlib

_MODULES = {
    "Game": "azo.games.protocol",
    "check_game": "azo.games.conformance",
    "Othello": "azo.games.othello",
    "TicTacToe": "azo.games.tictactoe",
    "action_text": "azo.games.notation",
    "Evaluation": "azo.search.search_tree",
    "Network": "azo.learning.heads",
    "Prediction": "azo.learning.heads",
    "SearchConfig": "azo.search.settings",
    "GumbelConfig": "azo.search.settings",
    "PuctConfig": "azo.search.settings",
    "search_moves": "azo.search.improvement",
    "check_network": "azo.training.network_speed",
    "load_network": "azo.training.network_files",
    "run_training": "azo.cli.train",
    "load_engine": "azo.play.engine.engine_factory",
    "analyse_game": "azo.play.analysis.game_analysis",
    "solve_position": "azo.solver.host.endgame",
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("azo.training.shipped_files").version()
    if name not in _MODULES:
        raise AttributeError(f"module 'azo' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
