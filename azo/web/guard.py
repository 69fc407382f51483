"""Protection of the server: allowed hosts and origins, and bounds on request bodies.

Any web site can make a browser send requests to a server on localhost, and DNS rebinding can point
the site's own name there. So a request must name this server by an IP address or an allowed name.
A POST must come from the server's own page, and its body must be JSON, which browsers do not let
other sites send unless the server agrees.
"""

import ipaddress
from collections.abc import Collection
from typing import TypeVar
from urllib.parse import urlsplit

import pydantic
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from azo.storage import journal

MAX_BODY_BYTES = 64 * 1024

_HANG_UP = {"connection": "close"}  # do not wait for the rest of the body

Body = TypeVar("Body", bound=pydantic.BaseModel)


class Guard:
    """Wraps an application: refuses foreign hosts and origins."""

    def __init__(self, app: ASGIApp, names: Collection[str] = ()):
        """Guards `app`; `names` are its host names besides localhost and IP addresses."""
        self._app = app
        self._names = {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or passes it on."""
        answer = None
        if scope["type"] == "http":
            answer = self._refusal(scope["method"], Headers(scope=scope))
        await (answer or self._app)(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> JSONResponse | None:
        """Returns an error unless the request is for this server, and from its own page."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            host = ", ".join(hosts)[:80] or "no host"
            message = f"this server is not {host!r}; to allow that name, start azo web with --names"
            return JSONResponse({"error": message}, 421)
        origin = headers.get("origin")
        is_foreign = headers.get("sec-fetch-site", "same-origin") != "same-origin"
        is_foreign |= origin not in (None, f"http://{hosts[0]}", f"https://{hosts[0]}")
        if is_foreign and method not in ("GET", "HEAD"):
            return JSONResponse({"error": "refused: the request comes from another site"}, 403)
        return None

    def _is_own(self, host: str) -> bool:
        # Starlette's TrustedHostMiddleware takes no set of all IP addresses, and no IPv6 address.
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name in self._names:
                return True
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True  # an IP address, unlike a name, cannot be redirected by DNS


async def read_json(request: Request, kind: type[Body], most: int = MAX_BODY_BYTES) -> Body:
    """Returns the body of a request.

    HTTPException if it is not JSON, has more than `most` bytes, or does not fit `kind`.
    `server.Connection` has a deadline for it.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise HTTPException(415, "send application/json")
    declared = request.headers.get("content-length", "0")  # h11 reads no more than this
    if not declared.isdecimal() or int(declared) > most:
        message = f"too large: at most {most // 1024} kB are read"
        raise HTTPException(413, message, _HANG_UP)
    try:
        return kind.model_validate_json(await request.body())
    except ClientDisconnect:
        raise HTTPException(400, "the connection closed before the whole request arrived") from None
    except pydantic.ValidationError as error:
        raise HTTPException(400, journal.reason(error)) from None
