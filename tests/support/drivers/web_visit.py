"""A visit of the page in a browser without a window."""

import re
import time
import urllib.parse

SIZES = {"notebook": (1280, 800), "wide": (1366, 768), "phone": (390, 844), "aside": (844, 390)}
STATUS = "document.getElementById('status').textContent"
IS_OVER = rf"/\d+-\d+ to |a draw/.test({STATUS})"


def serious_findings(page):
    """Returns the rules of axe-core that a page breaks seriously, with the elements."""
    from axe_playwright_python import sync_playwright as axe

    return [
        (rule["id"], node["html"])
        for rule in axe.Axe().run(page).response["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


class Visit:
    """An open page, with its errors and the hosts that it connected to."""

    def __init__(self, browser, port, link="", size=None, **context):
        """Opens a link of a server, or a whole address if `port` is None; a size is of `SIZES`."""
        width, height = SIZES.get(size, (1280, 900))
        self.is_touched = is_phone = size in ("phone", "aside")
        context |= {"viewport": {"width": width, "height": height}, "reduced_motion": "reduce"}
        self.context = browser.new_context(has_touch=is_phone, is_mobile=is_phone, **context)
        self.address = link if port is None else f"http://localhost:{port}/{link}"
        self.errors = []
        self.hosts = set()
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._hear)
        self.page.on(
            "request", lambda request: self.hosts.add(urllib.parse.urlsplit(request.url).netloc)
        )
        self.page.goto(self.address)
        self.page.wait_for_selector(".cell")

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def end(self):
        self.context.close()
        assert not self.errors, self.errors
        assert self.hosts == {urllib.parse.urlsplit(self.address).netloc}

    def forgive_refusals(self):
        """The browser itself reports that an answer was a refusal, or that the server was busy."""
        refusal = "Failed to load resource: the server responded with a status of"
        refusals = (f"{refusal} 400", f"{refusal} 503")
        self.errors = [error for error in self.errors if not error.startswith(refusals)]

    def text(self, selector):
        return self.page.inner_text(selector)

    def wait_for(self, selector, text):
        self.page.locator(selector, has_text=text).first.wait_for()

    def wait_until(self, expression, seconds=120):
        """Waits for what the page's policy forbids Playwright to wait for by itself."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, expression
            self.page.wait_for_timeout(20)

    def press(self, target):
        """Clicks or taps; the board and the button must be on the screen then."""
        button = self.page.locator(target).first if isinstance(target, str) else target
        element = button.element_handle()  # a locator waits when the click takes its element away
        if self.is_touched:
            button.tap()
        else:
            button.click()
        assert self.is_on_screen(self.page.locator("#board")), f"the board after {button}"
        if element.is_visible() and not self.is_on_screen(element):
            assert not element.is_visible(), f"{button} after its click"  # else its dialog closed

    def is_on_screen(self, target):
        """Returns whether an element is inside the window, and only a dialog may cover it."""
        target = self.page.locator(target).first if isinstance(target, str) else target
        return target.evaluate(
            """(element) => {
              const { left, top, right, bottom } = element.getBoundingClientRect();
              const isInside =
                left >= -1 && top >= -1 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
              const middle = [(left + right) / 2, (top + bottom) / 2];
              const isSeen = element.contains(document.elementFromPoint(...middle));
              return isInside && (isSeen || document.querySelector("dialog[open]") !== null);
            }"""
        )

    def cell(self, square):
        return self.page.locator(f"[data-square={square}]")

    @property
    def mistakes(self):
        return [text.split() for text in self.page.locator("#mistakes button").all_inner_texts()]

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
        """The moves of the main line."""
        return self._names("#moves > li > button")

    @property
    def variations(self):
        """The moves of each variation, those inside of it included."""
        rows = self.page.locator("#moves > li.variation")
        return [self._names(row.locator("button")) for row in rows.all()]

    def _names(self, buttons):
        buttons = self.page.locator(buttons) if isinstance(buttons, str) else buttons
        return [re.sub(r"[?!]", "", text.split()[-1]) for text in buttons.all_inner_texts()]

    @property
    def ply(self):
        """The ply on the board."""
        return int(self.page.get_attribute("#graph", "aria-valuenow"))

    def serious_findings(self):
        """Returns the rules of axe-core that are broken seriously, with the elements."""
        return serious_findings(self.page)

    def wait_for_turn(self):
        """Waits until the reader is to move, or the game is over; returns whether he is to move."""
        self.wait_until(f"/^Your move/.test({STATUS}) || {IS_OVER}")
        return self.text("#status").startswith("Your move")

    def wait_for_moves(self, number):
        self.wait_until(f"document.querySelectorAll('#moves > li > button').length === {number}")

    def open_game(self, text):
        self.page.click("#open")
        self.page.fill("#text", text)
        self.page.click("#read")

    def wait_for_analysis(self, seconds=240):
        self.wait_until(
            "document.getElementById('analyse').textContent === 'Analyse game'", seconds
        )
