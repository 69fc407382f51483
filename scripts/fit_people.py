"""Fits `azo/engine/people.json`, how players of a rating move, to the games of WTHOR.

python scripts/fit_people.py WTHOR_FOLDER

Ratings are Elo by the games themselves: a player has a mean and a difference from it for every five
years, with normal priors, so few games give ratings near 1800. Names with brackets are programs:
they are rated and then left out. Games since 2022, and all moves of a tenth of the players, are
held out; the tables at the end are of these moves.
"""

import argparse
import itertools
import json
import pathlib

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

from azo.engine import engine_factory, people
from azo.formats import game_files, wthor
from azo.games import variant
from azo.games.host import live_game
from azo.solver.host import endgame

_PER_E = 400 / np.log(10)
_MEAN, _DEVIATION, _CHANGE = 1800, 300, 80
_PERIOD = 5  # years
_FEWEST_GAMES = 20  # of both players of a game that is learned
_HELD_OUT_YEAR = 2022
_BANDS = (-np.inf, 1500, 1700, 1900, 2100, np.inf)
_PENALTY = 1e-4
_MISTAKE = 2.0  # discs


def main() -> None:
    """Rates, samples, fits, writes, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--num-games", type=int, default=40_000)
    parser.add_argument("--positions-per-game", type=int, default=5)
    parser.add_argument("--plot", type=pathlib.Path, help="SVG of difficulty against mistakes")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    games, names = load_games(options.folder)
    rating = ratings(games, len(names))
    chosen = rng.permutation(np.flatnonzero(are_people(games, names)))[: options.num_games]
    is_held_player = rng.random(len(names)) < 0.1

    engine = engine_factory.load_engine()
    reader = people.People(engine.evaluator, endgame.Solver(8))
    rows: list[dict] = []
    for number in chosen:
        game = games[number]
        live = replay(game, engine.game)
        for ply in rng.choice(
            game["num_plies"], min(options.positions_per_game, game["num_plies"]), replace=False
        ):
            board, action = live.boards[ply], live.actions[ply]
            if len(live.legal_actions_at(board)) < 2:
                continue
            actions, values, num_empties = reader.features(board)
            side = 0 if board.is_black_to_move else 1
            mine = rating(number, side)
            rows.append(
                {
                    "values": values,
                    "row": actions.index(action),
                    "rating": mine,
                    "empties": num_empties,
                    "basis": people.basis(mine, num_empties),
                    "is_held": game["year"] >= _HELD_OUT_YEAR
                    or is_held_player[game["players"][side]],
                }
            )
    weights, held = {}, {}
    for name, is_late in (("middle", False), ("late", True)):
        part = [x for x in rows if (x["empties"] <= people.SOLVED_EMPTIES) == is_late]
        learned = [x for x in part if not x["is_held"]]
        weights[name] = _fit(learned)
        held[name] = [x for x in part if x["is_held"]]
        _table(name, held[name], weights[name])
    path = pathlib.Path(people.__file__).with_name("people.json")
    text = json.dumps({name: np.round(w, 4).tolist() for name, w in weights.items()})
    path.write_text(text + "\n", encoding="utf-8")
    if options.plot:
        _plot(options.plot, held, weights)


def load_games(folder: pathlib.Path) -> tuple[np.ndarray, list[str]]:
    """Returns the games of a folder, and the names of the players."""
    names = wthor.parse_players((folder / "WTH.JOU").read_bytes())
    numbers = [str(number) for number in range(len(names))]
    parts = []
    for path in sorted(folder.glob("*.wtb")):
        played = game_files.read_archives([path])
        games = np.zeros(len(played), _GAME)
        records = list(wthor.parse(path.read_bytes(), numbers))
        games["players"] = [(int(x.black), int(x.white)) for x in records]
        games["margin"] = [x.black_score for x in records]
        games["year"] = int(path.stem[4:])
        games["actions"], games["num_plies"] = played.action, played.num_plies
        parts.append(games)
    return np.concatenate(parts), names


def are_people(games: np.ndarray, names: list[str], fewest: int = _FEWEST_GAMES) -> np.ndarray:
    """Returns whether both players of each game are people with `fewest` games or more."""
    is_person = np.array(["(" not in name for name in names])
    numbers = np.bincount(games["players"].reshape(-1), minlength=len(names))
    return (is_person & (numbers >= fewest))[games["players"]].all(axis=1)


def held_out_games(folder: pathlib.Path):
    """Returns the games of a folder, their `ratings`, and the numbers of the held-out games."""
    games, names = load_games(folder)
    is_held_out = are_people(games, names, fewest=0) & (games["year"] >= _HELD_OUT_YEAR)
    return games, ratings(games, len(names)), np.flatnonzero(is_held_out)


def replay(game: np.void, rules: variant.Variant) -> live_game.LiveGame:
    """Returns a game to its end."""
    live = live_game.LiveGame(rules)
    live.new_game(None, game["actions"][: game["num_plies"]].tolist())
    return live


_GAME = np.dtype(
    [
        ("players", int, 2),
        ("margin", int),
        ("year", int),
        ("actions", np.int8, 120),
        ("num_plies", int),
    ]
)


def ratings(games: np.ndarray, num_players: int):
    """Returns a function from the number of a game and a side to the rating."""
    period = (games["year"] - games["year"].min()) // _PERIOD
    num_periods = period.max() + 1
    own = games["players"] * num_periods + period[:, None]
    result = (np.sign(games["margin"]) + 1) / 2
    sizes = num_players, num_players * num_periods

    def strength(x: np.ndarray) -> np.ndarray:
        return x[: sizes[0]][games["players"]] + x[sizes[0] :][own]

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        black, white = strength(x).T
        d = black - white
        error = 1 / (1 + np.exp(-d)) - result
        prior = np.concatenate(
            [np.full(sizes[0], _PER_E / _DEVIATION), np.full(sizes[1], _PER_E / _CHANGE)]
        )
        gradient = [
            np.bincount(rows[:, 0], error, n) - np.bincount(rows[:, 1], error, n)
            for rows, n in ((games["players"], sizes[0]), (own, sizes[1]))
        ]
        value = (np.logaddexp(0, d) - result * d).sum() + ((x * prior) ** 2).sum() / 2
        return value, np.concatenate(gradient) + x * prior**2

    fitted = scipy.optimize.minimize(loss, np.zeros(sum(sizes)), jac=True, method="L-BFGS-B")
    strengths = _MEAN + _PER_E * strength(fitted.x)
    return lambda number, side: float(strengths[number, side])


def _arrays(rows: list[dict]) -> tuple[np.ndarray, ...]:
    most = max(len(x["values"]) for x in rows)
    values = np.stack([np.pad(x["values"], ((0, most - len(x["values"])), (0, 0))) for x in rows])
    is_move = np.arange(most) < np.array([len(x["values"]) for x in rows])[:, None]
    return values, is_move, np.array([x["row"] for x in rows]), np.stack([x["basis"] for x in rows])


def _chances(values: np.ndarray, is_move: np.ndarray, weights: np.ndarray) -> np.ndarray:
    logits = np.where(is_move, np.einsum("nak,nk->na", values, weights), -np.inf)
    chance = np.exp(logits - logits.max(axis=1, keepdims=True))
    return chance / chance.sum(axis=1, keepdims=True)


def _fit(rows: list[dict]) -> np.ndarray:
    values, is_move, row, basis = _arrays(rows)
    shape, number = (values.shape[2], basis.shape[1]), np.arange(len(row))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        chance = _chances(values, is_move, basis @ flat.reshape(shape).T)
        value = -np.log(np.maximum(chance[number, row], 1e-12)).mean() + _PENALTY * flat @ flat / 2
        chance[number, row] -= 1
        gradient = np.einsum("na,nak->nk", chance, values).T @ basis / len(row)
        return value, gradient.reshape(-1) + _PENALTY * flat

    start = np.zeros(shape)
    start[0, 0] = 1  # the network's own policy
    options = {"maxiter": 150}
    return scipy.optimize.minimize(
        loss, start.reshape(-1), jac=True, method="L-BFGS-B", options=options
    ).x.reshape(shape)


def _table(name: str, rows: list[dict], weights: np.ndarray) -> None:
    """Prints the accuracy on held-out moves, by rating, of the fit and of only the network."""
    values, is_move, row, basis = _arrays(rows)
    number, rating = np.arange(len(row)), np.array([x["rating"] for x in rows])
    fitted = _chances(values, is_move, basis @ weights.T)
    alone = _chances(values[..., :1], is_move, np.ones((len(row), 1)))
    lost = 10 * values[..., 1]
    print(
        f"\n{name}\n| rating | moves | found, by the network | log-likelihood, of the network |",
        end="",
    )
    print(" discs lost | expected |")
    print("| --- | ---: | --- | --- | ---: | ---: |")
    for low, high in [*itertools.pairwise(_BANDS), (-np.inf, np.inf)]:
        here = (rating >= low) & (rating < high)
        found = [(x.argmax(axis=1) == row)[here].mean() for x in (fitted, alone)]
        likelihood = [np.log(x[number, row][here]).mean() for x in (fitted, alone)]
        discs = lost[number, row][here].mean(), (fitted * lost).sum(axis=1)[here].mean()
        cells = [f"{one:.3f}, {other:.3f}" for one, other in (found, likelihood)]
        cells += [f"{x:.2f}" for x in discs]
        print(f"| {low:.0f} to {high:.0f} | {here.sum()} | {' | '.join(cells)} |")


def _difficulty(rows: list[dict], weights: np.ndarray) -> np.ndarray:
    """Returns `[10, 3]`: mean difficulty, frequency of mistakes and positions, by difficulty."""
    values, is_move, row, basis = _arrays(rows)
    is_mistake = 10 * values[..., 1] >= _MISTAKE
    difficulty = (_chances(values, is_move, basis @ weights.T) * is_mistake).sum(axis=1)
    missed, tenth = is_mistake[np.arange(len(row)), row], np.minimum(10 * difficulty, 9).astype(int)
    parts = [tenth == part for part in range(10)]
    return np.array([(difficulty[here].mean(), missed[here].mean(), here.sum()) for here in parts])


def _plot(path: pathlib.Path, held: dict[str, list[dict]], weights: dict[str, np.ndarray]) -> None:
    """Draws difficulty against the frequency of mistakes in held-out positions."""
    plt.rcParams |= {"svg.hashsalt": "azo", "svg.fonttype": "none", "font.size": 9}
    figure, axes = plt.subplots(figsize=(4, 4))
    axes.plot([0, 1], [0, 1], "k:", lw=1)
    for name, rows in held.items():
        difficulty, missed, number = _difficulty(rows, weights[name]).T
        error = 1.96 * np.sqrt(missed * (1 - missed) / number)
        axes.errorbar(difficulty, missed, error, fmt="o", ms=4, capsize=2, label=name)
    axes.set_xlabel("difficulty: expected share of mistakes")
    axes.set_ylabel("share of mistakes, 95 %")
    axes.legend()
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    main()
