"""azo learns Othello from its rules alone. docs/design.md lists its layers.

Programs use the names below. They are loaded at first use, so `import azo` takes no time.
`__init__.pyi` gives their types.
"""

import importlib

_MODULES = {
    "Game": "azo.games.protocol",
    "check_game": "azo.games.conformance",
    "Othello": "azo.games.othello",
    "TicTacToe": "azo.games.tictactoe",
    "action_text": "azo.games.notation",
    "Evaluation": "azo.search.evaluations",
    "Network": "azo.networks.base",
    "Prediction": "azo.networks.base",
    "SearchConfig": "azo.search.settings",
    "GumbelConfig": "azo.search.settings",
    "PuctConfig": "azo.search.settings",
    "search_moves": "azo.search.improvement",
    "check_network": "azo.training.network_speed",
    "load_network": "azo.networks.network_files",
    "run_training": "azo.cli.train",
    "load_engine": "azo.engine.engine_factory",
    "analyse_game": "azo.coach.game_analysis",
    "solve_position": "azo.solver.host.endgame",
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("azo.settings.shipped_files").version()
    if name not in _MODULES:
        raise AttributeError(f"module 'azo' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
