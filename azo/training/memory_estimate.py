"""How much memory an iteration takes on one device, estimated before it is compiled.

The state of a run has known sizes. Besides it, XLA keeps buffers for one phase at a time: search,
labelling or learning. Their sizes were fitted to programs compiled for an H100 and a TPU v5e, which
`tests/data/program_memory.json` has. The estimate is within a fifth of those. Networks of users are
not included.
"""

import functools

import jax

from azo.games import protocol
from azo.learning import run_state
from azo.networks import network
from azo.process import memory
from azo.search import tree_size

_WORKSPACE = 32 << 20  # of libraries on a GPU, and small buffers
# Learning keeps the result of each convolution as float32 and the normalised one as bfloat16.
_BYTES_PER_LEARNED_VALUE = 6
_BYTES_PER_LEARNED_VALUE_ON_TPU = 4.5  # between 4.0 and 5.7: some are in its vector memory
COPIES_OF_REPLAY_ON_TPU = 2  # in layouts in which rows are inserted
_PLAYED_BOARDS = 3  # of bfloat16, side by side: argument, skip and result of a convolution
_COPIES_OF_LINES = 2  # of the rows of exact endings, as they are made and as they are packed


def of_iteration(
    settings: run_state.RecipeConfig, game: protocol.Game, num_devices: int, platform: str
) -> dict[str, int]:
    """Returns bytes on one of `num_devices`, by the setting that they depend on most.

    On a CPU the devices share the memory, and it is that of all devices of this process. Buffers of
    learning are not included there.
    """
    create = functools.partial(run_state.create, game, settings, seed=0, num_devices=num_devices)
    state = jax.eval_shape(create)
    # The devices of a CPU share its memory.
    is_shared = platform == "cpu"
    share = jax.process_count() if is_shared else num_devices
    games = memory.num_bytes((state.games, state.history)) // share
    replay = memory.num_bytes(state.replay) // share
    copies = COPIES_OF_REPLAY_ON_TPU if platform == "tpu" else 0
    network_bytes = memory.num_bytes(state.learner)
    parts = {
        "replay.capacity": replay + copies * replay,
        "selfplay.num_games": games,
        "the size of [network]": network_bytes,
        "learner.batch_size": 0,
    }
    num_games = settings.selfplay.num_games // share
    labels = _labels(settings, state, num_games, games)
    play = max(labels, _search(settings, game, num_games, platform))
    activations = _learning(settings, game, num_devices, platform)
    if play > network_bytes + activations:
        parts["selfplay.num_games"] += play
    else:
        parts["the size of [network]"] += network_bytes  # of its gradient and its updates
        parts["learner.batch_size"] += activations
    return parts


def _search(
    settings: run_state.RecipeConfig, game: protocol.Game, num_games: int, platform: str
) -> int:
    """Returns the bytes of the search trees of games, and of the evaluation of their leaves.

    A CPU evaluates a few leaves at a time.
    """
    trees = tree_size.num_bytes(game, num_games, settings.search.num_simulations)
    leaves = 0 if platform == "cpu" else num_games * settings.search.leaves_per_step
    widest = max(_channels(settings.network), default=0)
    return trees + 2 * _PLAYED_BOARDS * leaves * widest * _num_squares(game)


def _labels(
    settings: run_state.RecipeConfig, state: run_state.RunState, num_games: int, games: int
) -> int:
    """Returns the bytes of plies that wait for labels, and of rows that enter the replay."""
    plies = num_games * settings.selfplay.num_plies
    row = memory.num_bytes(state.replay) // settings.replay.capacity
    rows = plies * settings.endings.adjudicate_empties
    return games + (plies + _COPIES_OF_LINES * rows) * row


def _learning(
    settings: run_state.RecipeConfig, game: protocol.Game, num_devices: int, platform: str
) -> int:
    """Returns the bytes that a step keeps from the network's forward pass for its gradient."""
    if platform == "cpu":
        return 0
    values = settings.learner.batch_size // num_devices * _num_squares(game)
    values *= sum(_channels(settings.network))
    if platform == "tpu":
        return round(_BYTES_PER_LEARNED_VALUE_ON_TPU * values)
    return _WORKSPACE + _BYTES_PER_LEARNED_VALUE * values


def _channels(config: network.NetworkConfig) -> list[int]:
    """Returns the channels of each normalised convolution of a residual tower; else none."""
    if config.kind != "residual":
        return []
    blocks = config.block_channels or (config.num_channels,) * config.num_blocks
    return [config.num_channels, *(channels for channels in blocks for _ in range(2))]


def _num_squares(game: protocol.Game) -> int:
    rows, columns = game.board_shape
    return rows * columns
