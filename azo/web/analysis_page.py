"""A game analysis as one self-contained HTML file: the page of `azo web` without its server."""

from azo.coach import game_analysis
from azo.engine import engine_settings
from azo.web import messages, static_page


def render(
    analysis: game_analysis.GameAnalysis,
    title: str,
    network: str,
    players: tuple[str, str] = ("", ""),
) -> str:
    """Returns the page; `network` is the name of the network, `players` are black and white."""
    rules = analysis.game
    reports = [
        messages.report_json(position, rules.size) if position.moves else None
        for position in analysis.positions
    ]
    why = [[reason.text for reason in analysis.reasons(x)] for x in analysis.positions]
    # What the server's settings have, for one game, with the game and its reports.
    settings = {
        "games": [messages.offer_json(rules, network)],
        "levels": [],
        "people": list(engine_settings.PEOPLE_RATINGS),
        "analysed": messages.game_json(analysis.end, title, players)
        | {"reports": reports, "reasons": why},
    }
    return static_page.render(settings, title)
