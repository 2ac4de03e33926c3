"""A real browser, headless, that notices everything that goes wrong on a page."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")

#: Texts that are hard to read: contrast below 4.5 (3 for large letters) against the colour behind them.
CONTRAST: Final = r"""() => {
  const channels = (text) => {
    const found = text.match(/[\d.]+/g).map(Number);
    return found.length < 4 ? [...found, 1] : found;
  };
  const over = (top, under) => top.slice(0, 3).map((value, at) => value * top[3] + under[at] * (1 - top[3]));
  const ground = (node) => {
    const layers = [];
    for (let one = node; one; one = one.parentElement) {
      layers.unshift(channels(getComputedStyle(one).backgroundColor));
    }
    return layers.reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const light = (colour) => {
    const linear = (c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const [red, green, blue] = colour.map((value) => linear(value / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !node.checkVisibility() || node.closest("title, noscript")) continue;
    const style = getComputedStyle(node);
    const back = ground(node);
    const front = over(channels(node instanceof SVGElement ? style.fill : style.color), back);
    const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)} ${node.className} ${text.slice(0, 40)}`);
  }
  return faint;
}"""


def chromium() -> str:
    """Where the browser is. Where there is none, the tests fail in CI and are skipped elsewhere."""
    for name in NAMES:
        if (found := shutil.which(name)) is not None:
            return found
    message = "there is no Chromium for the browser tests: run scripts/install-browser, or install chromium"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@contextmanager
def launched() -> Iterator[Browser]:
    path = chromium()
    with sync_playwright() as playwright:
        # As root, which containers often are, Chromium runs without a sandbox or not at all.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One person's browser window. `close` tells what went wrong: errors, and requests to other hosts."""

    def __init__(self, browser: Browser, base_url: str, **options: Any) -> None:
        self._base_url = base_url
        self._problems: list[str] = []
        self._forgiven: tuple[str, ...] = ()
        self.context = browser.new_context(**options)
        self.page: Page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self._problems.append(f"uncaught: {error}"))
        self.page.on("request", self._asked)

    def url(self, path: str) -> str:
        return self._base_url + path

    def forgives(self, *texts: str) -> None:
        """Problems with one of these in them are part of the test."""
        self._forgiven = (*self._forgiven, *texts, "localhost")

    def signed_in(self, key: str) -> Page:
        answer = self.context.request.post(self.url("/session"), data={"api_key": key})
        assert answer.ok, answer.text()
        return self.page

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._problems.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self._base_url, "data:", "about:")):
            self._problems.append(f"asked elsewhere: {request.url}")

    def close(self) -> list[str]:
        self.context.close()
        return [one for one in self._problems if not any(text in one for text in self._forgiven)]


@contextmanager
def visiting(browser: Browser, base_url: str, **options: Any) -> Iterator[Visit]:
    """A visit that must end without problems."""
    visit = Visit(browser, base_url, **options)
    try:
        yield visit
    finally:
        problems = visit.close()
    assert not problems, problems
