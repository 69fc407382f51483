"""A game analysis as one self-contained HTML file: the page of `azo web` without its server.

The file holds the styles and the modules of `web/static`, with `offline.js` in place of `api.js`,
and the game with its reports. Its policy lets the browser load nothing else.
"""

import base64
import html
import importlib.resources
import json
import re

from azo.play.analysis import game_analysis
from azo.play.web import messages

_STATIC = importlib.resources.files("azo.play.web").joinpath("static")
_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline' data:"
)


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
        "analysed": messages.game_json(analysis.end, title, players)
        | {"reports": reports, "reasons": why},
    }
    names = [path.name for path in _STATIC.iterdir() if path.name.endswith(".js")]
    modules = {  # imports are names of the import map, since data: has no folders
        name: _data_url("text/javascript", _text(name).replace('from "./', 'from "'))
        for name in sorted(names)
    }
    text = json.dumps(settings).replace("<", "\\u003c")
    imports = json.dumps({"imports": modules | {"api.js": modules["offline.js"]}})
    scripts = (
        f'<script type="importmap">{imports}</script>\n'
        f'    <script type="application/json" id="settings">{text}</script>\n'
        '    <script type="module">import "app.js";</script>'
    )
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    page = _text("index.html").replace('<html lang="en">', '<html lang="en" class="offline">')
    page = page.replace("<title>azo</title>", f"{policy}\n    <title>{html.escape(title)}</title>")
    page = re.sub(r'<script type="module" src=.*?</script>', lambda _: scripts, page)
    page = re.sub(
        r'<link rel="stylesheet" href="/static/(.*?)">',
        lambda link: f"<style>\n{_text(link[1])}</style>",
        page,
    )
    return page.replace("/static/icon.svg", _data_url("image/svg+xml", _text("icon.svg")))


def _text(name: str) -> str:
    return _STATIC.joinpath(name).read_text(encoding="utf-8")


def _data_url(kind: str, text: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"
