"""The conformance test of games passes correct ones, and finds each broken promise."""

import pathlib
import re

import jax
import numpy as np
import pytest

import azo
from azo.games import othello, tictactoe

RULES = tictactoe.TicTacToe


def broken(**members):
    """Returns tic-tac-toe with other members."""
    return type("Broken", (RULES,), members)()


def faults(game, **settings):
    with pytest.raises(ValueError) as caught:
        azo.check_game(game, **settings)
    first, *lines = str(caught.value).splitlines()
    assert first.endswith(" breaks the protocol of a game:")
    return [line.removeprefix("- ") for line in lines]


@pytest.mark.parametrize("game", [RULES(), othello.Othello(4), othello.Othello(4, True)], ids=str)
def test_correct_games_pass(game):
    azo.check_game(game, num_games=4)


def permuted(*squares):
    return np.array([range(9), squares], np.int32)


def of_batch(self, position):
    planes = RULES.planes(self, position)
    return planes ^ planes[:1] if planes.ndim == 4 and len(planes) == 3 else planes


def as_signed(self, position, action):
    after = RULES.play(self, position, action)
    return after.replace(player=after.player.astype(np.int32))


def of_same_shapes(self, position, action):
    assert position.player.shape == action.shape
    return RULES.step(self, position, action)


def unequal(self, other):
    return False


def counted(self, *batch_shape):
    position = RULES.start(self, *batch_shape)
    return position.replace(
        player=position.player
        + np.arange(position.player.size).reshape(batch_shape).astype(np.uint32)
    )


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ({"__eq__": unequal, "__hash__": RULES.__hash__}, "is not equal to itself"),
        ({"__hash__": None}, "reading the constants fails: TypeError: unhashable type: 'Broken'"),
        ({"scores": np.array([-2, 0, 1], np.int32)}, "scores are not int32, ascending, each with"),
        ({"scores": np.array([-200, 200], np.int32)}, "the largest of scores is not in 1 to 127"),
        ({"max_legal": 10}, "max_legal is not in 1 to num_actions"),
        ({"num_slots": 10}, "num_slots is not in 1 to max_legal"),
        ({"square_symmetries": permuted(*[0] * 9)}, "square_symmetries are not permutations"),
        (
            {"square_symmetries": permuted(*range(9))[:, ::-1].copy()},
            "square_symmetries do not begin",
        ),
        ({"square_symmetries": permuted(*range(1, 9), 0)}, "the symmetries are no group"),
        (
            {"action_symmetries": permuted(*range(9))[:1]},
            "action_symmetries are not int32 of shape [8,",
        ),
        ({"start": counted}, "start does not repeat one position"),
        (
            {"result": lambda self, p: RULES.result(self, p) > 0},
            "result is not float32 of shape [...]",
        ),
        (
            {"planes": lambda self, p: RULES.planes(self, p)[..., 0]},
            "planes is not bool or float32 of shape [..., 3, 3, 3]",
        ),
        (
            {"legal_mask": lambda self, p: np.asarray(p.player)[..., None] < 9},
            "a compiled call on positions fails: TracerArrayConversionError",
        ),
        ({"planes": of_batch}, "functions of one position differ from those of a batch"),
        ({"play": as_signed}, "step changes the shapes or types of a position"),
        ({"step": of_same_shapes}, "a compiled call on positions fails: AssertionError"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_broken_constants_symmetries_and_calls_are_found(members, fault):
    assert any(line.startswith(fault) for line in faults(broken(**members)))


def test_all_that_is_missing_is_named():
    (line,) = faults(object())
    assert line.startswith("lacks action_symmetries, board_shape, final_score,")


def flipped(name):
    def step(self, position, action):
        after = RULES.step(self, position, action)
        return after.replace(**{name: -getattr(after, name)})

    return step


def goes_on(self, position, action):
    after = RULES.step(self, position, action)
    added = self.is_over(position).astype(np.uint32)
    return after.replace(position=after.position.replace(player=after.position.player ^ added))


# Faults that show side by side, of one member each, to compile fewer programs.
GROUPS = [
    {
        "max_legal": (8, "more legal actions than max_legal (ply 0)"),
        "final_score": (
            lambda self, p: 2 * RULES.final_score(self, p),
            "final_score is none of scores (ply ",
        ),
        "random_action": (
            lambda self, key, p: 0 * RULES.random_action(self, key, p),
            "random_action is illegal (ply ",
        ),
        "greedy_action": (
            lambda self, key, p: 0 * RULES.random_action(self, key, p),
            "greedy_action is illegal (ply ",
        ),
        "step": (flipped("reward"), "reward is not that of the side that moved, on the last ply"),
        "unpack": (
            lambda self, packed: RULES.unpack(self, packed[..., ::-1]),
            "unpack does not give back what was packed (ply 1)",
        ),
    },
    {
        "final_score": (
            lambda self, p: -RULES.final_score(self, p),
            "result is not the sign of final_score",
        ),
        "step": (
            flipped("discount"),
            "discount is not -1 before the last ply and 0 from it on (ply 0)",
        ),
        "legal_actions": (
            lambda self, p, n: RULES.legal_actions(self, p, n)[..., ::-1],
            "legal_actions are not those of legal_mask, ascending, then -1 (ply 0)",
        ),
        "action_symmetries": (
            np.tile(np.arange(9, dtype=np.int32), (8, 1)),
            "planes do not commute with the symmetries (ply 1)",
        ),
    },
    {
        "max_plies": (4, "a game has more plies than max_plies (ply 4)"),
    },
    {
        "step": (goes_on, "a finished game changes"),
        "planes": (
            lambda self, p: RULES.planes(self, p) / np.float32(0),
            "planes are not finite (ply ",
        ),
    },
    {
        "legal_mask": (
            lambda self, p: RULES.legal_mask(self, p) & ~self.is_over(p)[..., None],
            "legal_mask has no legal action",
        ),
        "square_symmetries": (
            permuted(3, 4, 5, 0, 1, 2, 6, 7, 8),
            "is_over does not commute with the symmetries",
        ),
    },
]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: ", ".join(group))
def test_what_random_games_show_is_found(group):
    members = {name: member for name, (member, _) in group.items()}
    plies = {"max_plies": members.pop("max_plies")} if "max_plies" in members else {}
    game = type("Broken", (RULES,), members)(**plies)
    found = faults(game, num_games=8)
    for _, fault in group.values():
        assert any(line.startswith(fault) for line in found), (fault, found)


def test_the_game_of_the_page_keeps_the_protocol():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "extend.md").read_text()
    (program,) = [x for x in re.findall("```python\n(.*?)```", page, re.DOTALL) if "Nim" in x]
    with jax.numpy_rank_promotion("allow"):
        exec(program, {"__name__": "nim"})
