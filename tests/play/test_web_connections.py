"""Clients that are slow, take many connections, or send what is not HTTP."""

import contextlib
import http.client
import socket
import time

import pytest
from support.web_server import ask, offers, running

from azo.play.web import connections, guard


@pytest.fixture(scope="module")
def port():
    with running(offers()) as port:
        yield port


def connect(port, address="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", port), 10, (address, 0))


@contextlib.contextmanager
def half_sent(port, number, address="127.0.0.1"):
    """Keeps connections that have sent the first line of a request."""
    with contextlib.ExitStack() as stack:
        for _ in range(number):
            client = stack.enter_context(connect(port, address))
            client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nx-")
        yield


def status(client, path="/api/settings"):
    """Sends a request on an open connection; returns the status of its answer."""
    client.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    response = http.client.HTTPResponse(client)
    response.begin()
    response.read()
    return response.status


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
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    with connect(port) as client:
        client.sendall(before)
        if before:  # then the deadline is that of the second request on the connection
            http.client.HTTPResponse(client).begin()
            monkeypatch.setattr(connections, "ANSWER_SECONDS", 100)
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
    monkeypatch.setattr(connections, "ANSWER_SECONDS", 0.5)
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


def test_half_sent_headers_do_not_keep_others_out(port):
    with half_sent(port, connections.MAX_CONNECTIONS + 6):
        assert ask(port, "/").status == 200


def test_the_address_with_the_most_connections_loses_one(port):
    with connect(port, "127.0.0.2") as polite:
        assert status(polite) == 200
        with half_sent(port, connections.MAX_CONNECTIONS + 6, "127.0.0.3"):
            assert ask(port, "/").status == 200
            assert status(polite) == 200


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("a name", "a name"),
    ],
)
def test_one_ipv6_network_counts_as_one_address(host, network):
    assert connections.network_of(host) == network


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (b"\x16\x03\x01 no HTTP\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 20_000, 400),
        (b"GET / HTTP/1.1\r\nhost: [::1\r\n\r\n", 421),
        (b"POST /api/game HTTP/1.1\r\nhost: localhost\r\norigin: http://[evil\r\n\r\n", 403),
        (b"POST /api/game HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\r\n1", 415),
        (b"GET /static/no HTTP/1.1\r\nhost: localhost\r\n\r\n", 404),
        (b"GET /static/app.js HTTP/1.1\r\nhost: localhost\r\nrange: bytes=9999999-\r\n\r\n", 416),
        (b"BREW / HTTP/1.1\r\nhost: localhost\r\n\r\n", 405),
    ],
)
def test_every_refusal_has_the_security_headers(port, request_bytes, expected):
    with connect(port) as client:
        client.sendall(request_bytes)
        response = http.client.HTTPResponse(client)
        response.begin()
        assert response.status == expected
        _assert_secure(response.headers)


def test_an_error_of_the_server_has_the_security_headers(port, monkeypatch):
    def fail(*_):
        raise RuntimeError("no such thing")

    monkeypatch.setattr(guard, "read_json", fail)
    answer = ask(port, "/api/game", {"game": "othello6"})
    assert answer.status == 500
    _assert_secure(answer.headers)


def test_a_full_server_refuses_with_the_security_headers(monkeypatch):
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 0)  # for the server that starts now
    with running(offers()) as port:
        monkeypatch.setattr(connections, "MAX_CONNECTIONS", 64)
        answer = ask(port, "/")
    assert answer.status == 503
    _assert_secure(answer.headers)


def test_garbage_after_a_request_closes_the_connection_quietly(port, caplog):
    with connect(port) as client:
        client.sendall(
            b"POST /api/game HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"transfer-encoding: chunked\r\n\r\nno length\r\n"
        )
        assert is_closed_within(client, 10, lambda: None)
    assert caplog.text == ""
    assert ask(port, "/").status == 200


def _assert_secure(headers):
    assert headers.get_all("content-security-policy") == [
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ]
    assert headers.get_all("x-content-type-options") == ["nosniff"]
    assert headers.get_all("cache-control") == ["no-cache"]
    assert "server" not in headers
