"""Serves a page that shows a run while it trains.

    azo watch runs/azo8 --open

The page shows the plots of `azo report`, updated during the run, and games of its self-play. It is
served only to this machine, unless `--host` says otherwise. Ctrl-C ends the server, not the run.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.process import extras
from azo.report import run_log


class WatchConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A page that shows a run."""

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """Folder of a run, or of a curriculum with the runs of its phases."""
    host: str = "127.0.0.1"
    """Address to listen on. With 0.0.0.0 or ::, every machine that reaches this one can watch."""
    port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 8001
    """Port to listen on; 0 takes a free one."""
    names: tuple[str, ...] = ()
    """Host names under which the page may be opened, besides localhost and IP addresses."""
    open: bool = False
    """Open the page in a browser."""


def main(argv: Sequence[str]) -> int:
    """Serves the page until Ctrl-C, and returns the exit code."""
    watch = command_line.parse(
        WatchConfig, argv, prog="azo watch", description=__doc__, opens_networks=False
    )
    with extras.needed("the page", "plotly", "starlette", "uvicorn"):
        from azo.report.watch import app
        from azo.web import server
    run_log.folders(watch.run)  # that there is a run
    with server.listen(watch.host, watch.port) as listener:
        address = server.url(listener)
        print(f"{watch.run} is shown at {address}; Ctrl-C ends", flush=True)
        if watch.open:
            server.open_browser(address)
        application = app.make_app(watch.run, names=watch.names)
        server.Server(application, lambda: None, has_inline_styles=True).run(sockets=[listener])
    return 0
