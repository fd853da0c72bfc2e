from __future__ import annotations

import pytest

from reprise import datasets
from reprise.datasets import registry


def test_the_novel_is_the_text_of_its_asset(shelf, tmp_path, monkeypatch):
    text = "Call me Ishmael. Some years ago—never mind how long"
    (tmp_path / "a.txt").write_bytes(text.encode())
    monkeypatch.setenv("BOOK", str(tmp_path / "a.txt"))
    source = {"kind": "env", "variable": "BOOK", "files": ["*"]}
    shelf.add("moby-dick", [source], file="moby-dick.txt", sha256=shelf.sha(text.encode()))
    datasets.fetch_assets(["moby-dick"])
    assert datasets.novel() == text


@pytest.mark.skipif(
    registry.state("moby-dick") != "present", reason="only the full profile fetches the novel"
)
def test_the_novel_has_its_known_length_and_alphabet():
    text = datasets.novel()
    assert len(text) == 1_190_317
    assert len(set(text)) == 83
    assert text.startswith("CHAPTER 1. Loomings.\n\nCall me Ishmael.")
    assert "\r" not in text
