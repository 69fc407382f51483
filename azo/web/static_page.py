"""The page without a server: `static` as one file, and a folder to practise with.

`offline.js` replaces `api.js`. The policy of the file lets the browser load nothing else, except,
from a web server, the files that store it for offline use: `installed`.
"""

import base64
import html
import importlib.resources
import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from azo.engine import engine_settings
from azo.games import othello
from azo.storage import files
from azo.web import messages

_STATIC, _INSTALLED = (
    importlib.resources.files("azo.web").joinpath(name) for name in ("static", "installed")
)
_POLICY = (
    "default-src 'none'; img-src data: 'self'; style-src 'unsafe-inline';"
    " script-src 'unsafe-inline' data:; manifest-src 'self'; worker-src 'self'"
)
_PRACTICE = "endings", "openings"  # files of positions


def render(settings: Mapping[str, Any], title: str, kind: str = "") -> str:
    """Returns the page; `settings` are those of the server, and what `offline.js` knows.

    The `kind` is one more class of the page.
    """
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
    classes = f"offline {kind}".strip()
    page = _text("index.html").replace('<html lang="en">', f'<html lang="en" class="{classes}">')
    page = page.replace("<title>azo</title>", f"{policy}\n    <title>{html.escape(title)}</title>")
    page = re.sub(r'<script type="module" src=.*?</script>', lambda _: scripts, page)
    page = re.sub(
        r'<link rel="stylesheet" href="/static/(.*?)">',
        lambda link: f"<style>\n{_text(link[1])}</style>",
        page,
    )
    return page.replace("/static/icon.svg", _data_url("image/svg+xml", _text("icon.svg")))


def export(folder: pathlib.Path) -> None:
    """Writes the page for practice, which a browser opens from a file or from any web server.

    Raises ValueError, one line, if it cannot be written.
    """
    settings = {
        "games": [messages.offer_json(othello.Othello(8), "")],
        "levels": [],
        "people": list(engine_settings.PEOPLE_RATINGS),
        "practice": {name: json.loads(_text(f"{name}.json")) for name in _PRACTICE},
    }
    page = render(settings, "azo: practice", "deck").encode()
    files.write(folder / "index.html", page, inside=folder, makes_folder=True)
    for path in (*_INSTALLED.iterdir(), _STATIC.joinpath("icon.svg")):
        files.write(folder / path.name, path.read_bytes(), inside=folder)


def _text(name: str) -> str:
    return _STATIC.joinpath(name).read_text(encoding="utf-8")


def _data_url(kind: str, text: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"
