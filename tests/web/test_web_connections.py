"""Protection of the server: slow clients and many, what is not HTTP, other sites, other files."""

import contextlib
import http.client
import re
import socket
import time

import pytest
from support.drivers.web_server import ask, makers, running

from azo.web import server


@pytest.fixture(scope="module")
def port():
    with running(makers(), names=["Board.example"]) as port:
        yield port


def connect(port):
    return socket.create_connection(("127.0.0.1", port), 10)


@contextlib.contextmanager
def half_sent(port, number):
    """Keeps connections that have sent the first line of a request."""
    with contextlib.ExitStack() as stack:
        for _ in range(number):
            client = stack.enter_context(connect(port))
            client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nx-")
        yield


def is_closed_within(client, seconds, send):
    """Calls `send` until the server has closed the connection; returns whether it has."""
    end = time.monotonic() + seconds
    client.settimeout(0.02)
    while time.monotonic() < end:
        try:
            send()
            if client.recv(1) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"])
def test_headers_that_arrive_byte_by_byte_meet_a_deadline(port, monkeypatch, before):
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.3)
    with connect(port) as client:
        client.sendall(before)
        if before:  # then the deadline is that of the second request on the connection
            http.client.HTTPResponse(client).begin()
            monkeypatch.setattr(server, "ANSWER_SECONDS", 100)
        client.sendall(b"GET / HTTP/1.1\r\nx: ")
        start = time.monotonic()
        while time.monotonic() < start + 0.1:
            time.sleep(0.02)
            client.sendall(b"a")  # it is still open

        def send():
            client.sendall(b"a")
            while before and client.recv(65536):
                pass

        assert is_closed_within(client, 10, send)


def test_a_client_that_does_not_read_meets_a_deadline(port, monkeypatch):
    monkeypatch.setattr(server, "ANSWER_SECONDS", 0.5)
    with connect(port) as client:
        client.setblocking(False)
        request = b"GET /static/play.js HTTP/1.1\r\nhost: localhost\r\n\r\n" * 100
        end, stuck, is_closed = time.monotonic() + 20, 0, False
        while time.monotonic() < end and not is_closed:
            try:
                client.send(request)
            except BlockingIOError:  # the server has stopped reading
                stuck += 1
                time.sleep(0.01)
            except OSError:
                is_closed = True
        assert stuck
        assert is_closed


def test_a_new_connection_to_a_full_server_closes_the_one_that_waits_longest(port):
    with connect(port) as first, half_sent(port, server.MAX_CONNECTIONS + 6):
        assert ask(port, "/").status == 200
        assert is_closed_within(first, 5, lambda: None)


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (b"\x16\x03\x01 no HTTP\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 20_000, 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (
            b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1\r\n \r\n",
            411,
        ),
    ],
)
def test_what_is_no_sound_request_is_refused_with_the_security_headers(
    port, request_bytes, expected
):
    with connect(port) as client:
        client.sendall(request_bytes)
        response = http.client.HTTPResponse(client)
        response.begin()
        assert response.status == expected
        _assert_secure(response.headers)


def test_a_full_server_refuses_with_the_security_headers(monkeypatch):
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 0)  # for the server that starts now
    with running(makers()) as port:
        monkeypatch.setattr(server, "MAX_CONNECTIONS", 64)
        answer = ask(port, "/")
    assert answer.status == 503
    _assert_secure(answer.headers)


def test_garbage_after_a_request_closes_the_connection_quietly(port, caplog):
    with connect(port) as client:
        client.sendall(
            b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
            b"POST /api/read HTTP/1.1\r\nhost: localhost\r\ncontent-length: one\r\n\r\n"
        )
        assert is_closed_within(client, 10, lambda: None)
    assert caplog.text == ""
    assert ask(port, "/").status == 200


_OUTSIDE = [
    "/static/../server.py",
    "/static/..%2fserver.py",
    "/static/%2e%2e%2f%2e%2e%2fengine.py",
    "/static/%2fetc%2fpasswd",
    "/static/app.js%00.py",
    "/../server.py",
]
_SITES = ("http://evil.example", "null", "http://localhost:1", "http://[evil")
_READ = {"game": "othello6", "text": "c2"}
_JSON, _KINDS = "application/json", ("text/plain", "application/x-www-form-urlencoded", "")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        *(("GET", path, {}, 200) for path in ("/", "/static/app.js", "/api/settings")),
        *(("GET", path, {}, 404) for path in ("/nothing", "/static/no", "/static/", *_OUTSIDE)),
        ("GET", "/static/app.js", {"range": "bytes=9999999-"}, 416),
        ("GET", "/api/think", {}, 405),
        ("OPTIONS", "/api/think", {}, 405),
        ("PUT", "/static/app.js", {}, 405),
        ("BREW", "/", {}, 405),
        # Other names of this server; the last one is allowed.
        *(("GET", "/", {"host": host}, 421) for host in ("evil.example", "[::1", "a@b", "")),
        ("GET", "/", {"host": "localhost.evil.example:80"}, 421),
        ("GET", "/", {"host": "board.example:80"}, 200),
        # Other sites.
        *(("POST", "/api/read", {"origin": origin}, 403) for origin in _SITES),
        ("POST", "/api/read", {"sec-fetch-site": "cross-site"}, 403),
        # Bodies of other kinds, and a large one, of which nothing is sent.
        *(("POST", "/api/read", {"content-type": kind}, 415) for kind in _KINDS),
        ("POST", "/api/read", {"content-type": _JSON, "content-length": "1000000000"}, 413),
    ],
)
def test_the_page_alone_is_served_to_itself_and_all_answers_forbid_other_sites(
    port, method, path, headers, status
):
    answer = ask(port, path, method=method, headers=headers)
    assert answer.status == status
    if status == 403:
        assert answer.json["error"] == "refused: the request comes from another site"
    if status != 200:
        assert not re.search(b"import|root:|<html", answer.body)
    _assert_secure(answer.headers)


def test_requests_from_the_page_itself_are_answered(port):
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "192.168.1.7"):
        headers = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
        assert ask(port, "/api/read", _READ, headers=headers).status == 200


def test_a_body_that_does_not_arrive_meets_a_deadline(port, monkeypatch):
    monkeypatch.setattr(server, "ANSWER_SECONDS", 0.1)
    headers = {"content-type": "application/json", "content-length": "100"}
    with pytest.raises(ConnectionError):
        ask(port, "/api/read", b"{", headers=headers)


def _assert_secure(headers):
    assert headers.get_all("content-security-policy") == [
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ]
    others = ("x-content-type-options", "referrer-policy", "x-frame-options", "cache-control")
    assert [headers[name] for name in others] == ["nosniff", "no-referrer", "DENY", "no-cache"]
    assert not {"access-control-allow-origin", "server"} & set(headers)
