"""Connections with deadlines, shared fairly between addresses.

uvicorn waits without a limit for the rest of a request's headers and for a reader of an answer, and
a client may have any number of connections. So every connection here has a deadline, and a new
connection to a full server closes one of the address that has the most.
"""

import asyncio
import collections
import ipaddress

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 64
REQUEST_SECONDS = 20.0  # for the headers of a request, the idle time before them included
ANSWER_SECONDS = 60.0  # for the body of a request and its answer; a search takes at most 30 s


class Connection(H11Protocol):
    """A connection that either waits for the headers of a request or answers one."""

    address = ""  # of the client, as `network_of` returns it
    is_answering = False
    since = 0.0  # the loop's time when the connection began to wait or to answer, in seconds
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for a request; closes another connection if there are too many."""
        super().connection_made(transport)
        self.address = network_of(self.client[0]) if self.client else ""
        self._begin(is_answering=False)
        if len(self.connections) > MAX_CONNECTIONS:
            others = [c for c in self.connections if isinstance(c, Connection) and c is not self]
            number = collections.Counter(other.address for other in others)
            closed = max(others, key=lambda c: (number[c.address], not c.is_answering, -c.since))
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
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = [
                *self.server_state.default_headers,
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"connection", b"close"),
            ]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=msg.encode()),
                h11.EndOfMessage(),
            ):
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


def network_of(host: str) -> str:
    """Returns what counts as one address: an IPv4 address, or the 2**64 of an IPv6 network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address), 64), strict=False))
