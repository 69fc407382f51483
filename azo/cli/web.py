"""Serves a page for play and analysis in a browser.

    azo web --open

The page is served only to this machine, unless `--host` says otherwise. Without `--network` it
offers all networks that come with azo. Ctrl-C ends the server. `--export FOLDER` writes a
self-contained practice page that works offline, with endings and openings.
"""

import pathlib
import time
from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar

import pydantic

from azo.cli import command_line
from azo.engine import engine_factory, engine_settings
from azo.process import extras
from azo.settings import setting_types


class WebConfig(engine_factory.PlayConfig):
    """A page to play against azo and to analyse games."""

    level: engine_settings.Level = 6
    """Level that is selected when the page opens, see `azo play`. Analyses are at full strength."""
    host: str = "127.0.0.1"
    """Address to listen on. With 0.0.0.0 or ::, every machine that reaches this one can play."""
    port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 8000
    """Port to listen on; 0 takes a free one."""
    names: tuple[str, ...] = ()
    """Host names under which the page may be opened, besides localhost and IP addresses."""
    open: bool = False
    """Open the page in a browser."""
    export: pathlib.Path | None = None
    """Write a self-contained practice page that works offline into this folder, and exit."""

    NO_EFFECT: ClassVar = engine_settings.WITHOUT_PONDERING
    NEEDS: ClassVar[setting_types.Table] = {
        name: (setting_types.needs("export", None),)
        for name in (
            *engine_factory.PlayConfig.model_fields.keys() - {"engine"},
            *(f"engine.{name}" for name in engine_settings.EngineConfig.model_fields),
            *("host", "port", "names", "open"),
        )
    }

    def check_typed(self, typed: Collection[str]) -> list[str]:
        """See `NetworkChoice.check_typed`; the level is only the first one of the page."""
        return engine_factory.NetworkChoice.check_typed(self, typed)


def main(argv: Sequence[str]) -> int:
    """Loads the network, serves the page until Ctrl-C, and returns the exit code."""
    web = command_line.parse(WebConfig, argv, prog="azo web", description=__doc__)
    with extras.needed("the page", "starlette", "uvicorn"):
        from azo.web import app, server, sessions, static_page
    if web.export is not None:
        static_page.export(web.export)
        print(f"wrote {web.export}: open index.html there, or put the folder on a web server")
        return 0
    with server.listen(web.host, web.port) as listener:
        start = time.perf_counter()
        with command_line.waiting("loading the network; the first start compiles for a minute"):
            makers = engine_factory.engines(web)
            engine_factory.warm_up(next(iter(makers.values()))())
        pages = sessions.SessionPool(makers)
        shared = server.shared_url(listener)
        application = app.make_app(
            pages, web.network_name, level=web.level, names=web.names, address=shared
        )
        print(
            f"network ({web.network_name}) loaded in {time.perf_counter() - start:.1f} s",
            flush=True,
        )
        address = server.url(listener)
        others = f", for other machines at {shared}" if shared not in (None, address) else ""
        print(f"azo plays at {address}{others}; Ctrl-C ends", flush=True)
        if web.open:
            server.open_browser(address)
        server.Server(application, pages.stop_all).run(sockets=[listener])
    return 0
