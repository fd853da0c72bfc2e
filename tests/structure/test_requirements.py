"""The lock: complete, and nothing in it that only works on one machine."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[a-z,]+\])?==([0-9][A-Za-z0-9.]*)$")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(name: str) -> dict[str, str]:
    found = {}
    for line in (ROOT / name).read_text().splitlines():
        if line and not line.startswith("#"):
            # Anything else is a local version (+cpu), an address, an option or an editable line.
            assert PIN.match(line), f"{name}: {line!r} is not name==version"
            package, version = PIN.match(line).groups()
            assert normal(package) not in found, f"{name}: {package} stands there twice"
            found[normal(package)] = version
    return found


def test_the_lock_holds_plain_pins_only():
    assert len(pins("requirements.lock")) > 50


def test_the_lock_agrees_with_the_requirements():
    lock = pins("requirements.lock")
    direct = pins("requirements.txt")
    assert {name: lock.get(name) for name in direct} == direct


def test_the_lock_is_complete():
    """Whatever a locked package needs here is locked too."""
    from packaging.requirements import Requirement

    lock = pins("requirements.lock")
    missing = set()
    for name in lock:
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # another machine's
        for text in needs:
            need = Requirement(text)
            wanted = need.marker is None or need.marker.evaluate({"extra": ""})
            if wanted and normal(need.name) not in {*lock, "pip", "setuptools", "wheel"}:
                missing.add(f"{name} needs {need.name}")
    assert missing == set()


def test_the_package_is_not_locked_by_itself():
    assert "reprise" not in pins("requirements.lock")


def test_jupyter_book_stays_below_two():
    assert pins("requirements.txt")["jupyter-book"].startswith("1.")
