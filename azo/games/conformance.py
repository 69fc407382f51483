"""Checks that a game keeps the promises of `protocol.Game`."""

import functools
from collections.abc import Iterator
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol, symmetry

_Promises = Iterator[dict[str, Any]]  # faults, each with what excludes it

_MOST_ACTIONS = 2**15 - 1  # trees and records store actions in 16 bits
_LARGEST_SCORE = 127  # the replay stores scores in 8 bits


def check_game(game: protocol.Game, *, num_games: int = 16, seed: int = 0) -> None:
    """Plays random games, and checks the protocol at every position of these games.

    If a symmetry changes the start position, only its permutations are checked: products must be
    symmetries too, and squares and actions must move alike if actions are squares. Properties
    that no game shows are not checked, such as who should have won.

    Raises:
      ValueError: One line per broken promise, with the first ply at which it was found. Calls are
        checked only if the constants are right, and games only if the calls are.
    """
    faults: dict[str, str] = {}
    for check in (_constants, _calls, _games):
        try:
            for ply, promises in enumerate(check(game, num_games, jax.random.key(seed))):
                for fault, is_excluded in promises.items():
                    if not np.all(is_excluded):
                        faults.setdefault(fault, f" (ply {ply})" if check is _games else "")
        except Exception as error:  # whatever it is, it is what the user needs to see
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            faults[f"the check of {check.__name__[1:]} fails: {reason}"] = ""
        if faults:  # the next checks rely on what this one has checked
            lines = [f"- {fault}{place}" for fault, place in faults.items()]
            name = type(game).__name__
            raise ValueError("\n".join([f"{name} breaks the protocol of a game:", *lines]))


def _constants(game: Any, *_: Any) -> _Promises:
    """Checks what no position changes."""
    if missing := protocol.missing_members(game):
        yield {f"lacks {', '.join(missing)}": False}
        return
    scores = np.asarray(game.scores)
    is_sorted = scores.dtype == np.int32 and (np.diff(scores) > 0).all()
    yield {
        "is not equal to itself": hash(game) == hash(game) and game == game,
        "board_shape is not positive": min(game.board_shape) > 0,
        "num_actions is not in 1 to 32,767": 0 < game.num_actions <= _MOST_ACTIONS,
        "max_legal is not in 1 to num_actions": 0 < game.max_legal <= game.num_actions,
        "num_slots is not in 1 to max_legal": 0 < game.num_slots <= game.max_legal,
        "max_plies is not positive": game.max_plies > 0,
        "scores are not int32, ascending, each with its negative": is_sorted
        and (scores == -scores[::-1]),
        "the largest of scores is not in 1 to 127": 0 < scores[-1] <= _LARGEST_SCORE,
    }
    squares, actions = np.asarray(game.square_symmetries), np.asarray(game.action_symmetries)
    number, num_squares = len(squares), game.board_shape[0] * game.board_shape[1]
    for name, table, size in (
        ("square_symmetries", squares, num_squares),
        ("action_symmetries", actions, game.num_actions),
    ):
        is_table = table.dtype == np.int32 and table.shape == (number, size)
        yield {f"{name} are not int32 of shape [{number}, {size}]": is_table}
        if not is_table:
            return
        identity = np.arange(size)
        yield {f"{name} are not permutations": np.sort(table) == identity}
        yield {f"{name} do not begin with the identity": table[0] == identity}
    both = np.hstack([squares, actions + num_squares])
    group = {row.tobytes() for row in both}
    is_closed = all(first[second].tobytes() in group for first in both for second in both)
    yield {"the symmetries are not a group: the product of two is not a symmetry": is_closed}


def _calls(game: Any, num_games: int, key: jax.Array) -> _Promises:
    """Checks shapes and types, batch shapes, and that compiled, mapped and plain calls agree."""
    many = protocol.broadcast(game.start(), (), (2, 3))
    yield {"start does not repeat one position": _same(game.start(2, 3), many)}
    position = game.start(3)
    seen = _view(game, position)
    channels = jax.eval_shape(game.planes, game.start()).shape[-1]
    for name, shape, *types in (
        ("is_over", (), "bool"),
        ("result", (), "float32"),
        ("final_score", (), "int32"),
        ("legal_mask", (game.num_actions,), "bool"),
        ("legal_actions", (game.max_legal,), "int32"),
        ("planes", (*game.board_shape, channels), "bool", "float32"),
        ("pack", (game.packed_words,), "uint32"),
    ):
        is_right = seen[name].shape == (3, *shape) and seen[name].dtype.name in types
        axes = ", ".join(map(str, ["...", *shape]))
        yield {f"{name} is not {' or '.join(types)} of shape [{axes}]": is_right}
    position = game.step(position, game.random_action(key, position)).position
    seen = _view(game, position)

    @jax.jit
    def calls(position: Any) -> dict[str, Any]:
        """Returns two results of positions `[B]` that should be the same, by the fault."""
        actions = game.legal_actions(position, 1)
        actions = jnp.concatenate([actions, game.random_action(key, position)[:, None]], axis=1)
        wide = jax.tree.map(lambda x: x[:, None], position)
        first, second = (game.step(position, actions[:, i]) for i in range(2))
        batch, view = _view(game, position), functools.partial(_view, game)
        alone = jax.tree.map(lambda x: x[:, 0], view(wide))
        each = jax.tree.map(lambda *x: jnp.stack(x, axis=1), first, second)
        alike = [jax.tree.map(jnp.zeros_like, x) for x in (position, first.position)]
        step = "step of [B, 1] positions and actions [B, S] differs from that of each"
        return {
            "compiled functions differ from plain ones": (batch, seen),
            "functions of one position differ from those of a batch": (
                jax.vmap(view)(position),
                batch,
            ),
            "functions of [B, 1] positions differ from those of [B]": (alone, batch),
            "step of one position differs from that of a batch": (
                jax.vmap(game.step)(position, actions[:, 0]),
                first,
            ),
            step: (game.step(wide, actions), each),
            "step changes the shapes or types of a position": alike,
        }

    yield {fault: _same(*pair) for fault, pair in calls(position).items()}


def _games(game: Any, num_games: int, key: jax.Array) -> _Promises:
    """Checks every position of random games, and their images under symmetries, ply by ply.

    Each symmetry has `num_games` games, the identity the first ones. Where it keeps the start
    position, they are the images of these.
    """
    look, step = jax.jit(functools.partial(_view, game)), jax.jit(game.step)
    choices = jax.jit(game.random_action), jax.jit(game.greedy_action)
    which = jnp.repeat(jnp.arange(len(game.square_symmetries)), num_games)
    original, rows = np.arange(len(which)) % num_games, np.arange(len(which))
    undo = symmetry.inverse(game.action_symmetries)[np.asarray(which)]
    position = game.start(len(which))
    num_squares = game.square_symmetries.shape[1]
    as_squares = np.ones(len(which), bool)
    if game.has_square_actions:
        is_same = game.action_symmetries[:, :num_squares] == game.square_symmetries
        as_squares = np.all(is_same, axis=1)[np.asarray(which)]
    for ply in range(game.max_plies + 1):
        seen = {name: np.asarray(x) for name, x in look(position).items()}
        legal, is_over, score = seen["legal_mask"], seen["is_over"], seen["final_score"]
        first = {name: jnp.asarray(x[original]) for name, x in seen.items()}
        planes = symmetry.move_planes(game.square_symmetries, which, first["planes"])
        mask = symmetry.move_policy(game.action_symmetries, which, first["legal_mask"])
        planes_move = np.asarray(planes == seen["planes"]).all(axis=(1, 2, 3))
        legal_moves = np.asarray(mask == legal).all(axis=1) | is_over
        if ply == 0:
            is_other = ~planes_move
        chosen = [np.asarray(f(jax.random.fold_in(key, ply), position)) for f in choices]
        action = undo[rows, chosen[0][original]]
        action = np.where(legal[rows, action], action, legal.argmax(axis=-1)).astype(np.int32)
        after = step(position, jnp.asarray(action))
        then = {name: np.asarray(x) for name, x in look(after.position).items()}
        reward = np.where(then["is_over"] & ~is_over, -then["result"], 0)
        listed = protocol.actions_from_mask(jnp.asarray(legal), game.max_legal)
        unpacked = game.unpack(jnp.asarray(seen["pack"]))
        kept = protocol.where(jnp.asarray(is_over), position, after.position)
        is_apart = is_other | ~is_over | ~first["is_over"]
        yield {
            "legal_mask has no legal action": legal.any(axis=-1),
            "more legal actions than max_legal": legal.sum(axis=-1) <= game.max_legal,
            "legal_actions are not those of legal_mask, ascending, then -1": (
                seen["legal_actions"] == listed
            ),
            "final_score is not one of scores": np.isin(score, game.scores) | ~is_over,
            "result is not the sign of final_score": (np.sign(score) == seen["result"]) | ~is_over,
            "planes are not finite": np.isfinite(seen["planes"]),
            "unpack does not give back what was packed": _same(position, unpacked),
            "planes do not commute with the symmetries": planes_move | is_other,
            "legal moves do not commute with the symmetries": legal_moves | is_other,
            # Games do not show it of those that change the planes of the start.
            "action_symmetries do not move squares as square_symmetries do": (
                as_squares | ~is_other
            ),
            "is_over does not commute with the symmetries": (first["is_over"] == is_over)
            | is_other,
            "final_score does not commute with the symmetries": (first["final_score"] == score)
            | is_apart,
            "a game has more plies than max_plies": is_over | (ply < game.max_plies),
            "random_action is illegal": legal[rows, chosen[0]],
            "greedy_action is illegal": legal[rows, chosen[1]],
            "reward is not the mover's result on the last ply, and 0 before it": (
                after.reward == reward
            ),
            "discount is not -1 before the last ply, and 0 on and after it": (
                after.discount == np.where(then["is_over"] | is_over, 0, -1)
            ),
            "a finished game changes": _same(kept, after.position),
        }
        if is_over.all():
            break
        position = after.position


def _view(game: Any, position: Any) -> dict[str, jax.Array]:
    """Returns all that a game says of positions."""
    names = ("is_over", "result", "final_score", "legal_mask", "planes", "pack")
    seen = {name: getattr(game, name)(position) for name in names}
    return seen | {"legal_actions": game.legal_actions(position, game.max_legal)}


def _same(first: Any, second: Any) -> bool:
    """Returns whether two pytrees have the same structure, shapes, types and values."""
    try:
        chex.assert_trees_all_equal(first, second, strict=True)
    except AssertionError:
        return False
    return True
