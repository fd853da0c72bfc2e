from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def reprise(*words: str, root: Path, **env: str):
    command = [sys.executable, "-m", "reprise.pipeline.cli", *words]
    process = subprocess.Popen(
        command,
        cwd=root,
        env={**os.environ, "REPRISE_ROOT": str(root), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=20)


def get(url: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as page:
        return page.read().decode()


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    return tmp_path


def test_serve_answers_on_its_port(repository):
    site = repository / "_build" / "html"
    site.mkdir(parents=True)
    (site / "index.html").write_text("the book")
    with reprise("serve", "--port", "0", root=repository) as process:
        url = re.match(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
        assert get(url) == "the book"


def test_serve_without_a_site_says_what_to_do(repository):
    with reprise("serve", root=repository) as process:
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 2
    assert out == "reprise: there is no _build/html/index.html: run `make book` first\n"


def test_serve_on_a_taken_port_says_so(repository):
    site = repository / "_build" / "html"
    site.mkdir(parents=True)
    (site / "index.html").write_text("the book")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with reprise("serve", "--port", port, root=repository) as process:
            out, _ = process.communicate(timeout=20)
    assert process.returncode == 2
    assert f"can't serve on port {port}" in out


def test_lab_answers_on_its_port_and_opens_chapters_as_notebooks(repository, tmp_path):
    for folder in (".jupyter/labconfig", "book"):
        (repository / folder).mkdir(parents=True)
    name = "labconfig/default_setting_overrides.json"
    (repository / ".jupyter" / name).write_text((ROOT / ".jupyter" / name).read_text())
    header = "---\nkernelspec:\n  display_name: Python 3\n  name: python3\n---\n\n# T\n\n"
    text = header + "```{code-cell} ipython3\n1 + 1\n```\n"
    (repository / "book" / "toy.md").write_text(text)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    env = {"JUPYTER_TOKEN": "t", "HOME": str(tmp_path / "home")}
    with reprise("lab", "--port", port, "--no-browser", root=repository, **env) as process:
        url, headers = f"http://127.0.0.1:{port}", {"Authorization": "token t"}
        for _ in range(200):
            assert process.poll() is None, process.stdout.read()
            try:
                assert "version" in get(f"{url}/api")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.2)
        plugin = "@jupyterlab/docmanager-extension:plugin"
        settings = json.loads(get(f"{url}/lab/api/settings/{plugin}", **headers))
        viewers = settings["schema"]["properties"]["defaultViewers"]["default"]
        assert viewers["markdown"] == "Jupytext Notebook"
        page = json.loads(get(f"{url}/api/contents/book/toy.md?type=notebook", **headers))
        assert [cell["cell_type"] for cell in page["content"]["cells"]] == ["markdown", "code"]
