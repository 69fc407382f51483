"""The application of a page that shows a run.

`GET /` is the page. `GET /run?seen=VERSION` is the run as JSON, or an empty answer with status 204
if the run has not changed since that version.
"""

import json
import pathlib
from collections.abc import Collection
from typing import Any

import plotly.offline
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from azo.report import figures, page, run_log
from azo.training import metrics, shown_games
from azo.web import guard

STATIC = pathlib.Path(__file__).parent / "static"
_ICON = pathlib.Path(__file__).parents[2] / "web" / "static" / "icon.svg"


def make_app(folder: pathlib.Path, *, names: Collection[str] = ()) -> Starlette:
    """Returns the application for the folder of a run or of a curriculum.

    `names` are host names of this server, besides localhost and IP addresses.
    """

    def run(request: Request) -> Response:
        try:
            version = _version(folder)
            if request.query_params.get("seen") == version:
                return Response(status_code=204)
            return JSONResponse({"version": version, **_shown(folder)})
        except ValueError as error:  # such as a run without an iteration
            return JSONResponse({"error": str(error)}, 503)

    def plots(_: Request) -> Response:
        return Response(plotly.offline.get_plotlyjs(), media_type="text/javascript")

    return Starlette(
        routes=[
            Route("/", lambda _: FileResponse(STATIC / "index.html")),
            Route("/run", run),
            Route("/plotly.js", plots),
            Route("/plots.css", lambda _: FileResponse(page.PLOT_STYLE)),
            Route("/icon.svg", lambda _: FileResponse(_ICON)),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(guard.Guard, names=names)],
    )


def _version(folder: pathlib.Path) -> str:
    """Returns a text that changes when the run has written something."""
    phase = run_log.folders(folder)[-1]
    status = (phase / metrics.FILE).stat()
    return f"{phase.name}-{status.st_mtime_ns}-{status.st_size}"


def _shown(folder: pathlib.Path) -> dict[str, Any]:
    """Returns what the page shows."""
    log = run_log.read(folder)
    return {
        "title": str(folder),
        "summary": page.summary(log),
        "games": shown_games.read(run_log.folders(folder)[-1]).model_dump(),
        "sheets": [
            {
                "name": sheet.name,
                "title": sheet.title,
                "caption": sheet.caption,
                "panels": [json.loads(panel.to_json()) for panel in sheet.panels],
            }
            for sheet in figures.sheets(log)
        ],
    }
