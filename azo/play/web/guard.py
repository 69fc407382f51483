"""What stands between the page and the network: who may ask, and how much may be sent.

Anyone's page can make a browser send requests to a server on localhost, and a name can be made to
point there after its page was loaded (DNS rebinding). So a request must name this server by an
address or a name that is its own, one that changes something must come from our own page, and a
body must be JSON, which other pages may not send unasked.
"""

import asyncio
import ipaddress
from collections.abc import Collection
from typing import TypeVar
from urllib.parse import urlsplit

import pydantic
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 64 * 1024
BODY_SECONDS = 10.0

_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-cache",  # a new version of azo has a new page
}

_HANG_UP = {"connection": "close"}  # or the rest of the body would be waited for

Body = TypeVar("Body", bound=pydantic.BaseModel)


class Refused(Exception):
    """A request that is not fulfilled; the message is for the person at the page."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None):
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers

    def response(self) -> JSONResponse:
        return JSONResponse({"error": self.message}, self.status, self.headers)


class Guard:
    """Wraps an application: refuses strange hosts and origins, and adds headers to all answers."""

    def __init__(self, app: ASGIApp, names: Collection[str] = ()):
        """Guards `app`; `names` are host names to answer to besides localhost and addresses."""
        self._app = app
        self._names = {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        try:
            self._check(scope["method"], Headers(scope=scope))
        except Refused as refused:
            await refused.response()(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)

    def _check(self, method: str, headers: Headers) -> None:
        """Raises `Refused` unless the request is for this server, and from its own page."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            host = ", ".join(hosts) or "no host"
            raise Refused(
                421, f"this server does not answer to {host[:80]!r}; --names would let it"
            )
        if method in ("GET", "HEAD"):
            return
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != hosts[0]:
            raise Refused(403, "refused: the request comes from another site")
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise Refused(403, "refused: the request comes from another site")

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self._names or _is_address(name)


async def read_json(request: Request, kind: type[Body]) -> Body:
    """Returns the body of a request.

    Raises:
      Refused: it is not called JSON, is too large, takes too long, or is not what `kind` says.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise Refused(415, "send application/json")
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _read(request)
    except TimeoutError:
        message = f"the request took more than {BODY_SECONDS:g} s to arrive"
        raise Refused(408, message, _HANG_UP) from None
    except ClientDisconnect:
        raise Refused(400, "the request broke off") from None
    try:
        return kind.model_validate_json(body)
    except pydantic.ValidationError as error:
        raise Refused(400, _describe(error)) from None


async def _read(request: Request) -> bytes:
    message = f"too large: at most {MAX_BODY_BYTES // 1024} kB are read"
    too_large = Refused(413, message, _HANG_UP)
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > MAX_BODY_BYTES:
        raise too_large
    body = bytearray()
    async for chunk in request.stream():  # may be chunked, without a declared length
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise too_large
    return bytes(body)


def _describe(error: pydantic.ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _is_address(name: str) -> bool:
    """An address, unlike a name, cannot be made to point elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
