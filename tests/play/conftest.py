"""A browser for the tests of the page."""

import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as driver:
        try:
            launched = driver.chromium.launch()
        except sync_api.Error:
            path = shutil.which("chromium") or shutil.which("google-chrome")
            if path is None:
                pytest.skip("no browser: `playwright install chromium`, or Debian's chromium")
            launched = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()
