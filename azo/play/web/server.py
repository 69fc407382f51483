"""The HTTP server: a listening socket, and uvicorn on it."""

import socket
import threading
import types
import webbrowser
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from azo.play.web import connections

_MAX_HEADER_BYTES = 16 * 1024
_IDLE_SECONDS = 15  # less than `connections.REQUEST_SECONDS`
_SHUTDOWN_SECONDS = 2  # for answers in progress

_POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# Of every answer, errors of the server included.
_HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-cache",  # a new version of azo has a new page
}


def listen(host: str, port: int) -> socket.socket:
    """Returns a socket that listens at an address; port 0 takes a free port.

    Raises:
      ValueError: One line: the address does not exist here, or the port is taken.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ValueError(f"--host {host}: {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        where = f"--host {host} --port {port}"
        raise ValueError(f"{where}: {error.strerror}; --port 0 takes a free port") from None
    return listener


def url(listener: socket.socket) -> str:
    """Returns the address to open on this machine."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def open_browser(address: str) -> None:
    """Opens a page without waiting, since some browsers run in the foreground until they end."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


class Server(uvicorn.Server):
    """The web server; it stops long answers on exit. `run` raises KeyboardInterrupt at Ctrl-C."""

    def __init__(
        self, app: ASGIApp, stop_answers: Callable[[], None], *, has_inline_styles: bool = False
    ):
        """Prepares to serve `app`.

        Args:
          app: the application.
          stop_answers: stops long answers and returns at once.
          has_inline_styles: let scripts of the page write styles into it, as plotly does.
        """
        policy = _POLICY + "; style-src 'self' 'unsafe-inline'" * has_inline_styles
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_level="error",  # no lines for requests that are not HTTP
            server_header=False,
            headers=list((_HEADERS | {"content-security-policy": policy}).items()),
            http=connections.Connection,
            ws="none",
            limit_concurrency=connections.MAX_CONNECTIONS + 1,  # answers to lost clients count
            h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        super().__init__(config)
        self._stop_answers = stop_answers

    def handle_exit(self, sig: int, frame: types.FrameType | None) -> None:
        """Handles Ctrl-C and other signals: ends the server."""
        self._stop_answers()
        super().handle_exit(sig, frame)
