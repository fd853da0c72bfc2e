"""Build the site from the stage: skipped when nothing changed, published only when it is good.

Jupyter Book builds incrementally into `_build/site`; a build without warnings is then copied to
`_build/html`, so that a failing one leaves the last good site. The building process holds a lock
of its own and ends with its parent, so that two never write one folder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from reprise.closure import digest_of, file_digest
from reprise.pipeline import locks
from reprise.pipeline.outputs import plain

# Of MathJax's 24 MB a page asks for these: its bundle, fonts, and what its menu loads.
MATHJAX = ("tex-chtml.js", "input", "output", "sre", "a11y", "ui")
WARNING = re.compile(r"(WARNING|ERROR|CRITICAL|SEVERE)\b.*")


def build(root: Path, *, strict: bool = True, tell: Callable[[str], None] = print) -> bool:
    """Build the site where anything that it is made of changed; return whether it is good.

    Parameters
    ----------
    root : the repository, with `_build/stage`
    strict : whether a warning keeps the site from being published. A build in which a chapter
        failed isn't strict: its other pages may refer to a page that isn't there, and the exit
        status is 1 anyway.
    tell : called with a line
    """
    memory = root / "_build" / "html.json"
    before, now = _read(memory), digests(root)
    site = root / "_build" / "html"
    if before == now and (site / "index.html").is_file():
        return True
    work = root / "_build" / "site"
    if before.get("settings") != now["settings"]:
        shutil.rmtree(work, ignore_errors=True)  # Sphinx doesn't see all of these by itself
    memory.unlink(missing_ok=True)
    began = time.monotonic()
    code = _run(root, strict)
    warnings = _warnings(root / "_build" / "html.log")
    made = work / "_build" / "html"
    good = code == 0 and (made / "index.html").is_file()
    if good or (not strict and (made / "index.html").is_file()):
        publish(made, site)
    if good and not warnings:
        memory.write_text(json.dumps(now))
        pages = len(list(site.rglob("*.html")))
        tell(f"site built in {time.monotonic() - began:.1f} s: _build/html ({pages} pages)")
        return True
    # What was read once isn't warned of again: the next build starts from nothing.
    shutil.rmtree(work, ignore_errors=True)
    for line in warnings[:20]:
        tell(f"  {line}")
    state = "the last good site stays" if strict else "published nevertheless"
    tell(f"the site has {len(warnings) or 'unnamed'} warnings ({state}); see _build/html.log")
    return False


def digests(root: Path) -> dict[str, str]:
    """Return digests of the site's settings and of its pages."""
    own = Path(__file__)
    stage = root / "_build" / "stage"
    settings = [root / "_config.yml", stage / "_toc.yml", root / "requirements.lock", own]
    settings += sorted((root / "src" / "reprise").glob("sphinx*.py"))
    files = sorted(p for p in stage.rglob("*") if p.is_file())
    static = [p for p in files if "_static" in p.parts]
    return {
        "settings": digest_of(
            [[p.name, file_digest(p)] for p in (*settings, *static) if p.is_file()]
        ),
        "pages": digest_of([[p.relative_to(stage).as_posix(), file_digest(p)] for p in files]),
    }


def _run(root: Path, strict: bool) -> int:
    """Run the building process and return its exit status."""
    env = dict(os.environ)
    env["REPRISE_ROOT"] = str(root)
    before = [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p]
    env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(root / "src"), *before]))
    command = [sys.executable, "-m", "reprise.pipeline.html", f"--parent={os.getpid()}"]
    with (root / "_build" / "html.log").open("w") as log:
        process = subprocess.Popen(
            [*command, *(["--strict"] if strict else [])],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait()
        except BaseException:
            process.send_signal(signal.SIGTERM)
            process.wait()
            raise


def _warnings(log: Path) -> list[str]:
    """Return the warnings in the log, shown from the stage's folder on."""
    found = []
    for line in plain(log.read_text(errors="replace")).splitlines():
        if WARNING.search(line) and "treated as errors" not in line:
            found.append(line.rpartition("/_build/stage/")[2].strip())
    return list(dict.fromkeys(found))


def publish(made: Path, site: Path) -> int:
    """Copy what differs to the site's folder and remove what is gone; return how many changed."""
    changed = 0
    wanted = set()
    for path in made.rglob("*"):
        inner = path.relative_to(made)
        if path.is_dir() or not _published(inner):
            continue
        target = site / inner
        wanted.add(target)
        if target.is_file() and _same(path, target):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            shutil.copy2(path, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        changed += 1
    for path in sorted(site.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in wanted:
            path.unlink()
            changed += 1
    return changed


def _published(inner: Path) -> bool:
    if inner.name == ".buildinfo":
        return False
    parts = inner.parts
    if "mathjax" in parts:
        rest = parts[parts.index("mathjax") + 1 :]
        return bool(rest) and rest[0] in MATHJAX and rest[:2] != ("output", "svg")
    return True


def _same(one: Path, other: Path) -> bool:
    a, b = one.stat(), other.stat()
    return a.st_size == b.st_size and (
        a.st_mtime_ns == b.st_mtime_ns or file_digest(one) == file_digest(other)
    )


def _read(path: Path) -> dict[str, str]:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def main(argv: list[str] | None = None) -> int:
    """Build `_build/site` from `_build/stage` under the lock of the site."""
    parser = argparse.ArgumentParser(prog="python -m reprise.pipeline.html")
    parser.add_argument("--parent", type=int)
    parser.add_argument("--strict", action="store_true")
    given = parser.parse_args(argv)
    from reprise import paths

    root = paths.root()
    build_folder = root / "_build"
    with locks.hold(build_folder / "html.lock", what="the site") as held:
        locks.end_with(given.parent, held.holder)
        os.environ[locks.TOKEN] = str(held.holder["token"])
        from jupyter_book.cli.main import main as jupyter_book

        strict = ["-W", "--keep-going"] if given.strict else ["--keep-going"]
        # The table of contents by its full path: a relative one is looked up in the stage.
        words = ["build", str(build_folder / "stage"), "--config", str(root / "_config.yml")]
        words += ["--toc", str(build_folder / "stage" / "_toc.yml")]
        words += ["--path-output", str(build_folder / "site")]
        try:
            jupyter_book([*words, *strict, "-n"], standalone_mode=False)
        except SystemExit as stop:
            return int(stop.code or 0) if not isinstance(stop.code, str) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
