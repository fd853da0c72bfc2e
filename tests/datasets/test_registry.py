from __future__ import annotations

import os
import re

import pytest

from reprise.datasets import registry
from reprise.datasets.fetch import fetch

ENV = {"kind": "env", "variable": "THING", "files": ["**/*"]}


@pytest.fixture
def thing(shelf, tmp_path, monkeypatch):
    """One fetched asset, `thing`: the file thing.txt that holds "abc"."""
    (tmp_path / "thing.txt").write_bytes(b"abc")
    monkeypatch.setenv("THING", str(tmp_path / "thing.txt"))
    shelf.add("thing", [ENV], file="thing.txt", sha256=shelf.sha(b"abc"))
    fetch(["thing"])
    return registry.asset("thing")


def test_every_entry_has_licence_credit_hash_use_and_a_source():
    assert registry.entries()
    for name, entry in registry.entries().items():
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name)
        assert entry.licence, name
        assert entry.citation, name
        assert entry.title, name
        assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256), name
        assert entry.used_by, name
        assert entry.sources, name
        assert entry.size > 0, name


def test_what_quick_profiles_and_tests_need_has_a_source_without_apt_and_npm():
    for name in {*registry.needed("tests"), *registry.needed(profile="quick")}:
        kinds = {source.kind for source in registry.entry(name).sources}
        assert kinds & {"pypi", "installed", "url"}, name


def test_no_source_names_the_host_of_a_package_registry():
    for entry in registry.entries().values():
        for source in entry.sources:
            if source.kind != "url":
                assert not any("://" in name for name in source.names)


def test_the_path_of_a_fetched_asset_is_its_file(thing):
    assert thing.name == "thing.txt"
    assert thing.read_bytes() == b"abc"
    assert registry.state("thing") == "present"


def test_a_missing_asset_says_in_one_line_how_to_fetch_it(shelf):
    shelf.add("thing", [ENV], sha256=shelf.sha(b"abc"))
    with pytest.raises(registry.MissingAsset, match="reprise assets --fetch thing") as caught:
        registry.asset("thing")
    assert "\n" not in str(caught.value)
    assert registry.state("thing") == "missing"


def test_asking_for_an_asset_never_fetches_it(shelf, tmp_path, monkeypatch):
    (tmp_path / "thing.txt").write_bytes(b"abc")
    monkeypatch.setenv("THING", str(tmp_path / "thing.txt"))
    shelf.add("thing", [ENV], sha256=shelf.sha(b"abc"))
    with pytest.raises(registry.MissingAsset):
        registry.asset("thing")
    assert not shelf.cache.exists()


def test_a_wrong_hash_names_both_and_the_file(thing, shelf):
    thing.write_bytes(b"abd")
    with pytest.raises(registry.WrongHash) as caught:
        registry.asset("thing")
    message = str(caught.value)
    assert shelf.sha(b"abc") in message
    assert shelf.sha(b"abd") in message
    assert "thing.txt" in message
    assert "\n" not in message
    assert registry.state("thing") == "wrong"


@pytest.mark.parametrize("small", [True, False])
def test_a_flipped_byte_is_caught_even_when_size_and_mtime_are_put_back(thing, small, monkeypatch):
    if not small:
        monkeypatch.setattr(registry, "HASH_ALWAYS_BELOW", 0)
    assert registry.state("thing") == "present"
    before = thing.stat()
    with thing.open("r+b") as file:
        file.write(b"b")
    os.utime(thing, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert registry.state("thing") == "wrong"


def test_a_large_file_is_hashed_once(thing, monkeypatch):
    monkeypatch.setattr(registry, "HASH_ALWAYS_BELOW", 0)
    hashed = []
    digest = registry.closure.file_digest
    monkeypatch.setattr(
        registry.closure, "file_digest", lambda path: (hashed.append(path), digest(path))[1]
    )
    registry.asset("thing")
    assert not hashed  # the fetch has hashed it
    os.utime(thing)  # as a copied cache would look
    registry.asset("thing")
    registry.asset("thing")
    assert len(hashed) == 1


@pytest.mark.parametrize("how", ["gone", "more", "broken record"])
def test_a_folder_that_lost_or_gained_files_is_caught(thing, how):
    if how == "gone":
        thing.unlink()
        assert registry.state("thing") == "wrong"
    elif how == "more":
        (thing.parent / "extra").write_bytes(b"x")
        assert registry.state("thing") == "wrong"
    else:  # the record is only a memory: without it the content is hashed
        (thing.parent / registry.RECORD).write_text("{")
        assert registry.state("thing") == "present"


def test_files_that_cannot_be_read_are_told_in_one_line(thing, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(registry.closure, "file_digest", refuse)
    with pytest.raises(registry.AssetError, match="cannot be read: Permission denied"):
        registry.asset("thing")


def test_the_hash_of_a_folder_is_that_of_what_sha256sum_prints(shelf):
    files = {"b": b"2", "a/x": b"1", "B": b"3"}
    hashes = {name: shelf.sha(data) for name, data in files.items()}
    assert registry.combined(hashes, single=False) == shelf.sha_of_folder(files)


def test_the_content_hash_needs_no_file_and_changes_with_the_prepare_step(shelf):
    shelf.add("plain", [ENV], sha256="a" * 64)
    shelf.add("made", [ENV], sha256="a" * 64, prepare="reprise.paths:root")
    shelf.add("other", [ENV], sha256="a" * 64, prepare="reprise.paths:cache")
    assert registry.content_hash("plain") == "a" * 64
    assert len({registry.content_hash(n) for n in ("plain", "made", "other")}) == 3
    assert not shelf.cache.exists()


def test_another_entry_changes_no_content_hash_and_no_path(shelf):
    shelf.add("plain", [ENV], sha256="a" * 64)
    before = registry.content_hash("plain"), registry.folder("plain")
    shelf.add("other", [ENV], sha256="b" * 64)
    assert (registry.content_hash("plain"), registry.folder("plain")) == before


def test_what_a_chapter_needs_goes_by_slug_and_profile(shelf):
    shelf.add("a", [ENV], sha256="a" * 64, used_by=["one:quick", "two:full"])
    shelf.add("b", [ENV], sha256="a" * 64, used_by=["one:full", "tests"])
    shelf.add("c", [ENV], sha256="a" * 64, used_by=["tests"])
    assert registry.needed("one", "quick") == ["a"]
    assert registry.needed("one") == ["a", "b"]
    assert registry.needed("tests") == ["b", "c"]
    assert registry.needed(profile="full") == ["a", "b"]
    assert registry.needed() == ["a", "b"]
    assert registry.needed("three") == []


def test_the_table_tells_state_size_and_licence(thing, shelf):
    shelf.add("other", [ENV], sha256="b" * 64, size=7, licence="MIT")
    rows = {row["name"]: row for row in registry.table()}
    assert rows["thing"]["state"] == "present"
    assert (rows["other"]["state"], rows["other"]["size"], rows["other"]["licence"]) == (
        "missing",
        7,
        "MIT",
    )
    assert rows["thing"]["sources"] == ["env THING"]
    assert [row["name"] for row in registry.table(["other"])] == ["other"]


def test_an_unknown_name_is_refused_with_the_known_ones(thing):
    with pytest.raises(ValueError, match="no asset 'nothing'; there are thing"):
        registry.asset("nothing")


@pytest.mark.parametrize(
    ("fields", "source", "message"),
    [
        ({"sha256": "12"}, ENV, "'thing': `sha256` must be 64 hex digits, got '12'"),
        ({"used_by": ["fsgdm quick"]}, ENV, "`used_by` takes"),
        ({"used_by": []}, ENV, "a list of texts is needed"),
        ({"size": -1}, ENV, "`size` must be a number of bytes, got -1"),
        ({"colour": "red"}, ENV, "no field 'colour'"),
        ({"file": "../x"}, ENV, "plain file name"),
        ({"join": True}, ENV, "`join` needs `file`"),
        ({"prepare": "os:remove"}, ENV, "must name a function of reprise, got 'os:remove'"),
        ({}, ENV | {"kind": "ftp"}, "`kind` must be one of env, .* got 'ftp'"),
        ({}, ENV | {"url": "x"}, "a source of kind env has no 'url'"),
        ({}, ENV | {"unpack": "7z"}, "`unpack` must be gz, xz or bz2, got '7z'"),
        ({}, {"kind": "url", "url": "x", "files": ["a"], "archive": "rar"}, "`archive` must be"),
        ({}, {"kind": "pypi", "files": ["a"]}, "a text or a list of texts is needed"),
    ],
)
def test_a_damaged_entry_is_refused_by_name(shelf, fields, source, message):
    shelf.add("thing", [source], **({"sha256": "a" * 64} | fields))
    with pytest.raises(ValueError, match=message):
        registry.entries()


def test_an_entry_without_a_field_or_a_source_is_refused(shelf):
    shelf.path.write_text("[thing]\ntitle = 'a'\n")
    with pytest.raises(ValueError, match="asset 'thing': `citation` is missing"):
        registry.entries()
    shelf.path.write_text("")
    shelf.add("thing", [], sha256="a" * 64)
    with pytest.raises(ValueError, match="`sources` must hold at least one"):
        registry.entries()


def test_a_table_that_is_no_toml_is_refused(shelf):
    shelf.path.write_text("[thing")
    with pytest.raises(ValueError, match=r"registry\.toml"):
        registry.entries()
