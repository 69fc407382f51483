"""Messages say "1 game" and "2 games": the words, and messages of each room."""

import types

import jax.numpy as jnp
import pytest
from support.builders import tiny_run
from support.drivers import refusals

from azo.coach import formatting
from azo.formats import obf, wthor
from azo.games import notation, plurals, summaries
from azo.training import config, trainer


@pytest.mark.parametrize(
    ("number", "words", "expected"),
    [
        (0, ("game",), "0 games"),
        (1, ("game",), "1 game"),
        (2, ("game",), "2 games"),
        (1, ("ply", "plies"), "1 ply"),
        (0, ("ply", "plies"), "0 plies"),
        (2000, ("ply", "plies", ","), "2,000 plies"),
        (1, ("node", None, "4,"), "   1 node"),
        (1.5, ("minute", None, ",.15g"), "1.5 minutes"),
    ],
)
def test_a_noun_is_plural_unless_its_number_is_1(number, words, expected):
    assert plurals.counted(number, *words) == expected


def few_iterations(number):
    """What a run says at the end that has done so many iterations in its minutes."""
    notes = []
    ended = types.SimpleNamespace(
        used_limits=lambda state: [config.Limit("", 1.0, "--minutes 2")],
        clock=types.SimpleNamespace(iteration_seconds=30.0),
        screen=types.SimpleNamespace(note=notes.append),
    )
    trainer.Trainer.note_end(ended, types.SimpleNamespace(iteration=number), "")
    return notes[-1]


def limits(number):
    run = {"num_iterations": number, "max_evaluations": number}
    settings = tiny_run.settings(run=run)
    return "; ".join(limit.reason for limit in config.used_limits(settings, {}))


def small_ring(number):
    plays = {"num_games": number, "num_plies": 1000}
    with pytest.raises(ValueError, match="capacity") as caught:
        tiny_run.settings(selfplay=plays, replay={"capacity": 16})
    return str(caught.value)


def announced_games(number):
    header = bytearray(wthor._HEADER_BYTES)
    header[4:8] = number.to_bytes(4, "little")
    (record,) = wthor.parse(bytes(header))
    return record.reason


def short_header(number):
    return refusals.message_of(lambda: list(wthor.parse(bytes(number))))


def arrays(number):
    return summaries.short([jnp.zeros(1)] * number)


def unreadable_move(number):
    return notation.read_moves("f5d6"[: 2 * number] + "zz", 8)[1]


def short_board(number):
    return refusals.message_of(notation.parse_board, "X" * number, 8)


def short_problem(number):
    return refusals.message_of(obf._parse_board, "X" * number)


def worth(number):
    return formatting.worth(types.SimpleNamespace(discs=float(number), score=None, value=0.0))


@pytest.mark.parametrize(
    ("message", "of_one", "of_two"),
    [
        (few_iterations, "only 1 iteration, the last of 30 s", "only 2 iterations, the last"),
        (
            limits,
            "1 iteration is done; 1 evaluation is used",
            "its 2 iterations are done; its 2 evaluations are used",
        ),
        (small_ring, "one iteration of 1 game can add", "one iteration of 2 games can add"),
        (announced_games, "says 1 game, but 0 follow", "says 2 games, but 0 follow"),
        (short_header, "1 byte, but", "2 bytes, but"),
        (arrays, "<1 array, 1 number>", "<2 arrays, 2 numbers>"),
        (unreadable_move, "after 1 move: ", "after 2 moves: "),
        (short_board, ": 1 square, but", ": 2 squares, but"),
        (short_problem, "board of 1 square;", "board of 2 squares;"),
        (worth, "~+1 disc, wins", "~+2 discs, wins"),
    ],
)
def test_messages_have_the_form_of_their_number(message, of_one, of_two):
    assert of_one in message(1)
    assert of_two in message(2)
