"""Opening book: positions up to symmetry, with values of their moves.

A position is stored as the smallest of its eight images, for the side to move. Of moves that a
symmetry of the position exchanges, only the one with the lowest action is stored. Values come from
searches and are backed up by negamax.

A file begins with a line that names the format. The rest is `_Content` as JSON, compressed with a
checksum.
"""

import dataclasses
import functools
import pathlib
import zlib
from typing import Annotated

import numpy as np
import pydantic

from azo.games import notation, variant
from azo.games.host import host_rules, live_game
from azo.settings import setting_types
from azo.storage import files

MARGIN = 0.02  # of value; moves within it of the best are played
_MAGIC = b"azo opening book 3\n"  # the number is the version of the format

Key = tuple[int, int]  # discs of the side to move and of the other, in canonical form


@dataclasses.dataclass(slots=True)  # a book may have millions
class Entry:
    """A move of the book."""

    value: float = 0.0  # expected result in [-1, 1] for the side that makes it
    num_visits: int = 0  # of the search that gave the first value


class Book:
    """Positions and their moves; only one thread may change it."""

    def __init__(self, game: variant.Variant):
        self.game = game
        self.positions: dict[Key, dict[int, Entry]] = {}
        self._live = live_game.LiveGame(game)
        self._after: dict[tuple[Key, int], Key | None] = {}
        self._turned = np.argsort(game.action_symmetries)  # [8, A], each action after a symmetry

    def key(self, board: notation.Board) -> Key:
        """Returns the canonical form of a position."""
        return _canonical(board.player, board.opponent, self.game.size)[0]

    def value(self, key: Key) -> float | None:
        """Returns the value of a position for its side to move, None outside the book."""
        return max((e.value for e in self.positions.get(key, {}).values()), default=None)

    def lookup(self, board: notation.Board) -> dict[int, Entry]:
        """Returns the moves of a position, best first, with all symmetric ones."""
        key, symmetries = _canonical(board.player, board.opponent, self.game.size)
        stored, canonical = self.positions.get(key, {}), self._turned[symmetries].min(axis=0)
        moves = {action: stored[x] for action, x in enumerate(canonical.tolist()) if x in stored}
        return dict(sorted(moves.items(), key=lambda move: (-move[1].value, move[0])))

    def good(self, board: notation.Board) -> list[int]:
        """Returns the moves within `MARGIN` of the best, best first; [] if the book has none."""
        moves = self.lookup(board)
        least = max((entry.value for entry in moves.values()), default=0.0) - MARGIN
        return [move for move, entry in moves.items() if entry.value >= least]

    def choose(self, board: notation.Board, rng: np.random.Generator) -> int | None:
        """Returns a random good move, None if the book has no move."""
        moves = self.good(board)
        return int(rng.choice(moves)) if moves else None

    def entry(self, board: notation.Board, action: int) -> Entry:
        """Returns the entry of a move, a new one if the book has none."""
        key, symmetries = _canonical(board.player, board.opponent, self.game.size)
        canonical = int(self._turned[symmetries, action].min())
        return self.positions.setdefault(key, {}).setdefault(canonical, Entry())

    def back_up(self) -> None:
        """Sets the value of each move from the best move of the next position, if there is one."""
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
        """Returns the position after a legal move of a canonical position, None at the end."""
        if (key, action) not in self._after:
            self._live.new_game(notation.Board(*key, True), [action])
            is_over = self._live.is_over
            self._after[key, action] = None if is_over else self.key(self._live.board)
        return self._after[key, action]

    def save(self, path: pathlib.Path) -> None:
        """Makes the folder of the book and writes it as `files.write` does."""
        content = _Content(
            game=self.game.name,
            start=self.game.start_bits,
            positions=[
                (*key, {action: dataclasses.astuple(entry) for action, entry in moves.items()})
                for key, moves in sorted(self.positions.items())
            ],
        )
        packed = zlib.compress(content.model_dump_json().encode())
        files.write(path, _MAGIC + packed, makes_folder=True)


_Count = setting_types.NonNegativeInt
_Value = Annotated[float, pydantic.Field(ge=-1, le=1)]
# Fields of `Entry` by the action.
_Moves = dict[_Count, tuple[_Value, _Count]]


class _Content(pydantic.BaseModel, extra="forbid"):
    game: str
    start: tuple[int, int] | None
    # In canonical form: the discs of the side to move and of the other, and the moves.
    positions: list[tuple[pydantic.NonNegativeInt, pydantic.NonNegativeInt, _Moves]]


@functools.lru_cache(2**16)
def _canonical(player: int, opponent: int, size: int) -> tuple[Key, list[int]]:
    """Returns the canonical form of a position, and all symmetries that give it."""
    images = host_rules.images(player, opponent, size)
    least = min(images)
    return least, [k for k, image in enumerate(images) if image == least]


def load(path: pathlib.Path, game: variant.Variant) -> Book:
    """Returns the book of a file.

    Raises:
      ValueError: One line: the file is missing, not a book, or a book of another game.
    """
    content = files.read(path)
    if not content.startswith(_MAGIC):
        raise ValueError(f"{path}: not an opening book of this version of azo")
    packed = content[len(_MAGIC) :]
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(packed, files.max_unpacked(packed))
        if not reader.eof:
            raise ValueError("cut short, or larger than any book")
        stored = _Content.model_validate_json(text)
    except (zlib.error, ValueError):
        raise ValueError(f"{path}: a damaged opening book") from None
    if stored.game != game.name:
        raise ValueError(f"{path}: a book for {stored.game}, not for {game.name}")
    if stored.start != game.start_bits:
        raise ValueError(f"{path}: a book for {game.name} from another start position")
    book = Book(game)
    for player, opponent, moves in stored.positions:
        is_outside = (player | opponent) & ~game.board_bits or max(moves, default=0) > game.size**2
        if player & opponent or is_outside:
            raise ValueError(f"{path}: a damaged opening book")
        entries = {action: Entry(*fields) for action, fields in moves.items()}
        book.positions[player, opponent] = entries
    return book
