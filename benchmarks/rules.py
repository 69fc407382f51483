"""How fast are the rules on one core, and how many times faster than those of Pgx?

    python -m benchmarks.rules --batch 4096 --plies 128 --repeats 7

Games run side by side in one `lax.scan` and restart when they end. Every ply computes legal moves,
pass and end of game. Two cases are measured:

* step only: actions are given, recorded from random play of the same program;
* random play: a uniformly random legal action is drawn at every ply.

Nothing may be optimised away, so azo adds legal moves, pass, end and reward of every ply to a
checksum. The checksum is one word per game: with four accumulators XLA recomputed the rules for
some of them, which cost a third of the speed. Pgx stores its mask in its state and reads it at the
next ply to refuse illegal actions. Its ends and rewards are added up in one word too.

Pgx runs in the fastest form that we know. One start state is chosen by `where` instead of an `init`
per ply, and keys are not split. Random play is measured with `jax.random.categorical` over the
masked logits, as its users write it, and with azo's draw: one 16-bit number per game selects the
k-th legal action. Its `auto_reset` has its own row. Pgx plays two passes at the end of a game, azo
none; both count plies. Pgx is skipped if it is not installed (it belongs to the extra `test`).

More rows have the program that a user of either library writes, the same in both:

* rules of one game under `jax.vmap` in a scan, whole games under `vmap`, one game alone, and games
  over devices by `jax.shard_map`;
* azo as an environment of Pgx, `azo.compat.pgx`, with three draws: `categorical` and a cumulated
  sum over the mask of legal actions, and azo's own;
* a network evaluates each observation and its policy is drawn from, which hides the rules' speed.

`--num-devices 2` measures only `shard_map`, on two CPU devices with one core each.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import pydantic
from jax.sharding import PartitionSpec

from azo.games import othello, protocol
from azo.networks import initial_variables, network
from benchmarks import baselines, environment, inputs, measure

PGX_SIZE = 8
STEP_BASELINE = "Pgx, step only"
PLAY_BASELINES = ("Pgx, random play, k-th legal", "Pgx, random play, categorical")
SHARDED = "step only, `shard_map` of `vmap`"
NETWORK_SHARE = 32  # plies of a call for each ply with a network
AXIS = "games"


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
    network: inputs.Size = "3x32"
    """Size of the network that evaluates each ply in some rows: blocks x channels."""
    num_devices: pydantic.PositiveInt = 1
    """CPU devices. With more than one, only the rows of `shard_map` are measured."""

    @property
    def num_cores(self) -> int:
        """One core a device."""
        return self.num_devices


@dataclasses.dataclass(frozen=True)
class Contender:
    """One row of the table, and the rows with which it is compared."""

    program: measure.Program
    num_steps: int  # plies of all games of a call
    aims: dict[str, int | None] = dataclasses.field(default_factory=dict)  # times faster, by row


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return measure.run("benchmarks.rules", RulesConfig, report, argv)


def report(config: RulesConfig) -> list[str]:
    """Runs the benchmark and returns its lines of markdown."""
    contenders = _contenders(config)
    calls = {name: contender.program.call for name, contender in contenders.items()}
    timings = measure.take_turns(calls, config.repeats)
    rows = []
    for name, timing in timings.items():
        speeds = [
            str(measure.rate(seconds, contenders[name].num_steps / 1e6))
            for seconds in (timing.seconds, timing.processor_seconds)
        ]
        share = f"{timing.share:.2f}{' NOISY' if timing.is_noisy else ''}"
        compile_seconds = contenders[name].program.compile_seconds
        rows.append((name, *speeds, f"{compile_seconds:.1f}", share))
    columns = (
        "million plies per second",
        "by wall clock",
        "by processor time",
        "compile seconds",
        "share of the core",
    )
    lines = [
        f"{config.batch} games side by side, {config.plies} plies per call, {config.repeats}"
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
    game: othello.Othello,
    start: othello.Position,
    actions: jax.Array,
    *,
    transform: Callable[[Callable], Callable] = lambda ply: ply,
) -> jax.Array:
    """The same with `step` of the protocol, which also leaves finished games unchanged.

    `transform` is applied to the ply, such as `jax.vmap`. One game has actions `[T]`.
    """

    def ply(start, position, checksum, action):
        step = game.step(position, action)
        is_last = step.discount == 0
        checksum = _add(game, checksum, step.position, is_last, step.reward)
        return protocol.where(is_last, start, step.position), checksum

    transformed = transform(ply)

    def scanned(carry, action):
        return transformed(start, *carry, action), None

    return jax.lax.scan(scanned, _azo_carry(start), actions)[0][1]


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
    return protocol.where(is_last, start, after), checksum


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


def sharded(function: Callable, num_devices: int) -> Callable:
    """Returns a function of `[B, ...]` and `[T, B]` that runs over devices, by games."""
    mesh = jax.make_mesh((num_devices,), (AXIS,), axis_types=(jax.sharding.AxisType.Auto,))
    games = PartitionSpec(AXIS)
    specs = (games, PartitionSpec(None, AXIS))
    return jax.shard_map(function, mesh=mesh, in_specs=specs, out_specs=games, check_vma=False)


def _contenders(config: RulesConfig) -> dict[str, Contender]:
    keys = jax.random.split(jax.random.key(config.seed), config.plies)
    uses_pgx = config.with_pgx and baselines.has_pgx()
    rows = _azo_contenders(config, PGX_SIZE, keys)
    if config.num_devices == 1:
        rows |= _azo_contenders(config, 6, keys)
        rows |= _environment_contenders(config, keys)
    return rows | (_pgx_contenders(config, keys) if uses_pgx else {})


def _azo_contenders(config: RulesConfig, size: int, keys: jax.Array) -> dict[str, Contender]:
    game, num_steps = othello.Othello(size), config.batch * config.plies
    start, name = game.start(config.batch), f"azo {size}x{size}"
    random_play = functools.partial(azo_random_play, game)
    play = measure.compile_program(random_play, start, keys)
    actions = jax.block_until_ready(play.call())[0]
    steps = functools.partial(azo_replay_steps, game)
    steps_by_vmap = functools.partial(steps, transform=jax.vmap)

    def compiled(function: Callable, baseline: str, aim: int | None = None) -> Contender:
        program = measure.compile_program(function, start, actions)
        return Contender(program, num_steps, {baseline: aim} if size == PGX_SIZE else {})

    if config.num_devices > 1:
        over_devices = sharded(steps_by_vmap, config.num_devices)
        return {f"{name}, {SHARDED}": compiled(over_devices, f"Pgx, {SHARDED}")}
    aims = dict.fromkeys(PLAY_BASELINES, 10) if size == PGX_SIZE else {}
    rows = {
        f"{name}, random play": Contender(play, num_steps, aims),
        f"{name}, step only": compiled(functools.partial(azo_replay, game), STEP_BASELINE, 40),
    }
    if size != PGX_SIZE:
        return rows
    alone = measure.compile_program(steps, game.start(), actions[:, 0])
    by_games = jax.vmap(steps, in_axes=(0, 1))
    masks = functools.partial(azo_replay_masks, game)
    return rows | {
        f"{name}, step only, protocol's `step`": compiled(steps, STEP_BASELINE),
        f"{name}, step only, legal moves as bools": compiled(masks, STEP_BASELINE),
        f"{name}, step only, `vmap` in `scan`": compiled(steps_by_vmap, STEP_BASELINE, 40),
        f"{name}, step only, `vmap` of games": compiled(
            by_games, "Pgx, step only, `vmap` of games"
        ),
        f"{name}, {SHARDED}": compiled(sharded(steps_by_vmap, 1), f"Pgx, {SHARDED}"),
        f"{name}, step only, one game": Contender(
            alone, config.plies, {"Pgx, step only, one game": None}
        ),
    }


def _environment_contenders(config: RulesConfig, keys: jax.Array) -> dict[str, Contender]:
    """Returns the rows of `azo.compat.pgx`."""
    from azo.compat import pgx  # imports Pgx, see `baselines`

    game, num_steps = othello.Othello(PGX_SIZE), config.batch * config.plies
    env = pgx.make("othello")
    start = jax.jit(jax.vmap(env.init))(jax.random.split(keys[0], config.batch))
    draws = {
        "azo's draw": (environment.draw_by_azo(game), PLAY_BASELINES),
        "k-th legal": (environment.draw_kth_legal, PLAY_BASELINES[:1]),
        "categorical": (environment.draw_categorical, PLAY_BASELINES[1:]),
    }
    rows = {}
    for name, (draw, play_baselines) in draws.items():
        play = functools.partial(environment.random_play, jax.vmap(env.step), draw)
        rows[f"azo.compat.pgx, random play, {name}"] = Contender(
            measure.compile_program(play, start, keys),
            num_steps,
            dict.fromkeys(play_baselines),
        )
    actions = jax.block_until_ready(next(iter(rows.values())).program.call())[0]
    replay = functools.partial(environment.replay, jax.vmap(env.step))
    name = f"network {config.network} first"
    return {
        "azo.compat.pgx, step only": Contender(
            measure.compile_program(replay, start, actions), num_steps, {STEP_BASELINE: None}
        ),
        **rows,
        f"azo.compat.pgx, {name}": _with_network(config, env, start, keys, f"Pgx, {name}"),
    }


def _with_network(
    config: RulesConfig, env: Any, start: Any, keys: jax.Array, *baseline: str
) -> Contender:
    """Returns an environment in which azo's network, the same for all, chooses each action."""
    game, size = othello.Othello(PGX_SIZE), inputs.config(config.network)
    initial = jax.jit(functools.partial(initial_variables.init, game, size))(
        jax.random.key(config.seed)
    )
    model, variables = network.fold(network.build(game, size), initial)
    step = jax.vmap(env.step)

    def play(variables, start, keys):
        draw = environment.draw_by_network(functools.partial(model.apply, variables))
        return environment.random_play(step, draw, start, keys)

    num_plies = max(1, config.plies // NETWORK_SHARE)
    program = measure.compile_program(play, variables, start, keys[:num_plies])
    return Contender(program, config.batch * num_plies, dict.fromkeys(baseline))


def _pgx_contenders(config: RulesConfig, keys: jax.Array) -> dict[str, Contender]:
    env, num_steps = baselines.pgx_othello(), config.batch * config.plies
    start = jax.jit(jax.vmap(env.init))(jax.random.split(keys[0], config.batch))
    step = jax.vmap(env.step)

    def compiled(function: Callable, *args: Any) -> Contender:
        return Contender(measure.compile_program(function, *args), num_steps)

    play = functools.partial(environment.random_play, step, environment.draw_kth_legal)
    play_kth = compiled(play, start, keys)
    actions = jax.block_until_ready(play_kth.program.call())[0]
    replay = functools.partial(environment.replay, step)
    over_devices = sharded(lambda start, actions: replay(start, actions)[1], config.num_devices)
    shards = {f"Pgx, {SHARDED}": compiled(over_devices, start, actions)}
    if config.num_devices > 1:
        return shards
    play = functools.partial(environment.random_play, step, environment.draw_categorical)
    one_replay = functools.partial(environment.replay, env.step)
    by_games = jax.vmap(one_replay, in_axes=(0, 1))
    auto_reset = functools.partial(environment.replay_auto_reset, baselines.pgx_auto_reset(env))
    one_game = (jax.tree.map(lambda x: x[0], start), actions[:, 0])
    return {
        STEP_BASELINE: compiled(replay, start, actions),
        "Pgx, step only, its `auto_reset`": compiled(auto_reset, start, actions, keys),
        "Pgx, step only, `vmap` of games": compiled(by_games, start, actions),
        **shards,
        "Pgx, step only, one game": Contender(
            measure.compile_program(one_replay, *one_game), config.plies
        ),
        PLAY_BASELINES[0]: play_kth,
        PLAY_BASELINES[1]: compiled(play, start, keys),
        f"Pgx, network {config.network} first": _with_network(config, env, start, keys),
    }


if __name__ == "__main__":
    sys.exit(main())
