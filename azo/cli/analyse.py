"""Analyses a game, move by move.

    azo analyse f5d6c3d3c4 --html game.html

GAME is a file of games in any format that docs/play.md lists, compressed or not, or - for standard
input. If no such file exists, GAME is read as text: moves, a board, or a link to a game of `azo
web`. --number chooses one of several games. The engine searches every position, and solves those
near the end. The output is a table with the value of each move in discs, then the largest losses.
docs/play.md explains the columns.
"""

import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated, ClassVar

import pydantic
import rich.console
import tyro

from azo.cli import command_line
from azo.coach import formatting, game_analysis
from azo.engine import engine_factory, engine_settings, live_engine
from azo.formats import decoding, game_files, ggf
from azo.games import notation, plurals, variant
from azo.process import console
from azo.settings import setting_types
from azo.storage import files
from azo.terminal import analysis_text
from azo.web import analysis_page

_MAX_INPUT = 1 << 26  # bytes of standard input


class AnalyseConfig(engine_factory.NetworkChoice):
    """What to analyse, how deeply, and where to write it."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """A file of games, text such as "1. f5 d6 2. c3", or - for standard input."""
    number: setting_types.PositiveInt | None = None
    """Number of the game in a file with several games, from 1."""
    ply: setting_types.PositiveInt | None = None
    """Show all moves of the position before this ply, instead of the whole game."""
    html: pathlib.Path | None = None
    """Write a self-contained page with board, moves, mistakes and graph to this file."""
    rating: Annotated[int, pydantic.Field(ge=1400, le=2400)] | None = None
    """Also show how often players with this rating, 1400 to 2400, make the worst moves."""
    engine: engine_settings.EngineConfig = engine_settings.EngineConfig()
    """How positions are searched and solved."""

    NO_EFFECT: ClassVar = engine_settings.ANALYSES_ALONE


def main(argv: Sequence[str]) -> int:
    """Analyses, prints and writes; returns the exit code."""
    settings = command_line.parse(AnalyseConfig, argv, prog="azo analyse", description=__doc__)
    if settings.html is not None and not settings.html.parent.is_dir():  # before a long search
        raise ValueError(f"{settings.html}: cannot write here (no such folder)")
    terminal = rich.console.Console(highlight=False, emoji=False)
    terminal.soft_wrap = not terminal.is_terminal  # no line breaks in files
    with command_line.waiting("loading the network; the first start compiles for a minute"):
        evaluator = engine_factory.load_evaluator(settings)
    if settings.rating:
        engine_settings.check_level(f"human:{settings.rating}", evaluator.game)
        if not evaluator.simulate:
            raise ValueError("--rating needs a pattern network")
    game = _read(settings, evaluator.game)
    if game.note:
        print(files.one_line(game.note), file=sys.stderr)
    if settings.ply is not None and settings.ply > len(game.moves) + 1:
        plies = plurals.counted(len(game.moves), "ply", "plies")
        raise ValueError(f"--ply {settings.ply}: the game has {plies}")
    with command_line.waiting("preparing the search"):
        engine = live_engine.Engine(evaluator, settings.engine)
    engine.new_game(game.board, game.moves)
    with console.ProgressBar(rich.console.Console(stderr=True)) as progress:
        task = progress.add_task("positions", total=len(engine.boards))
        analysis = game_analysis.analyse(
            engine, on_position=lambda num: progress.update(task, completed=num)
        )
    title = " - ".join(filter(None, (game.black, game.white))) or formatting.title(analysis.game)
    _print(terminal, analysis, title, settings)
    if settings.html is not None:
        players = game.black, game.white
        page = analysis_page.render(analysis, title, settings.network_name, players)
        files.write(settings.html, page.encode())
        print(f"wrote {settings.html}", file=sys.stderr)
    return 0


def _read(settings: AnalyseConfig, rules: variant.Variant) -> ggf.GgfGame:
    number = settings.number
    if settings.game == "-":
        content = sys.stdin.buffer.read(_MAX_INPUT)
        with files.located("standard input"):
            return game_files.parse(decoding.decode(content), rules, number=number)
    path = pathlib.Path(settings.game)
    if _exists(path):
        return game_files.read(path, rules, number=number)
    try:
        return game_files.parse(settings.game, rules, number=number)
    except ValueError as error:
        if "://" in settings.game or notation.read_moves(settings.game, rules.size)[0]:
            raise
        name = files.one_line(settings.game, 80)
        raise ValueError(f"{name}: there is no such file, and as text: {error}") from None


def _exists(path: pathlib.Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or with a character that none has
        return False


def _print(
    terminal: rich.console.Console,
    analysis: game_analysis.GameAnalysis,
    title: str,
    settings: AnalyseConfig,
) -> None:
    size, ply = analysis.game.size, settings.ply
    terminal.print(f"{title}. {analysis_text.outcome(analysis)}", markup=False)
    if ply is None:
        is_narrow = terminal.width < analysis_text.FULL_WIDTH
        terminal.print(analysis_text.game_table(analysis, is_narrow=is_narrow))
        terminal.print(analysis_text.legend(is_narrow=is_narrow), markup=False)
        for line in analysis_text.summary(analysis, settings.rating):
            terminal.print(line, markup=False)
        return
    position = analysis.positions[ply - 1]
    terminal.print(notation.diagram(position.board, size), markup=False)
    raw = formatting.chance(position.raw_value)
    worth = formatting.worth(position) + f"; network without search {raw}" * bool(raw)
    terminal.print(worth, markup=False)
    if position.moves:
        table = formatting.move_table(
            position,
            analysis.game,
            is_ascii=terminal.options.ascii_only,
            has_priors=True,
            played=position.played,
        )
        terminal.print(table)
