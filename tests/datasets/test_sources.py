from __future__ import annotations

import bz2
import gzip
import http.server
import lzma
import re
import threading
import zipfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.datasets import registry, sources
from reprise.datasets.fetch import NotFetched, fetch

DATA = b"the content"


@pytest.fixture
def server(tmp_path):
    """A folder that a server on localhost serves, and its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield folder, f"http://127.0.0.1:{made.server_address[1]}"
        made.shutdown()


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes for the only place with packages."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return tmp_path / "index"


def _debian(shelf, tmp_path, files):
    """Stand-ins for apt-get and dpkg-deb that know one package."""
    tree = tmp_path / "tree"
    for name, data in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(data)
    shelf.command(
        "apt-get",
        f'echo "$@" >> {tmp_path}/apt.log\n'
        'for last; do :; done\ncase "$*" in *download*)\n'
        '  [ "$last" = things ] || { echo "E: Unable to locate package $last" >&2; exit 100; }\n'
        "  touch things_1_all.deb;; esac\n",
    )
    shelf.command("dpkg-deb", f'mkdir "$3" && cp -r {tree}/. "$3"\n')


def test_a_wheel_is_opened_and_only_the_named_file_is_taken(shelf, index):
    shelf.wheel(
        index,
        "things",
        "1.0",
        {"things/__init__.py": b"1/0", "things/a.txt.gz": gzip.compress(DATA)},
    )
    shelf.wheel(index, "things", "2.0", {"things/a.txt.gz": gzip.compress(b"another")})
    source = {"kind": "pypi", "package": "things==1.0", "files": ["things/*.gz"], "unpack": "gz"}
    shelf.add("thing", [source], file="thing.txt", sha256=shelf.sha(DATA))
    assert fetch(["thing"]) == {"thing": "pypi things==1.0"}
    assert registry.asset("thing").read_bytes() == DATA
    assert [p.name for p in registry.files_in(registry.folder("thing"))] == ["thing.txt"]


def test_a_source_distribution_is_opened_where_the_entry_asks_for_it(shelf, index):
    backend = (
        b"import pathlib\n"
        b"def prepare_metadata_for_build_wheel(folder, config_settings=None):\n"
        b"    d = pathlib.Path(folder) / 'things-1.0.dist-info'\n"
        b"    d.mkdir()\n"
        b"    about = 'Metadata-Version: 2.1\\nName: things\\nVersion: 1.0\\n'\n"
        b"    (d / 'METADATA').write_text(about)\n"
        b"    return d.name\n"
        b"def build_wheel(*a, **k): raise SystemExit('must not be built')\n"
    )
    project = b'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {"pyproject.toml": project, "backend.py": backend, "data/a.bin": DATA}
    shelf.tarball(
        index / "things-1.0.tar.gz", {f"things-1.0/{name}": data for name, data in files.items()}
    )
    source = {"kind": "pypi", "package": "things==1.0", "files": ["things-1.0/data/a.bin"]}
    shelf.add("thing", [source | {"sdist": True}], file="a.bin", sha256=shelf.sha(DATA))
    fetch(["thing"])
    assert registry.asset("thing").read_bytes() == DATA


def test_chunks_of_several_packages_are_joined_in_the_order_of_their_numbers(shelf, index):
    for i in (1, 2):
        shelf.wheel(
            index,
            f"chunk{i}",
            "1.0",
            {f"chunk{i}/data/part{j}.bin": f"{i}{j} ".encode() for j in (2, 10, 9)},
        )
    source = {"kind": "pypi", "package": ["chunk1", "chunk2"], "files": ["*/data/part*.bin"]}
    whole = b"12 19 110 22 29 210 "
    shelf.add("thing", [source], file="whole.bin", join=True, sha256=shelf.sha(whole))
    fetch(["thing"])
    assert registry.asset("thing").read_bytes() == whole


def test_an_npm_tarball_is_opened_without_running_its_scripts(shelf, tmp_path):
    shelf.tarball(
        tmp_path / "made.tgz", {"package/data/data.txt": DATA, "package/package.json": b"{}"}
    )
    shelf.command("npm", f'echo "$@" > {tmp_path}/npm.log\ncp {tmp_path}/made.tgz x-1.0.tgz\n')
    source = {"kind": "npm", "package": "@a/x@1.0", "files": ["package/data/data.txt"]}
    shelf.add("thing", [source], file="novel.txt", sha256=shelf.sha(DATA))
    fetch(["thing"])
    assert registry.asset("thing").read_bytes() == DATA
    assert "--ignore-scripts" in (tmp_path / "npm.log").read_text()


def test_a_debian_package_is_unpacked_with_a_state_folder_of_our_own(shelf, tmp_path):
    files = {"a-images": b"1", "deep/b-labels": b"2"}
    inside = {f"usr/share/things/{name}.gz": gzip.compress(data) for name, data in files.items()}
    _debian(shelf, tmp_path, inside | {"usr/share/doc/things/copyright": b"(c)"})
    source = {"kind": "debian", "package": "things", "files": ["usr/share/things/**/*.gz"]}
    shelf.add("thing", [source | {"unpack": "gz"}], sha256=shelf.sha_of_folder(files))
    fetch(["thing"])
    where = registry.asset("thing")
    assert {
        p.relative_to(where).as_posix(): p.read_bytes() for p in registry.files_in(where)
    } == files
    calls = (tmp_path / "apt.log").read_text().splitlines()
    assert [line.split()[-1] for line in calls] == ["update", "things"]
    assert all(f"Dir::State={shelf.cache}" in line for line in calls)


def test_package_lists_are_renewed_once_an_hour(shelf, tmp_path):
    _debian(shelf, tmp_path, {"usr/a": DATA, "usr/b": b"2"})
    for name, data in (("a", DATA), ("b", b"2")):
        source = {"kind": "debian", "package": "things", "files": [f"usr/{name}"]}
        shelf.add(f"thing-{name}", [source], file=name, sha256=shelf.sha(data))
    fetch(["thing-a", "thing-b"])
    assert (tmp_path / "apt.log").read_text().count(" update\n") == 1


def test_a_file_of_an_installed_requirement_is_found_without_importing_it(
    shelf, tmp_path, monkeypatch
):
    site = tmp_path / "site"
    shelf.wheel(site, "things_here", "1.0", {"x": b""})
    with zipfile.ZipFile(next(site.glob("*.whl"))) as archive:
        archive.extractall(site)
    (site / "things_here").mkdir()
    (site / "things_here" / "__init__.py").write_text("raise RuntimeError('imported')")
    (site / "things_here" / "a.txt").write_bytes(DATA)
    record = site / "things_here-1.0.dist-info" / "RECORD"
    record.write_text("things_here/__init__.py,,\nthings_here/a.txt,,\n")
    monkeypatch.syspath_prepend(str(site))
    source = {"kind": "installed", "package": "things-here", "files": ["things_here/*.txt"]}
    shelf.add("thing", [source], file="a.txt", sha256=shelf.sha(DATA))
    fetch(["thing"])
    assert registry.asset("thing").read_bytes() == DATA


def test_an_address_is_fetched_through_pooch(shelf, server):
    folder, address = server
    (folder / "a.txt.xz").write_bytes(lzma.compress(DATA))
    source = {"kind": "url", "url": f"{address}/a.txt.xz", "files": ["*.xz"], "unpack": "xz"}
    shelf.add("thing", [source], file="a.txt", sha256=shelf.sha(DATA))
    fetch(["thing"])
    assert registry.asset("thing").read_bytes() == DATA


def test_several_addresses_make_a_folder_and_an_archive_is_opened(shelf, server):
    folder, address = server
    (folder / "a.txt").write_bytes(b"1")
    (folder / "b.txt.bz2").write_bytes(bz2.compress(b"2"))
    urls = [f"{address}/a.txt", f"{address}/b.txt.bz2"]
    source = {"kind": "url", "url": urls, "files": ["*.txt*"], "unpack": "bz2"}
    shelf.add("two", [source], sha256=shelf.sha_of_folder({"a.txt": b"1", "b.txt": b"2"}))
    with zipfile.ZipFile(folder / "c.zip", "w") as archive:
        archive.writestr("in/c.txt", b"3")
        archive.writestr("in/d.txt", b"4")
    source = {"kind": "url", "url": f"{address}/c.zip", "files": ["in/c.txt"], "archive": "zip"}
    shelf.add("zipped", [source], file="c.txt", sha256=shelf.sha(b"3"))
    shelf.tarball(folder / "d.tar.gz", {"in/d.txt": b"4"})
    source = {"kind": "url", "url": f"{address}/d.tar.gz", "files": ["in/*"], "archive": "tar"}
    shelf.add("tarred", [source], file="d.txt", sha256=shelf.sha(b"4"))
    fetch(["two", "zipped", "tarred"])
    assert sorted(p.name for p in registry.files_in(registry.asset("two"))) == ["a.txt", "b.txt"]
    assert registry.asset("zipped").read_bytes() == b"3"
    assert registry.asset("tarred").read_bytes() == b"4"


@pytest.mark.parametrize("form", ["file", "folder", "compressed"])
def test_an_environment_variable_names_a_local_path(shelf, tmp_path, monkeypatch, form):
    place = tmp_path / "mine"
    place.mkdir()
    if form == "compressed":
        (place / "a.txt.gz").write_bytes(gzip.compress(DATA))
    else:
        (place / "a.txt").write_bytes(DATA)
    monkeypatch.setenv("THING", str(place / "a.txt" if form == "file" else place))
    source = {"kind": "env", "variable": "THING", "files": ["a.txt*"], "unpack": "gz"}
    shelf.add("thing", [source], file="thing", sha256=shelf.sha(DATA))
    fetch(["thing"])
    assert registry.asset("thing").read_bytes() == DATA


def test_each_source_that_fails_is_told_with_its_reason(
    shelf, tmp_path, monkeypatch, server, index
):
    monkeypatch.delenv("THING", raising=False)
    monkeypatch.setenv("NOWHERE", str(tmp_path / "nowhere"))
    index.mkdir()
    shelf.command("npm", "echo 'npm error code E404' >&2; exit 1\n")
    _debian(shelf, tmp_path, {})
    shelf.tarball(tmp_path / "served" / "a.tar.gz", {"a": b"1"})
    (tmp_path / "served" / "b.zip").write_bytes(b"no zip")
    (tmp_path / "served" / "c.gz").write_bytes(gzip.compress(DATA)[:-6])
    address = server[1]
    given = [
        {"kind": "env", "variable": "THING"},
        {"kind": "env", "variable": "NOWHERE"},
        {"kind": "installed", "package": "no-such-thing"},
        {"kind": "installed", "package": "pytest"},
        {"kind": "pypi", "package": "things==1.0"},
        {"kind": "npm", "package": "things@1.0"},
        {"kind": "debian", "package": "unthings"},
        {"kind": "url", "url": f"{address}/nothing"},
        {"kind": "url", "url": f"{address}/a.tar.gz", "archive": "tar"},
        {"kind": "url", "url": f"{address}/b.zip", "archive": "zip"},
        {"kind": "url", "url": f"{address}/c.gz", "unpack": "gz"},
        {"kind": "url", "url": "http://127.0.0.1:9/nothing"},
    ]
    files = [["*.gz"] if source.get("unpack") else ["nothing"] for source in given]
    shelf.add("thing", [{**source, "files": f} for source, f in zip(given, files)], sha256="a" * 64)
    with pytest.raises(NotFetched) as caught:
        fetch(["thing"])
    reasons = str(caught.value).split(" | ")
    for part, reason in zip(
        [
            "THING is not set",
            "is neither a file nor a folder",
            "no-such-thing is not installed",
            "no file in pytest matches 'nothing'",
            "pypi things==1.0: .*[Nn]o matching distribution",
            "npm ended with 1: npm error code E404",
            "apt-get ended with 100: E: Unable to locate package unthings",
            "404",
            "no file in .* matches 'nothing'",
            "is damaged: File is not a zip file",
            "is damaged: ",
            "url http://127.0.0.1:9/nothing: ",
        ],
        reasons,
        strict=True,
    ):
        assert re.search(part, reason), reason
    assert "\n" not in str(caught.value)


def test_a_command_that_is_not_there_is_named(shelf, monkeypatch):
    monkeypatch.setenv("PATH", str(shelf.bin))
    source = {"kind": "npm", "package": "things@1.0", "files": ["*"]}
    shelf.add("thing", [source], sha256="a" * 64)
    with pytest.raises(NotFetched, match="the command npm is not installed"):
        fetch(["thing"])


def test_a_command_and_a_file_without_permission_are_named(shelf, tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a").write_bytes(DATA)
    monkeypatch.setenv("THING", str(tmp_path / "a"))
    shelf.add("thing", [{"kind": "env", "variable": "THING", "files": ["a"]}], sha256="a" * 64)
    shelf.add("other", [{"kind": "npm", "package": "x", "files": ["a"]}], sha256="a" * 64)
    monkeypatch.setattr(sources.subprocess, "run", refuse)
    opening = Path.open
    monkeypatch.setattr(
        Path, "open", lambda p, *a, **k: refuse() if p.name == "a" else opening(p, *a, **k)
    )
    with pytest.raises(NotFetched, match=r"cannot read a in THING=.*: Permission denied"):
        fetch(["thing"])
    with pytest.raises(NotFetched, match=r"cannot run npm: .*Permission denied"):
        fetch(["other"])


def test_a_package_that_gives_several_files_is_refused(shelf, tmp_path):
    shelf.command("npm", "touch a.tgz b.tgz\n")
    shelf.add("thing", [{"kind": "npm", "package": "x", "files": ["a"]}], sha256="a" * 64)
    shelf.command("apt-get", "true\n")
    shelf.add("other", [{"kind": "debian", "package": "x", "files": ["a"]}], sha256="a" * 64)
    with pytest.raises(NotFetched, match="x gave 2 files, one was expected"):
        fetch(["thing"])
    with pytest.raises(NotFetched, match="apt-get download x gave 0 packages"):
        fetch(["other"])


def test_no_space_for_a_download_is_not_the_sources_fault(shelf, server, monkeypatch):
    import pooch

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pooch, "retrieve", full)
    source = {"kind": "url", "url": f"{server[1]}/a", "files": ["a"]}
    shelf.add("thing", [source], sha256="a" * 64)
    with pytest.raises(NotFetched, match="asset 'thing': no space left in"):
        fetch(["thing"])


def test_an_address_must_match_a_glob(shelf, server):
    (server[0] / "b").write_bytes(b"")
    source = {"kind": "url", "url": f"{server[1]}/b", "files": ["a"]}
    shelf.add("thing", [source], sha256="a" * 64)
    with pytest.raises(NotFetched, match="/b matches none of a"):
        fetch(["thing"])


def test_a_command_that_hangs_is_ended(tmp_path):
    with pytest.raises(sources.SourceFailed, match="gave no answer"):
        sources._command(["sleep", "30"], tmp_path, timeout=0.05)


@pytest.mark.parametrize("name", ["package/../../evil", "/etc/evil"])
def test_a_file_that_would_leave_its_folder_is_refused(shelf, tmp_path, name):
    shelf.tarball(tmp_path / "made.tgz", {name: DATA})
    shelf.command("npm", f"cp {tmp_path}/made.tgz x-1.0.tgz\n")
    source = {"kind": "npm", "package": "x", "files": ["**/*"]}
    shelf.add("thing", [source], sha256=shelf.sha_of_folder({"evil": DATA}))
    with pytest.raises(NotFetched, match=r"unsafe name|no file in x matches"):
        fetch(["thing"])


def test_two_files_of_the_same_name_are_refused(shelf, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a").write_bytes(DATA)
    (tmp_path / "mine" / "a.gz").write_bytes(gzip.compress(DATA))
    monkeypatch.setenv("THING", str(tmp_path / "mine"))
    source = {"kind": "env", "variable": "THING", "files": ["a*"], "unpack": "gz"}
    shelf.add("thing", [source], sha256="a" * 64)
    with pytest.raises(NotFetched, match="two files that would be named a"):
        fetch(["thing"])


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("a/*.txt", ["a/b.txt", "a/.txt"], ["a/b/c.txt", "b/a/b.txt", "a/b.txt.gz"]),
        ("a/**/*.txt", ["a/b.txt", "a/b/c/d.txt"], ["a.txt", "aa/b.txt"]),
        ("**/x", ["x", "a/x", "a/b/x"], ["ax", "a/bx"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("a[1].b", ["a[1].b"], ["a1.b", "a[1]xb"]),
    ],
)
def test_globs_stop_at_folders_unless_doubled(glob, yes, no):
    fits = sources.pattern(glob)
    assert all(fits.match(name) for name in yes)
    assert not any(fits.match(name) for name in no)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=1))
def test_parts_are_sorted_by_their_numbers(numbers):
    names = sorted((f"part-{n}.bin" for n in numbers), key=sources.natural)
    assert names == [f"part-{n}.bin" for n in sorted(numbers)]
