"""Where this machine's Chromium is, and how it is driven: for the PDF and the browser tests."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reprise.pipeline.cells import UserError

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
VARIABLE = "REPRISE_CHROMIUM"


def find() -> str | None:
    """Return the path of Chromium: what `REPRISE_CHROMIUM` names, else the first on the PATH."""
    if given := os.environ.get(VARIABLE):
        return shutil.which(given)
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Start a headless Chromium and end it.

    Raises
    ------
    UserError
        When there is none; says what to do.
    """
    path = find()
    if path is None:
        raise UserError(f"this needs Chromium: install it, or name it in {VARIABLE}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Its sandbox can't be had as root, as which containers and CI run; pages are our own.
        found = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield found
        finally:
            found.close()
