"""Games from texts of any format, as written: the moves may be illegal, and passes may be missing.

A text is one transcript (`f5d6c3`), several with one per line, GGF or SGF games `(; ... )`, games
with headings such as `[Black "name"]`, lines such as `black: name` and `moves: f5d6c3`, a CSV with
a column of moves, JSON, OBF lines, a board in one line or in rows with moves after it, or a link to
a game on the page of `azo web`. Games of GGF, SGF and OBF, boards and links name their size; the
others are of the chosen rules. A game among others that cannot be read keeps its place and number.
"""

import dataclasses
import re
import urllib.parse
from collections.abc import Iterator, Sequence

from azo.formats import boards, ggf, json_games, obf, sgf
from azo.games import notation, plurals, variant
from azo.games.host import move_lists
from azo.storage import files

_FIELD = re.compile(r"\s*([^\W\d_]\w*)\s*:\s*(.*)")
_HEADING = re.compile(r'\[\s*(\w+)\s+"((?:\\.|[^"\\\n])*+)"\s*\]')
_OBF_BOARD = r"[XO*.\-]{9,144}\s+[XO*]\s*"
_OBF = re.compile(rf"(?:.*\n){{0,2}}?{_OBF_BOARD}(?:[;%]|\n\s*{_OBF_BOARD})", re.IGNORECASE)
_LINK = re.compile(r"\w+://\S*")
_LINK_GAME = re.compile(r"(?:othello([4-8])(-reversed)?:)?(?:([XO-]{16,65}):)?([\w-]*)")
_USUAL_LINK = 8  # the size of a link without a game
_MOVES_IN_A_LINE = re.compile(r"(?<![^\W_])(?:[a-h][1-8][\s,]*){4,}", re.IGNORECASE)
_CSV_MOVES = ("game_moves", "moves", "transcript", "kifu")
_CSV_WINNER = "winner"
_RULE = re.compile(r"[\s|:+=*_-]{5,}")  # a line between lines
_MAX_TRIED = 500  # lines that are played to see whether each is a game
_MAX_REASONS = 3  # of games that are left out


def parse(text: str, chosen: variant.Variant) -> list[ggf.Record]:
    """Returns the games of a text, none if it is empty; ValueError if no game can be read.

    The `chosen` rules hold unless the text names others. They decide whether lines are one game or
    several.
    """
    text = text.strip("\ufeff\0 \t\r\n")
    records = [_checked(record) for record in _records(text, chosen)] if text else []
    unreadable = [record for record in records if isinstance(record, ggf.UnreadableGame)]
    if records and len(unreadable) == len(records):
        raise ValueError(
            unreadable[0].reason
            if len(records) == 1
            else f"none of the {len(records)} games can be read: {left_out(records)}"
        )
    return records


def parse_csv(text: str, *, is_certain: bool = True) -> list[ggf.Record] | None:
    """Returns the games of a CSV with a column of moves, as eOthello's has.

    `winner`, if there is such a column, is 1 (black), -1 (white) or 0. Moves are squares such as
    "f5d6" without passes. Records are counted without the heading. ValueError if there is no game
    or no such column; None if that only shows that the text is no CSV.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    heading = lines[0] if lines else ""
    delimiter = max(",;\t", key=heading.count)
    rows = files.csv_rows(lines, delimiter)
    names = [name.strip().lower() for name in next(rows, [])]
    column = next((name for name in _CSV_MOVES if name in names), None)
    if not is_certain and (column is None or len(names) < 2):
        return None
    if not names:
        raise ValueError("empty file")
    if column is None:
        raise ValueError(f"no column {_CSV_MOVES[0]}; there are: {', '.join(names)}")
    records = [
        _of_row(dict(zip(names, row, strict=False)), len(row), names, column) for row in rows
    ]
    if not records:
        raise ValueError("no game after the heading")
    return records


def title(game: ggf.GgfGame) -> str:
    """Returns a line for a list of games: the players and the first moves."""
    players = f"{game.black or '?'} - {game.white or '?'}" if game.black or game.white else ""
    moves = " ".join(notation.action_text(action, game.size) for action in game.moves[:6])
    more = f" … ({len(game.moves)} moves)" if len(game.moves) > 6 else ""
    where = f"{moves}{more}" or notation.board_text(game.board, game.size)
    return ", ".join(filter(None, (players, where)))


def left_out(records: Sequence[ggf.Record]) -> str:
    """Returns a line on the games that cannot be read, by number and reason; "" if all can."""
    reasons: dict[str, list[int]] = {}
    for number, record in enumerate(records, start=1):
        if isinstance(record, ggf.UnreadableGame):
            reasons.setdefault(record.reason, []).append(number)
    parts = [
        f"{'game' if len(numbers) == 1 else 'games'} {_list_of(numbers)}: {reason}"
        for reason, numbers in list(reasons.items())[:_MAX_REASONS]
    ]
    if rest := sum(map(len, list(reasons.values())[_MAX_REASONS:])):
        parts.append(f"and {rest} more")
    return "; ".join(parts)


def _list_of(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_MAX_REASONS]))
    return (
        shown if len(numbers) <= _MAX_REASONS else f"{shown} and {len(numbers) - _MAX_REASONS} more"
    )


def _records(text: str, chosen: variant.Variant) -> Sequence[ggf.Record]:
    in_json = json_games.parse(text, chosen)
    if in_json is not None:
        if not in_json:
            raise ValueError('no game in this JSON: azo looks for "moves"')
        return in_json
    is_headed = _HEADING.match(text) is not None
    if not is_headed and ggf.START.search(text):
        return [_property_game(text, pairs) for pairs in ggf.properties(text)]
    if _LINK.fullmatch(text):
        return [_of_link(text)]
    if is_headed:
        return _headed_games(text, chosen)
    if (rows := parse_csv(text, is_certain=False)) is not None:
        return rows
    if _OBF.match(text):
        problems = _problems(text, chosen)
        are_read = any(isinstance(problem, ggf.GgfGame) for problem in problems)
        return problems if are_read else boards.find(text) or problems
    if drawn := _boards(text, chosen):
        return drawn
    text = boards.without(text)
    return _fields(text, chosen) or _transcripts(text, chosen)


def _checked(record: ggf.Record) -> ggf.Record:
    """Returns a game; one without a first move that can be read is `Unreadable`."""
    if isinstance(record, ggf.UnreadableGame):
        return record
    if record.unread and not record.moves:
        return ggf.UnreadableGame(record.unread)
    is_passing = record.moves and set(record.moves) == {record.size**2}
    if is_passing and record.board == ggf.usual_start(variant.Variant(record.size)):
        return ggf.UnreadableGame("no move in it, only passes")
    return record


def _without_moves(game: ggf.GgfGame, hint: str) -> ggf.GgfGame:
    """Returns a game, with a note if it has no moves although its format usually has."""
    is_empty = not game.moves and not game.unread
    return dataclasses.replace(game, note=f"no moves in it: {hint}") if is_empty else game


def _fields(text: str, rules: variant.Variant) -> list[ggf.GgfGame]:
    """Returns the games of lines such as `moves: f5d6c3`, with their players; none without any."""
    fields: dict[str, str] = {}
    games: list[ggf.GgfGame] = []
    written: list[tuple[str, dict[str, str]]] = []
    for line in text.splitlines():
        match = _FIELD.fullmatch(line)
        if match is not None and match[1].lower() in _CSV_MOVES:
            written.append((match[2].strip(), fields))
            fields = {}
        elif match is not None:
            fields[match[1].lower()] = match[2].strip()
        elif written and line.strip() and not notation.read_moves(line, rules.size)[1]:
            written[-1] = f"{written[-1][0]}\n{line}", written[-1][1]  # the moves go on
    if len(written) == 1:
        written = [(written[0][0], {**fields, **written[0][1]})]
    for moves, names in written:
        players = (files.one_line(names.get(x, ""), ggf.MAX_NAME) for x in ("black", "white"))
        games.append(_without_moves(_of_moves(moves, rules, *players), "nothing follows 'moves:'"))
    return games


def _of_moves(text: str, rules: variant.Variant, black: str = "", white: str = "") -> ggf.GgfGame:
    moves, unread = notation.read_moves(text, rules.size)
    note = ""
    if not moves and unread and (found := _MOVES_IN_A_LINE.search(text)):
        moves, unread = notation.read_moves(text[found.start() :], rules.size)
        note = f"ignored: {files.one_line(text[: found.start()], 40)}"
    game = ggf.GgfGame(rules.size, ggf.usual_start(rules), tuple(moves), black, white)
    return dataclasses.replace(game, is_reversed=rules.is_reversed, unread=unread, note=note)


def _boards(text: str, rules: variant.Variant) -> list[ggf.GgfGame]:
    games = boards.find(text, is_reversed=rules.is_reversed)
    if not games and boards.is_only_signs(text):
        num_signs = len("".join(text.split()))
        raise ValueError(
            f"a board of {plurals.counted(num_signs, 'square')}: an 8x8 board has 64, then X or O"
            " for the side to move"
        )
    return games


def _transcripts(text: str, rules: variant.Variant) -> Sequence[ggf.Record]:
    texts, names = _without_header(text)
    lines = [_of_moves(line, rules) for line in texts]
    numbers = [number for number, line in enumerate(lines) if line.moves]
    if not numbers:
        raise ValueError(lines[0].unread if lines and lines[0].unread else "no move in it")
    body, num_moves = texts[numbers[0] : numbers[-1] + 1], sum(len(line.moves) for line in lines)
    whole = _of_moves("\n".join(body), rules, *names)
    others = [lines[number] for number in numbers[1 : 1 + _MAX_TRIED]]
    are_games = any(_is_legal(line.moves, rules) and not line.unread for line in others)
    are_games |= bool(others) and all(_is_legal(line.moves[:1], rules) for line in others)
    is_one = not whole.unread and _is_legal(whole.moves, rules)
    if are_games and (num_moves > rules.max_plies or not is_one):
        return lines
    ignored = " ".join(line for line in texts if line not in body)
    if ignored:
        whole = dataclasses.replace(whole, note=f"ignored: {files.one_line(ignored, 60)}")
    return [whole]


def _without_header(text: str) -> tuple[list[str], tuple[str, str]]:
    """Returns the lines of a text without comments and lines such as `Black: ann`, and players."""
    names = {"black": "", "white": ""}
    lines = []
    for line in filter(str.strip, text.splitlines()):
        match = _FIELD.fullmatch(line)
        if line.lstrip().startswith(("#", "//", "%")) or _RULE.fullmatch(line):
            continue
        if match is not None and not notation.read_moves(line, max(variant.SIZES))[0]:
            names[match[1].lower()] = files.one_line(match[2], ggf.MAX_NAME)
            continue
        lines.append(line)
    return lines or [text], (names["black"], names["white"])


def _is_legal(moves: Sequence[int], rules: variant.Variant) -> bool:
    try:
        move_lists.replay(rules, moves)
    except ValueError:
        return False
    return True


def _property_game(text: str, pairs: Sequence[tuple[str, str]]) -> ggf.Record:
    if not any(key in ("GM", "BO", "B", "W") for key, _ in pairs):
        return ggf.UnreadableGame("neither the name of a game (GM[...]) nor a move in it")
    name = next((value for key, value in pairs if key == "GM"), "")
    has_ggf_board = any(key == "BO" for key, _ in pairs)
    reader = sgf if name.strip().isdecimal() or not (name or has_ggf_board) else ggf
    try:
        return _without_moves(reader.game_of(pairs), "azo looks for B[...] and W[...]")
    except ValueError as error:
        return ggf.UnreadableGame(str(error))


def _headed_games(text: str, rules: variant.Variant) -> list[ggf.Record]:
    """Returns games of which each begins with headings in brackets, as in PGN for chess."""
    matches = list(_HEADING.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    headings: dict[str, str] = {}
    games: list[ggf.Record] = []
    no_moves = ggf.UnreadableGame("no moves follow the headings")
    for match, end in zip(matches, ends, strict=True):
        if match[1].lower() in headings:
            games.append(no_moves)
            headings = {}
        headings[match[1].lower()] = re.sub(r"\\(.)", r"\1", match[2])
        if moves := text[match.end() : end].strip():
            games.append(_headed_game(headings, moves, rules))
            headings = {}
    return [*games, no_moves] if headings else games


def _headed_game(headings: dict[str, str], moves: str, rules: variant.Variant) -> ggf.Record:
    if "fen" in headings:
        return ggf.UnreadableGame("a game from a start position in FEN is not supported")
    names = (files.one_line(headings.get(x, ""), ggf.MAX_NAME) for x in ("black", "white"))
    return _without_moves(_of_moves(moves, rules, *names), "only a result follows the headings")


def _of_row(row: dict[str, str], num_fields: int, names: Sequence[str], column: str) -> ggf.Record:
    if num_fields != len(names):
        fields, columns = (
            plurals.counted(*x) for x in ((num_fields, "field"), (len(names), "column"))
        )
        return ggf.UnreadableGame(f"{fields}, but the heading has {columns}")
    winner = row.get(_CSV_WINNER, "").strip()
    if _CSV_WINNER in row and winner not in ("-1", "0", "1"):
        return ggf.UnreadableGame(
            f"bad score: winner {winner!r} should be 1 (black), -1 (white) or 0"
        )
    rules = variant.Variant()
    players = (files.one_line(row.get(x, ""), ggf.MAX_NAME) for x in ("black", "white"))
    game = _of_moves(row[column], rules, *players)
    return dataclasses.replace(game, black_value=float(winner) if winner else None)


def _problems(text: str, chosen: variant.Variant) -> list[ggf.Record]:
    """Returns the positions of the lines of OBF."""
    return list(_each_problem(text.splitlines(), chosen))


def _each_problem(lines: Sequence[str], chosen: variant.Variant) -> Iterator[ggf.Record]:
    for number, line in enumerate(lines, start=1):
        if not line.partition("%")[0].strip():
            continue
        try:
            yield _of_problem(obf.parse_line(line, number), chosen)
        except ValueError as error:
            yield ggf.UnreadableGame(str(error))


def _of_problem(problem: obf.Problem, chosen: variant.Variant) -> ggf.GgfGame:
    scores = ", ".join(
        f"{notation.action_text(action, problem.size)} {score:+d}"
        for action, score in problem.move_scores.items()
    )
    note = f"the file says {scores}" if scores else ""
    return ggf.GgfGame(problem.size, problem.board, is_reversed=chosen.is_reversed, note=note)


def _of_link(text: str) -> ggf.GgfGame:
    """Reads a link of the page: the moves after #, before them the game and the start."""
    fragment = urllib.parse.unquote(text.partition("#")[2])
    match = _LINK_GAME.fullmatch(fragment)
    size, reversed_, start, moves = match.groups() if match else (None, None, None, "")
    rules = variant.Variant(int(size or _USUAL_LINK), bool(reversed_))
    game = _of_moves(moves, rules)
    if not (size or start or game.moves):
        raise ValueError(f"{files.one_line(text, 80)!r} is not a link to a game of azo web")
    if start is None:
        return game
    board = notation.parse_board(f"{start[:-1]} {start[-1]}", rules.size)
    return dataclasses.replace(game, board=board)
