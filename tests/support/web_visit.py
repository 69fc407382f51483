"""A visit of the page in a browser without a window."""

import re
import time
import urllib.parse


class Visit:
    """An open page, with its errors and the hosts that it connected to."""

    def __init__(self, browser, port, **context):
        self.context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | context
        )
        self.port = port
        self.errors = []
        self.hosts = set()
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._hear)
        self.page.on(
            "request", lambda request: self.hosts.add(urllib.parse.urlsplit(request.url).netloc)
        )
        self.page.goto(f"http://localhost:{port}/")
        self.page.wait_for_selector(".cell")

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def end(self):
        self.context.close()
        assert self.errors == []
        assert self.hosts == {f"localhost:{self.port}"}

    def forgive_refusals(self):
        """The browser itself reports that an answer was a refusal."""
        refusal = "Failed to load resource: the server responded with a status of 400"
        self.errors = [error for error in self.errors if not error.startswith(refusal)]

    def text(self, selector):
        return self.page.inner_text(selector)

    def wait_for(self, selector, text):
        self.page.locator(selector, has_text=text).first.wait_for()

    def wait_until(self, expression, seconds=40):
        """Waits for what the page's policy forbids Playwright to wait for by itself."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, expression
            self.page.wait_for_timeout(20)

    def cell(self, square):
        return self.page.locator(f"[data-square={square}]")

    @property
    def legal(self):
        return self.page.eval_on_selector_all(
            ".cell.legal", "cells => cells.map((cell) => cell.dataset.square)"
        )

    @property
    def board(self):
        return self.page.eval_on_selector_all(
            ".cell",
            "cells => cells.map(({dataset: {disc}}) => ({black: 'X', white: 'O'})[disc] ?? '-')",
        )

    @property
    def moves(self):
        texts = self.page.locator("#moves button").all_inner_texts()
        return [re.sub(r"[?!]", "", text.split()[-1]) for text in texts]

    def wait_for_turn(self):
        """Waits until the reader is to move, or the game is over; returns whether he is to move."""
        self.wait_until(
            "/^Your move|wins|^Draw/.test(document.getElementById('status').textContent)"
        )
        return self.text("#status").startswith("Your move")

    def open_game(self, text):
        self.page.click("#open")
        self.page.fill("#text", text)
        self.page.click("#read")

    def wait_for_analysis(self):
        self.wait_until("document.getElementById('analyse').textContent === 'Analyse game'")
