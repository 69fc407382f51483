"""A run's report and its page are read on a phone, in the dark."""

import contextlib
import pathlib

import pytest
from support.builders import fake_run
from support.drivers.web_server import serving
from support.drivers.web_visit import serious_findings

from azo.report import page
from azo.report.watch import app

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

_PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
# The luminance of the page, and the smallest contrast of the texts of its plots.
_CONTRAST = """() => {
  const luminance = (colour) => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255);
    const [r, g, b] = parts.map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const colours = [document.body, document.documentElement].map(
    (element) => getComputedStyle(element).backgroundColor,
  );
  const page = luminance(colours.find((colour) => colour !== "rgba(0, 0, 0, 0)"));
  const kinds = ".xtick text, .ytick text, .xtitle, .ytitle, .gtitle, .legendtext";
  const contrasts = [...document.querySelectorAll(kinds)].map((text) => {
    const [low, high] = [luminance(getComputedStyle(text).fill), page].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
  return [page, Math.min(...contrasts)];
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / ("a-name-without-spaces-" * 4)
    rated = [fake_run.rated(8), fake_run.rated(16)]
    fake_run.write(folder, fake_run.events(24, num_generations=4) + rated)
    return folder


@contextlib.contextmanager
def _address(kind, folder) -> pathlib.Path:
    if kind == "report":
        yield page.write(folder).as_uri()
        return
    with serving(app.make_app(folder), has_inline_styles=True) as port:
        yield f"http://127.0.0.1:{port}/"


def _swipe_up(context, page, x, y):
    session = context.new_cdp_session(page)

    def touch(kind, *points):
        places = [{"x": x, "y": place} for place in points]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})
        page.wait_for_timeout(16)

    touch("touchStart", y)
    for step in range(1, 15):
        touch("touchMove", y - 10 * step)
    touch("touchEnd")
    page.wait_for_timeout(300)


@pytest.mark.parametrize("kind", ["report", "watch"])
def test_plots_are_readable_and_do_not_hold_the_finger(browser, folder, kind):
    context = browser.new_context(color_scheme="dark", **_PHONE)
    with _address(kind, folder) as address:
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector(".js-plotly-plot .legendtext")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        luminance, contrast = page.evaluate(_CONTRAST)
        assert luminance < 0.05
        assert contrast >= 4.5
        assert not serious_findings(page)
        assert not page.locator(".modebar").first.is_visible()  # it would lie over the title
        plot = page.locator(".js-plotly-plot .nsewdrag").first
        plot.scroll_into_view_if_needed()
        box, before = plot.bounding_box(), page.evaluate("scrollY")
        _swipe_up(context, page, box["x"] + 100, box["y"] + 150)
        assert page.evaluate("scrollY") - before > 100
    context.close()
