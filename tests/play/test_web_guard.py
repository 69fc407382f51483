"""Protection of the server: other sites, files outside its folder, large requests."""

import http.client

import pytest
from support.web_server import ask, offers, question, running

from azo.play.web import guard


@pytest.fixture(scope="module")
def port():
    with running(offers()) as port:
        yield port


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/static/nothing.js", 404),
        ("GET", "/static/", 404),
        ("GET", "/api/think", 405),
        ("OPTIONS", "/api/think", 405),
        ("PUT", "/static/app.js", 405),
    ],
)
def test_other_paths_and_methods_are_refused(port, method, path, status):
    assert ask(port, path, method=method).status == status


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e%2f%2e%2e%2fengine.py",
        "/static/..%5cserver.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/app.js%00.py",
        "//etc/passwd",
        "/../server.py",
    ],
)
def test_no_file_outside_the_static_folder_is_served(port, path):
    answer = ask(port, path)
    assert answer.status == 404
    assert b"import" not in answer.body
    assert b"root:" not in answer.body


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/settings", "/nothing"])
def test_all_answers_forbid_other_sites_and_guessing(port, path):
    headers = ask(port, path).headers
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://[evil"},
        {"origin": ""},
        {"origin": "http://localhost:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_requests_from_other_sites_change_nothing(port, headers):
    answer = ask(port, "/api/think", question(), headers=headers)
    assert answer.status == 403
    assert answer.json["error"] == "refused: the request comes from another site"


def test_requests_from_the_page_itself_are_answered(port):
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "192.168.1.7"):
        headers = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
        assert ask(port, "/api/game", {"game": "othello6"}, headers=headers).status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:80", "", "[::1", "a@b"])
def test_foreign_host_names_are_refused(port, host):
    answer = ask(port, "/", headers={"host": host})
    assert answer.status in (400, 421)
    assert b"<html" not in answer.body


def test_allowed_host_names_are_answered():
    with running(offers(), names=["Board.example"]) as port:
        assert ask(port, "/", headers={"host": "board.example:80"}).status == 200
        assert ask(port, "/", headers={"host": "other.example"}).status == 421


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_only_json_is_read(port, kind):
    answer = ask(port, "/api/game", {"game": "othello6"}, headers={"content-type": kind})
    assert answer.status == 415


def test_large_bodies_are_refused_before_they_are_read(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"content-type": "application/json", "content-length": str(10**9)}
    connection.request("POST", "/api/read", headers=headers)  # and no body at all
    assert connection.getresponse().status == 413
    connection.close()


def test_large_bodies_without_a_length_are_refused(port):
    sent = 0

    def chunks():
        nonlocal sent
        while sent < 10**8:
            sent += 16_384
            yield b" " * 16_384

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(
            "POST",
            "/api/read",
            chunks(),
            {"content-type": "application/json"},
            encode_chunked=True,
        )
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server hung up while the rest was on its way
    assert sent < 10**7
    connection.close()


def test_a_body_that_does_not_arrive_times_out(port, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.1)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"content-type": "application/json", "content-length": "100"}
    connection.request("POST", "/api/read", b"{", headers)
    assert connection.getresponse().status == 408
    connection.close()
