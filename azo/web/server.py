"""The HTTP server: a listening socket, and uvicorn with deadlines for its connections.

uvicorn waits without a limit for the rest of a request's headers and for a reader of an answer, and
a client may have any number of connections. So every connection here has a deadline, and a new
connection to a full server closes another one. Chunked bodies are refused: the page sends the
length of a body, and parsing chunks of one byte delays all other clients.
"""

import asyncio
import http
import ipaddress
import os
import socket
import threading
import types
import webbrowser
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from azo.process import interruption

MAX_CONNECTIONS = 64
MAX_HEADER_BYTES = 16 * 1024
REQUEST_SECONDS = 20.0  # for the headers of a request, the idle time before them included
ANSWER_SECONDS = 60.0  # for the body of a request and its answer; a search takes at most 30 s
_IDLE_SECONDS = 15  # less than `REQUEST_SECONDS`
_EVERY = ("0.0.0.0", "::")  # addresses of all networks of this machine
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

    ValueError, one line, if the address does not exist here, or the port is taken.
    """
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise ValueError(f"--host {host}: {error.strerror}") from None
    try:
        is_dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, dualstack_ipv6=is_dual)
    except OSError as error:
        where, why = f"--host {host} --port {port}", os.strerror(error.errno or 0)
        raise ValueError(f"{where}: {why}; --port 0 takes a free port") from None


def url(listener: socket.socket, host: str = "") -> str:
    """Returns the address to open on this machine, or that of another name of it."""
    own, port = listener.getsockname()[:2]
    host = host or ("localhost" if own in _EVERY else own)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def shared_url(listener: socket.socket) -> str | None:
    """Returns the address for other machines; None if only this one can connect."""
    host = listener.getsockname()[0]
    if host in _EVERY:
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect(("192.0.2.1", 9))  # sends nothing: the system chooses an interface
                host = probe.getsockname()[0]
        except OSError:
            return None  # no network
    if ipaddress.ip_address(host).is_loopback:
        return None
    return url(listener, host)


def open_browser(address: str) -> None:
    """Opens a page without waiting, since some browsers run in the foreground until they end."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


class Server(uvicorn.Server):
    """The web server; it stops long answers on exit. `run` raises KeyboardInterrupt at Ctrl-C."""

    def __init__(
        self, app: ASGIApp, stop_answers: Callable[[], None], *, has_inline_styles: bool = False
    ):
        """Prepares to serve `app`; `stop_answers` stops long answers and returns at once.

        With `has_inline_styles`, scripts of the page may write styles into it, as plotly does.
        """
        policy = _POLICY + "; style-src 'self' 'unsafe-inline'" * has_inline_styles
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_level="error",  # no lines for requests that are not HTTP
            server_header=False,
            headers=list((_HEADERS | {"content-security-policy": policy}).items()),
            http=Connection,
            ws="none",
            limit_concurrency=MAX_CONNECTIONS + 1,  # answers to lost clients count
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        super().__init__(config)
        self._stop_answers = stop_answers

    def handle_exit(self, sig: int, frame: types.FrameType | None) -> None:
        """Handles Ctrl-C and other signals: ends the server."""
        interruption.acknowledge()
        self._stop_answers()
        super().handle_exit(sig, frame)


class _Parser(h11.Connection):
    """Parses requests, up to the headers of one with a chunked body."""

    refuses_chunks = False

    def next_event(self) -> Any:
        """Returns the next part of a request; raises `h11.RemoteProtocolError` if it is wrong."""
        event = super().next_event()
        if isinstance(event, h11.Request) and b"transfer-encoding" in dict(event.headers):
            self.refuses_chunks = True
            raise h11.RemoteProtocolError("a chunked body")
        return event


class Connection(H11Protocol):
    """A connection that either waits for the headers of a request or answers one."""

    conn: _Parser
    is_answering = False
    since = 0.0  # the loop's time when the connection began to wait or to answer, in seconds
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for a request; with too many connections, closes the longest wait."""
        super().connection_made(transport)
        self.conn = _Parser(h11.SERVER, MAX_HEADER_BYTES)
        self._begin(is_answering=False)
        if len(self.connections) > MAX_CONNECTIONS:
            others = [c for c in self.connections if isinstance(c, Connection) and c is not self]
            closed = max(others, key=lambda c: (not c.is_answering, -c.since))
            self.connections.discard(closed)
            closed.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the deadline."""
        self._end_deadline()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Reads what has arrived; the headers of a request begin an answer."""
        cycle = self.cycle
        super().handle_events()
        if self.cycle is not cycle and not self.transport.is_closing():
            self._begin(is_answering=True)

    def on_response_complete(self) -> None:
        """Begins to wait for the next request."""
        if not self.transport.is_closing():
            self._begin(is_answering=False)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuses what is not HTTP, with the headers of all answers; uvicorn's lacks them."""
        status = http.HTTPStatus.BAD_REQUEST
        if self.conn.refuses_chunks:
            status, msg = http.HTTPStatus.LENGTH_REQUIRED, "send a content-length, no chunks"
        more = [(b"content-type", b"text/plain"), (b"connection", b"close")]
        headers = [*self.server_state.default_headers, *more]
        head = h11.Response(status_code=status, headers=headers, reason=status.phrase.encode())
        for event in (head, h11.Data(data=msg.encode()), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _begin(self, *, is_answering: bool) -> None:
        self.is_answering, self.since = is_answering, self.loop.time()
        self._end_deadline()
        seconds = ANSWER_SECONDS if is_answering else REQUEST_SECONDS
        # Not `close`, which waits for a client that does not read.
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
