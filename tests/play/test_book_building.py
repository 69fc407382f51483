"""Books from scripted evaluations, worked out by hand, and books from archives."""

import dataclasses
import random

import numpy as np
import pytest
from support import scripted_engine

from azo.formats import archives
from azo.games import notation, othello, replaying
from azo.play import book_building, opening_book

_GAME = othello.Othello()


def board_after(moves, game=_GAME):
    played = replaying.replay(moves, game)
    return played.last_board


def plain(book):
    return {
        key: {a: dataclasses.asdict(e) for a, e in moves.items()}
        for key, moves in book.positions.items()
    }


class Thinker(scripted_engine.ScriptedEngine):
    """Gives each move a value that follows from its action alone: low squares are better."""

    def think(self, limits=None, **options):
        values = {a: 0.3 - 0.05 * rank for rank, a in enumerate(self.legal_actions)}
        self.evaluations = {0: {"values": values, "visits": {self.legal_actions[-1]: 1}}}
        return super().think(limits, **options)


def grown(num_positions, game=_GAME, **settings):
    book = opening_book.Book(game)
    growth = book_building.GrowthConfig(num_positions=num_positions, **settings)
    num_added = book_building.grow(book, Thinker(game), growth)
    assert num_added == len(book.positions)
    return book


def test_growth_extends_the_line_that_costs_least():
    book = grown(1)
    assert book.num_moves == 1  # the four first moves are alike
    book = grown(2)
    # Behind the first move the last of three has 1 visit of 41 and is kept, all three are leaves.
    (after,) = [key for key in book.positions if key != book.key(board_after(""))]
    assert sorted(e.value for e in book.positions[after].values()) == pytest.approx(
        [0.2, 0.25, 0.3]
    )
    assert [m.value for m in book.lookup(board_after(""))] == pytest.approx([-0.3] * 4)
    # A search later the best of them is worth -0.3 to white: the next best is extended then.
    book = grown(4)
    depths = sorted((a | b).bit_count() - 4 for a, b in book.positions)
    assert depths == [0, 1, 2, 2]
    assert book.value(after) == pytest.approx(0.2)


def test_a_high_cost_of_plies_makes_a_wider_book():
    def deepest(cost):
        book = grown(40, ply_cost=cost)
        return max((a | b).bit_count() - 4 for a, b in book.positions)

    assert deepest(5.0) < deepest(0.001)


def test_growth_stops_at_its_depth_and_at_the_end_of_the_game():
    book = grown(100, max_plies=2)
    assert max((a | b).bit_count() - 4 for a, b in book.positions) == 2
    assert len(book.positions) == 1 + 1 + 3
    small = othello.Othello(4)
    late = Thinker(small)
    late.new_game(board_after("c4b4a1d2d4d3a2", small))
    ended = opening_book.Book(small)
    growth = book_building.GrowthConfig(num_positions=1000)
    assert book_building.grow(ended, late, growth) == len(ended.positions) < 1000
    assert max((a | b).bit_count() for a, b in ended.positions) == 15


def test_moves_with_too_few_visits_are_left_out():
    book = grown(2, min_share=0.1)
    (after,) = [key for key in book.positions if key != book.key(board_after(""))]
    assert len(book.positions[after]) == 2


def test_growth_can_be_stopped_and_goes_on_as_if_it_had_not_been(tmp_path):
    book = grown(5)
    book.save(tmp_path / "book")
    again = opening_book.load(tmp_path / "book", _GAME)
    book_building.grow(again, Thinker(_GAME), book_building.GrowthConfig(num_positions=7))
    assert again.positions.keys() == grown(12).positions.keys()
    assert again.value(again.key(board_after(""))) == pytest.approx(
        grown(12).value(again.key(board_after("")))
    )


# Archives.


def random_games(game, num, seed=0):
    rng = random.Random(seed)
    played, live = [], scripted_engine.ScriptedEngine(game)
    for _ in range(num):
        live.new_game()
        while not live.is_over:
            live.play(rng.choice(live.legal_actions))
        played.append(live.actions)
    lines = "\n".join(notation.transcript(actions, game.size) for actions in played)
    return archives.read_transcripts(lines, "games", game), played


def test_games_of_an_archive_are_counted_as_one_by_one():
    game = othello.Othello(6)
    games, played = random_games(game, 60)
    book = opening_book.Book(game)
    assert book_building.add_games(book, games, max_plies=60, min_games=1) == 60
    counted, live = opening_book.Book(game), scripted_engine.ScriptedEngine(game)
    for actions in played:
        live.new_game(None, actions)
        black = np.sign(live.final_score())
        for board, move in zip(live.boards, live.actions, strict=False):
            entry = counted.entry(board, move)
            result = black if board.is_black_to_move else -black
            entry.num_games += 1
            entry.num_wins += int(result > 0)
            entry.num_draws += int(result == 0)
    assert plain(book) == plain(counted)
    (start,) = book.positions[book.key(board_after("", game))].values()
    assert start.num_games == 60
    assert start.num_wins == int((games.black_value > 0).sum())


def test_rare_moves_and_late_ones_are_left_out():
    game = othello.Othello(6)
    games, _ = random_games(game, 60)
    book = opening_book.Book(game)
    book_building.add_games(book, games, max_plies=3, min_games=5)
    assert max((a | b).bit_count() - 4 for a, b in book.positions) == 2
    assert min(e.num_games for moves in book.positions.values() for e in moves.values()) == 5


def test_unfinished_games_do_not_count():
    book = opening_book.Book(_GAME)
    games = archives.read_transcripts("f5d6", "games")
    assert book_building.add_games(book, games, max_plies=20, min_games=1) == 0
    assert book.positions == {}
