"""Engines from files: shipped networks, and networks that do not fit."""

import json
import pathlib
import random
import shutil

import pytest
from support.builders import tiny_run
from support.fakes import hash_evaluator

from azo.engine import engine_factory, opening_book
from azo.engine.engine_settings import Limits
from azo.games import notation, othello
from azo.games.host import live_game
from azo.networks import exported_network, network_files
from azo.settings import shipped_files
from azo.storage import files


def test_the_network_for_8x8_beats_random_play():
    engine, rng = engine_factory.make_engine(engine_factory.PlayConfig()), random.Random(0)
    for is_black in (True, False):
        engine.new_game()
        while not engine.is_over:
            is_own = engine.board.is_black_to_move == is_black
            action = engine.think(Limits(8)).action if is_own else rng.choice(engine.legal_actions)
            engine.play(action)
        assert (engine.final_score() > 0) == is_black


def test_the_networks_that_play_by_default_are_for_their_games():
    for name, network_name in shipped_files.STRONGEST.items():
        size, is_reversed = int(name[7]), name.endswith("-reversed")
        choice = engine_factory.NetworkChoice(size=size, reversed=is_reversed)
        assert engine_factory.load_evaluator(choice).game.name == name
        assert network_name in shipped_files.networks()


def test_a_book_is_used(tmp_path, monkeypatch):
    game, path = othello.Othello(8), tmp_path / "mine.book"
    evaluator = hash_evaluator.HashEvaluator(game)
    monkeypatch.setattr(engine_factory, "load_evaluator", lambda _: evaluator)
    opening = opening_book.Book(game)
    opening.entry(live_game.LiveGame(game).board, notation.parse_action("f5", 8)).value = 0.5
    opening.save(path)
    engine = engine_factory.make_engine(engine_factory.PlayConfig(book=path))
    assert engine.think().source == "book"


def test_a_pattern_network_plays_whatever_search_it_was_trained_with(tmp_path):
    folder = tmp_path / "net"
    shutil.copytree(shipped_files.find_network(pathlib.Path("zero-fast6")), folder)
    path = folder / exported_network.SETTINGS
    settings = json.loads(path.read_text())
    settings["search"]["algorithm"] = "their_rules:Rule"
    path.write_text(json.dumps(settings))
    (folder / files.CHECKSUMS).unlink()
    files.write_checksums(folder)
    assert engine_factory.load_engine(folder, num_simulations=4).think().source == "search"
    with pytest.raises(ValueError, match="give --allow-import their_rules:Rule"):
        network_files.load_settings(folder)


def test_a_network_of_another_game_is_an_error(tmp_path):
    choice = engine_factory.NetworkChoice(network=tiny_run.export(tmp_path / "net"))
    with pytest.raises(ValueError, match="net: a network for tictactoe, but only Othello is"):
        engine_factory.load_evaluator(choice)
