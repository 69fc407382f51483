"""How fast are the rules on one core, and how many times faster than those of Pgx?

    python -m benchmarks.rules --batch 4096 --plies 128 --repeats 7

Games run side by side in one `lax.scan` and restart when they end. Every ply computes legal moves,
pass and end of game. Two cases are measured:

* step only: actions are given, recorded from random play of the same program;
* random play: a uniformly random legal action is drawn at every ply.

Nothing may be optimised away, so azo adds legal moves, pass, end and reward of every ply to a
checksum. The checksum is one word a game: with four accumulators XLA recomputed the rules for some
of them, which cost a third of the speed. Pgx stores its mask in its state and reads it at the next
ply to refuse illegal actions. Its ends and rewards are added up in one word too.

Pgx runs in the fastest form that we know. One start state is chosen by `where` instead of an `init`
a ply, and keys are not split. Random play is measured with `jax.random.categorical` over the masked
logits, as its users write it, and with azo's draw: one 16-bit number a game selects the k-th legal
action. Its `auto_reset` has its own row. Pgx plays two passes at the end of a game, azo none; both
count plies. Pgx is skipped if it is not installed (it belongs to the extra `test`).
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import pydantic

from azo.games import othello
from benchmarks import baselines, measure

PGX_SIZE = 8
PGX_END = 1024  # a game that ended, in the total that also adds up rewards of -1, 0 and 1
STEP_BASELINE = "Pgx, step only"
PLAY_BASELINES = ("Pgx, random play, k-th legal", "Pgx, random play, categorical")


class RulesConfig(measure.Settings):
    """How fast are the rules on one core, and how many times faster than those of Pgx?"""

    batch: pydantic.PositiveInt = 4096
    """Games side by side."""
    plies: pydantic.PositiveInt = 128
    """Plies of one call."""
    repeats: pydantic.PositiveInt = 7
    """Repetitions; each times every program once."""
    with_pgx: bool = True
    """Compare with Pgx, if it is installed."""


@dataclasses.dataclass(frozen=True)
class Contender:
    """One row of the table, and the rows with which it is compared."""

    program: measure.Program
    aims: dict[str, int | None] = dataclasses.field(default_factory=dict)  # times faster, by row


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return measure.run("benchmarks.rules", RulesConfig, report, argv)


def report(config: RulesConfig) -> list[str]:
    """Runs the benchmark and returns its lines of markdown."""
    contenders = _contenders(config)
    calls = {name: contender.program.call for name, contender in contenders.items()}
    timings = measure.take_turns(calls, config.repeats)
    num_steps = config.batch * config.plies
    rows = []
    for name, timing in timings.items():
        speeds = [
            str(measure.rate(seconds, num_steps / 1e6))
            for seconds in (timing.seconds, timing.processor_seconds)
        ]
        share = f"{timing.share:.2f}{' NOISY' if timing.is_noisy else ''}"
        compile_seconds = contenders[name].program.compile_seconds
        rows.append((name, *speeds, f"{compile_seconds:.1f}", share))
    columns = (
        "million plies a second",
        "by wall clock",
        "by processor time",
        "compile seconds",
        "share of the core",
    )
    lines = [
        f"{config.batch} games side by side, {config.plies} plies a call, {config.repeats}"
        " repetitions: median (smallest to largest).",
        "",
        measure.markdown_table(columns, rows),
        "",
    ]
    rows = [
        (
            f"{name}, against {baseline}",
            *_speedups(timings[name], timings[baseline]),
            f"at least {aim}" if aim else "",
        )
        for name, contender in contenders.items()
        for baseline, aim in contender.aims.items()
        if baseline in timings
    ]
    if rows:
        lines += [measure.markdown_table(("times faster", *columns[1:3], "aim"), rows), ""]
    else:
        lines += ["Pgx was left out: switched off, or not installed (extra `test`).", ""]
    return lines


def _speedups(timing: measure.Timing, baseline: measure.Timing) -> tuple[str, str]:
    return (
        str(measure.speedup(timing.seconds, baseline.seconds)),
        str(measure.speedup(timing.processor_seconds, baseline.processor_seconds)),
    )


def azo_random_play(
    game: othello.Othello, start: othello.Position, keys: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Plays at random; returns the actions `[T, B]` and the checksum `[B]` uint32."""

    def ply(carry, key):
        action = game.random_action(key, carry[0])
        return _play(game, start, carry, action), action

    (_, checksum), actions = jax.lax.scan(ply, _azo_carry(start), keys)
    return actions, checksum


def azo_replay(game: othello.Othello, start: othello.Position, actions: jax.Array) -> jax.Array:
    """Plays actions `[T, B]` with `play` and `is_over`; returns the checksum `[B]` uint32."""

    def ply(carry, action):
        return _play(game, start, carry, action), None

    return jax.lax.scan(ply, _azo_carry(start), actions)[0][1]


def azo_replay_steps(
    game: othello.Othello, start: othello.Position, actions: jax.Array
) -> jax.Array:
    """The same with `step` of the protocol, which also leaves finished games unchanged."""

    def ply(carry, action):
        position, checksum = carry
        step = game.step(position, action)
        is_last = step.discount == 0
        checksum = _add(game, checksum, step.position, is_last, step.reward)
        return (_restart(is_last, start, step.position), checksum), None

    return jax.lax.scan(ply, _azo_carry(start), actions)[0][1]


def azo_replay_masks(
    game: othello.Othello, start: othello.Position, actions: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The same with `play` and with legal moves as bools; also returns these, `[B, A]`."""

    def ply(carry, action):
        carry, masks = carry
        masks = masks ^ game.legal_mask(game.play(carry[0], action))
        return (_play(game, start, carry, action), masks), None

    masks = jnp.zeros_like(game.legal_mask(start))
    ((_, checksum), masks), _ = jax.lax.scan(ply, (_azo_carry(start), masks), actions)
    return checksum, masks


def _azo_carry(start: othello.Position) -> tuple[othello.Position, jax.Array]:
    return start, jnp.zeros_like(start.player.lower)


def _play(
    game: othello.Othello, start: othello.Position, carry: tuple, action: jax.Array
) -> tuple[othello.Position, jax.Array]:
    position, checksum = carry
    after = game.play(position, action)
    is_last = game.is_over(after)
    reward = jnp.where(is_last, -game.result(after), 0.0)
    checksum = _add(game, checksum, after, is_last, reward)
    return _restart(is_last, start, after), checksum


def _add(
    game: othello.Othello,
    checksum: jax.Array,
    position: othello.Position,
    is_last: jax.Array,
    reward: jax.Array,
) -> jax.Array:
    legal = game.legal_squares(position)
    must_pass = legal.is_empty() & ~is_last
    checksum = checksum + legal.lower + legal.upper
    # Different weights, so that a pass and an end give different sums.
    return checksum + 3 * must_pass + 5 * is_last + 7 * reward.astype(jnp.int32).astype(jnp.uint32)


def _restart(is_last: jax.Array, start: Any, state: Any) -> Any:
    def choose(fresh, old):
        where = is_last.reshape(is_last.shape + (1,) * (old.ndim - is_last.ndim))
        return jnp.where(where, fresh, old)

    return jax.tree.map(choose, start, state)


def pgx_categorical(key: jax.Array, legal_mask: jax.Array) -> jax.Array:
    """Draws like Pgx's own examples: a Gumbel number for each of the 65 actions."""
    return jax.random.categorical(key, jnp.where(legal_mask, 0.0, -jnp.inf))


def pgx_kth_legal(key: jax.Array, legal_mask: jax.Array) -> jax.Array:
    """Draws one number a game, as azo does, which selects the k-th legal action."""
    rank_after = jnp.cumsum(legal_mask, axis=-1, dtype=jnp.int32)
    num_legal = rank_after[:, -1]
    word = jax.random.bits(key, num_legal.shape, jnp.uint16).astype(jnp.int32)
    rank = (word * num_legal) >> 16
    return (rank_after <= rank[:, None]).sum(axis=-1)


def pgx_random_play(
    step: Callable, draw: Callable, start: Any, keys: jax.Array
) -> tuple[jax.Array, Any, jax.Array]:
    """Plays at random; returns the actions `[T, B]` and the results of `pgx_replay`."""

    def ply(carry, key):
        state, total = carry
        action = draw(key, state.legal_action_mask)
        after = step(state, action)
        return (_restart(after.terminated, start, after), _pgx_add(total, after)), action

    carry, actions = jax.lax.scan(ply, _pgx_carry(start), keys)
    return actions, *carry


def pgx_replay(step: Callable, start: Any, actions: jax.Array) -> tuple[Any, jax.Array]:
    """Plays the given actions; returns the last states and the total `[B]` int32."""

    def ply(carry, action):
        after = step(carry[0], action)
        return (_restart(after.terminated, start, after), _pgx_add(carry[1], after)), None

    return jax.lax.scan(ply, _pgx_carry(start), actions)[0]


def pgx_replay_auto_reset(
    step: Callable, start: Any, actions: jax.Array, keys: jax.Array
) -> tuple[Any, jax.Array]:
    """The same with `step` of `pgx.experimental.auto_reset`, which creates a new state a ply."""

    def ply(carry, inputs):
        action, key = inputs
        after = step(carry[0], action, key)
        return (after, _pgx_add(carry[1], after)), None

    return jax.lax.scan(ply, _pgx_carry(start), (actions, keys))[0]


def _pgx_carry(start: Any) -> tuple[Any, jax.Array]:
    return start, jnp.zeros(start.terminated.shape, jnp.int32)


def _pgx_add(total: jax.Array, after: Any) -> jax.Array:
    return total + PGX_END * after.terminated + after.rewards[:, 0].astype(jnp.int32)


def _contenders(config: RulesConfig) -> dict[str, Contender]:
    keys = jax.random.split(jax.random.key(config.seed), config.plies)
    rows: dict[str, Contender] = {}
    for size in (8, 6):
        rows |= _azo_contenders(size, config.batch, keys)
    uses_pgx = config.with_pgx and baselines.has_pgx()
    return rows | (_pgx_contenders(config.batch, keys) if uses_pgx else {})


def _azo_contenders(size: int, batch: int, keys: jax.Array) -> dict[str, Contender]:
    game = othello.Othello(size)
    start = game.start(batch)
    random_play = functools.partial(azo_random_play, game)
    play = measure.compile_program(random_play, start, keys)
    actions = jax.block_until_ready(play.call())[0]
    replays: dict[str, tuple[Callable, int | None]] = {"step only": (azo_replay, 40)}
    if size == PGX_SIZE:
        replays |= {
            "step only, protocol's `step`": (azo_replay_steps, None),
            "step only, legal moves as bools": (azo_replay_masks, None),
        }
    name = f"azo {size}x{size}"
    rows = {f"{name}, random play": Contender(play, dict.fromkeys(PLAY_BASELINES, 10))}
    for what, (replay, aim) in replays.items():
        program = measure.compile_program(functools.partial(replay, game), start, actions)
        rows[f"{name}, {what}"] = Contender(program, {STEP_BASELINE: aim})
    if size != PGX_SIZE:
        rows = {name: Contender(row.program) for name, row in rows.items()}
    return rows


def _pgx_contenders(batch: int, keys: jax.Array) -> dict[str, Contender]:
    env = baselines.pgx_othello()
    start = jax.jit(jax.vmap(env.init))(jax.random.split(keys[0], batch))
    step = jax.vmap(env.step)
    play_kth, play_usual = (
        measure.compile_program(functools.partial(pgx_random_play, step, draw), start, keys)
        for draw in (pgx_kth_legal, pgx_categorical)
    )
    actions = jax.block_until_ready(play_kth.call())[0]
    replay = functools.partial(pgx_replay, step)
    replay_reset = functools.partial(pgx_replay_auto_reset, baselines.pgx_auto_reset(env))
    return {
        STEP_BASELINE: Contender(measure.compile_program(replay, start, actions)),
        "Pgx, step only, its `auto_reset`": Contender(
            measure.compile_program(replay_reset, start, actions, keys)
        ),
        PLAY_BASELINES[0]: Contender(play_kth),
        PLAY_BASELINES[1]: Contender(play_usual),
    }


if __name__ == "__main__":
    sys.exit(main())
