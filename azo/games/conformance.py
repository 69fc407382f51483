"""Checks that a game keeps the promises of `protocol.Game`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol, symmetry

_MOST_ACTIONS = 2**15 - 1  # trees and records store actions in 16 bits
_LARGEST_SCORE = 127  # the replay stores scores in 8 bits


def check_game(game: protocol.Game, *, num_games: int = 16, seed: int = 0) -> None:
    """Plays random games, and checks the protocol on every position of them.

    A symmetry that moves the start position is checked only as a member of the group: permutations
    whose products are members too. What no game shows stays unchecked, such as who should have won.

    Raises:
      ValueError: A line for each broken promise, with the ply at which it was found first. Calls
        are checked only if constants are right, and games only if calls are.
    """
    found = _Findings()
    for check in (_check_constants, _check_symmetries, _check_calls, _check_games):
        try:
            check(game, found, num_games, jax.random.key(seed))
        except Exception as error:  # whatever it is, it is what the user needs to see
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            found.expect(False, f"{found.task} fails: {reason}")
        if found.claims:  # the next checks rely on what this one has checked
            break
    if found.claims:
        lines = [f"- {claim}{place}" for claim, place in found.claims.items()]
        name = type(game).__name__
        raise ValueError("\n".join([f"{name} breaks the protocol of a game:", *lines]))


class _Findings:
    """Broken promises, each with the place where it was found first."""

    def __init__(self) -> None:
        self.claims: dict[str, str] = {}
        self.task = "reading the constants"
        self.place = ""

    def expect(self, holds: Any, claim: str) -> None:
        """Notes a broken promise unless all of `holds` is true."""
        if not np.all(holds):
            self.claims.setdefault(claim, self.place)

    def same(self, first: Any, second: Any, claim: str) -> None:
        """Notes a broken promise unless two pytrees have the same structure, types and values."""
        is_same = _shapes(first) == _shapes(second) and all(
            np.array_equal(x, y, equal_nan=True)
            for x, y in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
        )
        self.expect(is_same, claim)


def _check_constants(game: Any, found: _Findings, *_: Any) -> None:
    members = {member for member in vars(protocol.Game) if member[0] != "_"}
    if missing := members - set(dir(game)):
        found.expect(False, f"lacks {', '.join(sorted(missing))}")
        return
    found.expect(hash(game) == hash(game) and game == game, "is not equal to itself")
    rows, columns = game.board_shape
    scores = np.asarray(game.scores)
    found.expect(rows > 0 and columns > 0, "board_shape is not positive")
    found.expect(0 < game.num_actions <= _MOST_ACTIONS, "num_actions is not in 1 to 32,767")
    found.expect(0 < game.max_legal <= game.num_actions, "max_legal is not in 1 to num_actions")
    found.expect(0 < game.num_slots <= game.max_legal, "num_slots is not in 1 to max_legal")
    found.expect(game.max_plies > 0, "max_plies is not positive")
    found.expect(
        scores.dtype == np.int32
        and (np.diff(scores) > 0).all()
        and (scores == -scores[::-1]).all(),
        "scores are not int32, ascending, each with its negative",
    )
    found.expect(0 < scores[-1] <= _LARGEST_SCORE, "the largest of scores is not in 1 to 127")


def _check_symmetries(game: Any, found: _Findings, *_: Any) -> None:
    found.task = "reading the symmetries"
    squares, actions = np.asarray(game.square_symmetries), np.asarray(game.action_symmetries)
    rows, columns = game.board_shape
    for name, table, size in (
        ("square_symmetries", squares, rows * columns),
        ("action_symmetries", actions, game.num_actions),
    ):
        is_table = table.dtype == np.int32 and table.shape == (len(squares), size)
        found.expect(is_table, f"{name} are not int32 of shape [{len(squares)}, {size}]")
        is_permutation = is_table and (np.sort(table) == np.arange(size)).all()
        found.expect(is_permutation, f"{name} are not permutations")
        found.expect(
            is_permutation and (table[0] == np.arange(size)).all(),
            f"{name} do not begin with the identity",
        )
        if not is_permutation:
            return
    both = np.hstack([squares, actions + rows * columns])
    group = {row.tobytes() for row in both}
    closed = all(first[second].tobytes() in group for first in both for second in both)
    found.expect(closed, "the symmetries are no group: a product of two is no symmetry")


def _check_calls(game: Any, found: _Findings, num_games: int, key: jax.Array) -> None:
    """Checks shapes and types, batch shapes, and that compiled, mapped and plain calls agree."""
    found.task, one = "start", game.start()
    many = jax.tree.map(lambda x: jnp.broadcast_to(x, (2, 3, *x.shape)), one)
    found.same(game.start(2, 3), many, "start does not repeat one position")

    @jax.jit
    def calls(position: Any) -> tuple:
        """Returns what functions give for positions `[B]`, in several ways."""
        actions = game.legal_actions(position, 1)
        actions = jnp.concatenate([actions, game.random_action(key, position)[:, None]], axis=1)
        wide = jax.tree.map(lambda x: x[:, None], position)
        each = [game.step(position, actions[:, i]) for i in range(2)]
        return (
            _seen(game, position),
            jax.vmap(lambda one: _seen(game, one))(position),
            jax.tree.map(lambda x: x[:, 0], _seen(game, wide)),
            each[0],
            jax.vmap(game.step)(position, actions[:, 0]),
            jax.tree.map(lambda *x: jnp.stack(x, axis=1), *each),
            game.step(wide, actions),
        )

    found.task = "a call on positions"
    position = game.start(3)
    position = game.step(position, game.random_action(key, position)).position
    seen = _seen(game, position)
    for name, (shape, dtypes) in _expected(game).items():
        is_right = seen[name].shape == (3, *shape) and seen[name].dtype.name in dtypes
        axes = ", ".join(map(str, ["...", *shape]))
        found.expect(is_right, f"{name} is not {' or '.join(dtypes)} of shape [{axes}]")
    found.task = "a compiled call on positions"
    batch, mapped, wide, step, mapped_step, each, tried = calls(position)
    found.same(batch, seen, "compiled functions differ from plain ones")
    found.same(mapped, batch, "functions of one position differ from those of a batch")
    found.same(wide, batch, "functions of [B, 1] positions differ from those of [B]")
    found.same(mapped_step, step, "step of one position differs from that of a batch")
    found.same(tried, each, "step of [B, 1] positions and actions [B, S] differs from that of each")
    is_kept = _shapes(step.position) == _shapes(position)
    found.expect(is_kept, "step changes the shapes or types of a position")


def _check_games(game: Any, found: _Findings, num_games: int, key: jax.Array) -> None:
    """Checks every position of random games, and their images under symmetries."""
    found.task, found.place = "a random game", ""
    squares, actions = game.square_symmetries, game.action_symmetries
    look = jax.jit(lambda position: _seen(game, position))
    step, choose = jax.jit(game.step), jax.jit(game.random_action)
    greedy = jax.jit(game.greedy_action)

    def images(which: np.ndarray, seen: Any) -> tuple[Any, Any]:
        """Returns planes and masks as the symmetries `which` `[M]` move them."""
        return (
            symmetry.move_planes(squares, jnp.asarray(which), seen["planes"]),
            symmetry.move_policy(actions, jnp.asarray(which), seen["legal_mask"]),
        )

    every = np.arange(len(squares))
    seen = look(game.start(len(squares)))
    moved = images(every, seen)
    fixed = [
        k
        for k in every
        if all(
            (np.asarray(new[k]) == old[0]).all()
            for new, old in zip(moved, (seen["planes"], seen["legal_mask"]), strict=True)
        )
    ]
    which = np.repeat(fixed, num_games)  # the first games are those that the identity moves
    undo = symmetry.inverse(actions)[which]
    position = game.start(len(which))
    rows = np.arange(len(which))
    for ply in range(game.max_plies + 1):
        found.place = f" (ply {ply})"
        seen = {name: np.asarray(x) for name, x in look(position).items()}
        legal, over, result = seen["legal_mask"], seen["is_over"], seen["result"]
        found.expect(legal.any(axis=-1), "legal_mask has no legal action")
        num_legal = legal.sum(axis=-1)
        found.expect(num_legal <= game.max_legal, "more legal actions than max_legal")
        listed = [np.flatnonzero(row)[: game.max_legal] for row in legal]
        padded = [np.pad(row, (0, game.max_legal - len(row)), constant_values=-1) for row in listed]
        found.expect(
            seen["legal_actions"] == np.array(padded),
            "legal_actions are not those of legal_mask, ascending, then -1",
        )
        found.expect(
            np.isin(seen["final_score"], game.scores) | ~over, "final_score is none of scores"
        )
        found.expect(
            (np.sign(seen["final_score"]) == result) | ~over,
            "result is not the sign of final_score",
        )
        found.expect(np.isfinite(seen["planes"]), "planes are not finite")
        found.same(
            position,
            game.unpack(jnp.asarray(seen["pack"])),
            "unpack does not give back what was packed",
        )

        first = {
            name: np.tile(x[:num_games], (len(fixed), *[1] * (x.ndim - 1)))
            for name, x in seen.items()
        }
        planes, mask = images(which, first)
        found.expect(
            np.asarray(planes) == seen["planes"], "planes do not commute with the symmetries"
        )
        is_moved = (np.asarray(mask) == legal) | over[:, None]
        found.expect(is_moved, "legal moves do not commute with the symmetries")
        for name, is_told in (("is_over", True), ("final_score", over & first["is_over"])):
            is_moved = (first[name] == seen[name]) | ~np.asarray(is_told)
            found.expect(is_moved, f"{name} does not commute with the symmetries")
        if over.all():
            break
        found.expect(ply < game.max_plies, "a game has more plies than max_plies")

        ply_key = jax.random.fold_in(key, ply)
        action = np.asarray(choose(ply_key, position))
        found.expect(legal[rows, action], "random_action is illegal")
        found.expect(legal[rows, np.asarray(greedy(ply_key, position))], "greedy_action is illegal")
        action = undo[rows, np.tile(action[:num_games], len(fixed))].astype(np.int32)
        action = np.where(legal[rows, action], action, legal.argmax(axis=-1))
        after = step(position, jnp.asarray(action))
        then = look(after.position)
        ends = np.asarray(then["is_over"]) & ~over
        reward, discount = np.asarray(after.reward), np.asarray(after.discount)
        found.expect(
            reward == np.where(ends, -np.asarray(then["result"]), 0),
            "reward is not that of the side that moved, on the last ply, and else 0",
        )
        found.expect(
            discount == np.where(ends | over, 0, -1),
            "discount is not -1 before the last ply and 0 from it on",
        )
        kept = protocol.where(jnp.asarray(over), position, after.position)
        found.same(kept, after.position, "a finished game changes")
        position = after.position


def _seen(game: Any, position: Any) -> dict[str, jax.Array]:
    """Returns all that a game says of positions."""
    return {
        "is_over": game.is_over(position),
        "result": game.result(position),
        "final_score": game.final_score(position),
        "legal_mask": game.legal_mask(position),
        "legal_actions": game.legal_actions(position, game.max_legal),
        "planes": game.planes(position),
        "pack": game.pack(position),
    }


def _expected(game: Any) -> dict[str, tuple[tuple[int, ...], tuple[str, ...]]]:
    """Returns the shape behind the batch axes, and the types, of all that `_seen` returns."""
    channels = jax.eval_shape(game.planes, game.start()).shape[-1]
    return {
        "is_over": ((), ("bool",)),
        "result": ((), ("float32",)),
        "final_score": ((), ("int32",)),
        "legal_mask": ((game.num_actions,), ("bool",)),
        "legal_actions": ((game.max_legal,), ("int32",)),
        "planes": ((*game.board_shape, channels), ("bool", "float32")),
        "pack": ((game.packed_words,), ("uint32",)),
    }


def _shapes(tree: Any) -> Any:
    """Returns structure, shapes and types of a pytree, to compare."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, [(jnp.shape(x), jnp.result_type(x)) for x in leaves]
