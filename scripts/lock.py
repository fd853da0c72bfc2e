"""Write requirements.lock: all that is installed, without local versions, addresses or paths."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

HEAD = "# The complete environment, used with `pip install -c`; remade by scripts/lock.py.\n"
LEFT_OUT = {"pip", "setuptools", "wheel", "reprise"}  # the tools' own, and us


def normal(name: str) -> str:
    """Return a distribution's normalised name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    """Write the lock beside the requirements."""
    found = {
        d.metadata["Name"]: d.version.split("+")[0] for d in importlib.metadata.distributions()
    }
    lines = [
        f"{name}=={version}"
        for name, version in sorted(found.items(), key=lambda item: normal(item[0]))
        if normal(name) not in LEFT_OUT
    ]
    path = Path(__file__).resolve().parents[1] / "requirements.lock"
    path.write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
