"""A book with a chapter in each of five parts, one for each verdict, built once; a browser."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from reprise.claims import PARTS
from reprise.pipeline import chromium

SOURCES = Path(__file__).resolve().parents[2]
# Of each chapter a second claim, with a rule that gives the verdict; the first is the scaffold's.
CHAPTERS = {
    "ordinary": ('sign("log_ratio", +1)', "reproduced"),
    "half_true": ('all_of(sign("log_ratio", +1), sign("log_ratio", -1))', "partly"),
    "unclear": ('sign("nothing")', "inconclusive"),
    "backwards": ('sign("log_ratio", -1)', "not reproduced"),
    "too_large": ('sign("absent")', "not tested"),
}
MORE = """
MEASURES["nothing"] = Measure(("e1",), lambda tables: mean([-1.0, 1.0, -2.0, 2.0]), "nothing")
MEASURES["absent"] = Measure(("e1",), lambda tables: None, "absent")
CLAIMS.append(
    Claim(
        id="C2",
        text="A second claim & <one> of {slug}.",
        paper="a | pipe, a < b",
        where="Table 2",
        rule={rule},
        fixed="after a pilot",
    )
)
"""
SECTION = """({slug}-c2)=
### C2: the second

```{{code-cell}} ipython3
:tags: [remove-input]

verdicts["C2"]
```

## Beyond"""


def titled(slug: str) -> str:
    """Return a chapter's title."""
    return f"{slug.replace('_', ' ').title()}: A Paper of Many Words"


def write(root: Path) -> None:
    """Write the real book's own pages, and the miniature chapters."""
    from reprise.pipeline import scaffold

    src = SOURCES / "src" / "reprise"
    papers = [path.parent.name for path in src.glob("*/experiments")]
    chapters = [f"{slug}.md" for slug in papers]
    leave = shutil.ignore_patterns("__pycache__", *papers)
    shutil.copytree(src, root / "src" / "reprise", ignore=leave)
    leave = shutil.ignore_patterns("profiles", *chapters)
    shutil.copytree(SOURCES / "book", root / "book", ignore=leave)
    for name in ("_config.yml", "pyproject.toml", "requirements.lock", ".gitignore"):
        shutil.copy(SOURCES / name, root)
    toc = yaml.safe_load((SOURCES / "_toc.yml").read_text())
    toc["parts"] = [part for part in toc["parts"] if part["caption"] not in PARTS]
    (root / "_toc.yml").write_text(yaml.safe_dump(toc, sort_keys=False))
    for (slug, (rule, _)), part in zip(CHAPTERS.items(), PARTS, strict=False):
        scaffold.new(root, slug, part, titled(slug))
        claims = root / "src" / "reprise" / slug / "claims.py"
        text = claims.read_text().replace("Paper, sign", "Paper, all_of, sign")
        text = text.replace("Estimate, paired_difference", "Estimate, mean, paired_difference")
        claims.write_text(text + MORE.format(slug=slug, rule=rule))
        page = root / "book" / f"{slug}.md"
        section = SECTION.format(slug=slug)
        page.write_text(page.read_text().replace("## Beyond", section, 1))


@dataclass(frozen=True)
class Publication:
    """The book, and its site on a local port."""

    root: Path
    env: dict[str, str] = field(repr=False)
    address: str = ""

    @property
    def chapters(self) -> dict[str, tuple[str, str]]:
        """Return slug -> rule and verdict of its second claim."""
        return CHAPTERS

    @property
    def site(self) -> Path:
        return self.root / "_build" / "html"

    @property
    def pages(self) -> list[str]:
        """Every page for readers, relative to the site."""
        found = [path.relative_to(self.site).as_posix() for path in self.site.rglob("*.html")]
        return sorted(name for name in found if not name.startswith(("_static", "genindex")))

    def reprise(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "reprise.pipeline.cli", *words],
            cwd=self.root,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=400,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout


class Quiet(http.server.SimpleHTTPRequestHandler):
    """No log line per request."""

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="session")
def publication(tmp_path_factory) -> Iterator[Publication]:
    base = tmp_path_factory.mktemp("publication")
    root = base / "book"
    root.mkdir()
    write(root)
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("REPRISE_", "DASK_", "GIT_")) and k != "CI"
    }
    env = kept | {
        "REPRISE_ROOT": str(root),
        "REPRISE_CACHE": str(base / "cache"),
        "PYTHONPATH": str(root / "src"),
        "OMP_NUM_THREADS": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    own = Publication(root, env)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        names = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *names, *words], cwd=root, env=env, check=True)
    own.reprise("full", "ordinary")
    own.reprise("book")
    own.reprise("accept", "ordinary", "--why", "the first reference & <more>")
    own.reprise("book")
    handler = functools.partial(Quiet, directory=str(own.site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Publication(root, env, f"http://127.0.0.1:{server.server_address[1]}")
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium; skipped where there is none, unless it is required."""
    if chromium.find() is None:
        why = f"no Chromium here; install it, or name it in {chromium.VARIABLE}"
        if os.environ.get("REPRISE_BROWSER") == "required":
            pytest.fail(why)
        pytest.skip(why)
    with chromium.browser() as found:
        yield found


@dataclass
class Tab:
    """A page in the browser and what went wrong in it."""

    page: object
    base: str
    trouble: list[str] = field(default_factory=list)

    def open(self, name: str) -> object:
        """Open a page of the site and wait until it is still."""
        self.page.goto(f"{self.base}/{name}", wait_until="load")
        # Not `evaluate`, which waits for ever.
        self.page.wait_for_function(
            "async () => { await window.MathJax?.startup?.promise; return true; }"
        )
        return self.page


@pytest.fixture
def tab(browser, publication):
    """Return a maker of tabs: options of a browser context, `base` for another address.

    At the end nothing may have gone wrong in any of them: no error in the console, no exception,
    no failed request, no request that leaves the site.
    """
    made: list[Tab] = []

    def make(base: str = publication.address, **options: object) -> Tab:
        own = Tab(browser.new_context(**options).new_page(), base)
        made.append(own)

        def asked(request) -> None:
            if not request.url.startswith((base, "data:", "blob:")):
                own.trouble.append(f"foreign request: {request.url}")

        def answered(response) -> None:
            if response.status >= 400:
                own.trouble.append(f"{response.status}: {response.url}")

        def said(message) -> None:
            if message.type == "error":
                own.trouble.append(f"console: {message.text}")

        own.page.on("request", asked)
        own.page.on("response", answered)
        own.page.on("console", said)
        own.page.on("pageerror", lambda error: own.trouble.append(f"exception: {error}"))
        return own

    yield make
    trouble = [line for own in made for line in own.trouble]
    for own in made:
        # Not closed: Chromium may hang in that, and Playwright would wait for ever. The browser's
        # own end, which may kill, takes them all.
        own.page.wait_for_load_state("load")
    assert trouble == []
