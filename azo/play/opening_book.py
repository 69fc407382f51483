"""An opening book: what is known of the moves of positions, turned and mirrored ones as the same.

A position is kept in its canonical form (`turning.canonical`), seen by the side to move, and so are
its moves: of moves that a symmetry of the position exchanges, the one with the lowest action. A
move may have a value, from a search and backed up by negamax from the positions behind it, and
counts of games with their results. The first come from `book_building`, the second from archives
and from games played with the book; a move may have either or both.

A file begins with a line that says what it is; the rest is compressed, with a checksum: a line of
JSON with the game and the sizes, then two tables, positions in ascending order and their moves one
after another.
"""

import contextlib
import dataclasses
import itertools
import json
import math
import os
import pathlib
import zlib
from collections.abc import Sequence

import numpy as np

from azo.formats import files
from azo.games import notation, othello
from azo.play import live_game, turning

MARGIN = 0.02  # moves so much worse than the best are played as well
LEARNING_RATE = 0.2  # how far a game moves the value with which it left the book
_MAGIC = b"azo opening book 1\n"  # the number is the version of the format
_POSITION = np.dtype([("player", "<u8"), ("opponent", "<u8"), ("num_moves", "u1")])
_MOVE = np.dtype(
    [
        ("action", "u1"),
        ("value", "<f4"),  # NaN if it was never searched
        ("num_visits", "<u4"),
        ("num_games", "<u4"),
        ("num_wins", "<u4"),
        ("num_draws", "<u4"),
    ]
)
_CAUTION = 10.0  # games with even results that are added before a move is judged by its results

Key = tuple[int, int]  # discs of the side to move and of the other, in canonical form


@dataclasses.dataclass
class Entry:
    """What is known of a move; values and results are those of the side that makes it."""

    value: float | None = None  # expected result in [-1, 1], None if it was never searched
    num_visits: int = 0  # of the search that the value is from, or was before it was backed up
    num_games: int = 0
    num_wins: int = 0
    num_draws: int = 0

    @property
    def mean_result(self) -> float | None:
        """The mean result of its games in [-1, 1], None without any."""
        return self._balance / self.num_games if self.num_games else None

    @property
    def worth(self) -> float:
        """Its value, or a cautious estimate from few games: one deviation below their mean."""
        if self.value is not None:
            return self.value
        num = self.num_games + _CAUTION
        return self._balance / num - 1 / math.sqrt(num)

    @property
    def _balance(self) -> int:
        return 2 * self.num_wins + self.num_draws - self.num_games  # wins less losses


@dataclasses.dataclass(frozen=True)
class BookMove:
    """A move of a position as it lies on the board."""

    action: int
    value: float | None  # by search, else the mean result of games
    count: int  # games, or without any the visits of the search
    entry: Entry


class Book:
    """Positions and their moves; not for several threads at once while it learns."""

    def __init__(self, game: othello.Othello):
        """Begins an empty book."""
        self.game = game
        self.positions: dict[Key, dict[int, Entry]] = {}
        self._live = live_game.LiveGame(game)
        self._after: dict[tuple[Key, int], Key | None] = {}
        symmetries, actions = range(turning.NUM_SYMMETRIES), range(game.num_actions)
        self._turned = np.array(
            [[turning.turned_action(a, k, game.size) for a in actions] for k in symmetries]
        )
        self._unturned = np.argsort(self._turned, axis=1)

    @property
    def num_moves(self) -> int:
        """Moves of all positions."""
        return sum(len(moves) for moves in self.positions.values())

    def key(self, board: notation.Board) -> Key:
        """Returns the canonical form of a position."""
        return self._canonical(board)[0]

    def value(self, key: Key) -> float | None:
        """Returns the value of a position for its side to move, None if no move was searched."""
        values = [e.value for e in self.positions.get(key, {}).values() if e.value is not None]
        return max(values, default=None)

    def lookup(self, board: notation.Board) -> list[BookMove]:
        """Returns the known moves of a position, best first; moves that are alike are all there."""
        key, symmetries = self._canonical(board)
        found = {}
        for canonical, entry in self.positions.get(key, {}).items():
            value = entry.mean_result if entry.value is None else entry.value
            for symmetry in symmetries:
                action = int(self._unturned[symmetry, canonical])
                found[action] = BookMove(action, value, entry.num_games or entry.num_visits, entry)
        return sorted(found.values(), key=lambda move: (-move.entry.worth, move.action))

    def choose(
        self, board: notation.Board, rng: np.random.Generator, *, margin: float = MARGIN
    ) -> int | None:
        """Returns one of the moves within a margin of the best, None if the book has none."""
        moves = self.lookup(board)
        if not moves:
            return None
        good = [move.action for move in moves if move.entry.worth >= moves[0].entry.worth - margin]
        return int(rng.choice(good))

    def entry(self, board: notation.Board, action: int) -> Entry:
        """Returns the entry of a move, a new one if the book did not have it."""
        key, symmetries = self._canonical(board)
        canonical = min(int(self._turned[symmetry, action]) for symmetry in symmetries)
        return self.positions.setdefault(key, {}).setdefault(canonical, Entry())

    def learn(
        self, actions: Sequence[int], black_value: float, start: notation.Board | None = None
    ) -> int:
        """Learns from a finished game, as far as its positions are in the book.

        Every move there counts the game, and a move that was new is added. The value with which the
        game left the book moves towards the result, and is backed up.

        Args:
          actions: of the game, passes included.
          black_value: 1 if black won, 0 for a draw, -1 if white won.
          start: where it began, by default at the usual start.

        Returns:
          How many plies were in the book.

        Raises:
          ValueError: an action is illegal.
        """
        self._live.new_game(start, actions)
        way: list[tuple[Entry, float, notation.Board]] = []
        for board, action in zip(self._live.boards, actions, strict=False):
            if self.key(board) not in self.positions:
                break
            result = black_value if board.is_black_to_move else -black_value
            entry = self.entry(board, action)
            entry.num_games += 1
            entry.num_wins += result > 0
            entry.num_draws += result == 0
            way.append((entry, result, self._live.boards[len(way) + 1]))
        if way:
            last, result, _ = way[-1]
            if last.value is not None:
                last.value += LEARNING_RATE * (result - last.value)
        for entry, _, after in reversed(way[:-1]):
            value = self.value(self.key(after))
            if value is not None:
                entry.value = -value
        return len(way)

    def back_up(self) -> None:
        """Makes the value of every move that leads to a searched position that of its best move."""
        passing = self.game.pass_action

        def order(item: tuple[Key, dict[int, Entry]]) -> tuple[int, bool]:
            (player, opponent), moves = item
            return -(player | opponent).bit_count(), passing in moves  # later positions first

        for key, moves in sorted(self.positions.items(), key=order):
            for action, entry in moves.items():
                after = self.after(key, action)
                value = None if after is None else self.value(after)
                if value is not None:
                    entry.value = -value

    def after(self, key: Key, action: int) -> Key | None:
        """Returns the position behind a legal move of a canonical position, None at the end."""
        if (key, action) not in self._after:
            self._live.new_game(notation.Board(*key, True), [action])
            is_over = self._live.is_over
            self._after[key, action] = None if is_over else self.key(self._live.board)
        return self._after[key, action]

    def save(self, path: pathlib.Path) -> None:
        """Writes the book; whoever reads meanwhile finds the earlier file or the new one whole.

        Raises:
          ValueError: it cannot be written there.
        """
        keys = sorted(self.positions)
        moves = [
            (action, *dataclasses.astuple(entry))
            for key in keys
            for action, entry in sorted(self.positions[key].items())
        ]
        header = {
            "game": self.game.name,
            "start": self.game.start_bits,
            "num_positions": len(keys),
            "num_moves": len(moves),
        }
        positions = [(*key, len(self.positions[key])) for key in keys]
        content = b"".join(
            [
                json.dumps(header).encode() + b"\n",
                np.array(positions, _POSITION).tobytes(),
                np.array(
                    [(a, math.nan if v is None else v, *n) for a, v, *n in moves], _MOVE
                ).tobytes(),
            ]
        )
        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                file.write(_MAGIC + zlib.compress(content))
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except OSError as error:
            raise ValueError(f"{path}: cannot write here ({error.strerror})") from None
        finally:
            with contextlib.suppress(OSError):
                partial.unlink()

    def _canonical(self, board: notation.Board) -> tuple[Key, list[int]]:
        """Returns the canonical form of a position, and all symmetries that lead there."""
        P, O = np.uint64(board.player), np.uint64(board.opponent)
        size = self.game.size
        player, opponent, _ = turning.canonical(P, O, size)
        symmetries = [
            k
            for k in range(turning.NUM_SYMMETRIES)
            if turning.turned(P, k, size) == player and turning.turned(O, k, size) == opponent
        ]
        return (int(player), int(opponent)), symmetries


def load(path: pathlib.Path, game: othello.Othello) -> Book:
    """Returns the book of a file.

    Raises:
      ValueError: One line: there is no such file, it is no book, or one of another game.
    """
    content = files.read(path)
    if not content.startswith(_MAGIC):
        raise ValueError(f"{path}: no opening book of this version of azo")
    try:
        line, _, tables = zlib.decompress(content[len(_MAGIC) :]).partition(b"\n")
        header = json.loads(line)
        num_positions, num_moves = header["num_positions"], header["num_moves"]
        positions = np.frombuffer(tables, _POSITION, num_positions)
        moves = np.frombuffer(tables, _MOVE, num_moves, offset=positions.nbytes)
        name, start = header["game"], header["start"]
    except (zlib.error, ValueError, KeyError, TypeError):
        raise ValueError(f"{path}: a damaged opening book") from None
    if name != game.name:
        raise ValueError(f"{path}: a book for {name}, not for {game.name}")
    if start != (game.start_bits and list(game.start_bits)):
        raise ValueError(f"{path}: a book for {game.name} from another start position")
    book = Book(game)
    rows = iter(moves.tolist())
    for player, opponent, num in positions.tolist():
        entries = book.positions[player, opponent] = {}
        for action, value, *counts in itertools.islice(rows, num):
            entries[action] = Entry(None if math.isnan(value) else value, *counts)
    return book
