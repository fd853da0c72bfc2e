from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from reprise.datasets import fetch as fetching
from reprise.datasets import registry, sources
from reprise.datasets.fetch import NotFetched, fetch

NPM = {"kind": "npm", "package": "things@1.0", "files": ["package/*"]}


@pytest.fixture
def packed(shelf, tmp_path):
    """One asset from a stand-in for npm that writes a line for each call."""
    shelf.tarball(tmp_path / "made.tgz", {"package/a": b"1", "package/b": b"2"})
    shelf.command("npm", f"echo call >> {tmp_path}/calls\ncp {tmp_path}/made.tgz things.tgz\n")
    shelf.add("thing", [NPM], sha256=shelf.sha_of_folder({"a": b"1", "b": b"2"}))
    return tmp_path / "calls"


def _parts(shelf):
    return [p.name for p in (shelf.cache / "assets").glob(".part-*")]


def test_what_is_there_is_not_fetched_again(shelf, packed):
    told = []
    assert fetch(["thing"], progress=lambda *event: told.append(event)) == {
        "thing": "npm things@1.0"
    }
    assert told[0] == ("thing", "trying npm things@1.0")
    assert told[-1][1].startswith("ready, from npm things@1.0")
    assert fetch(["thing", "thing"]) == {"thing": "present"}
    assert packed.read_text() == "call\n"
    assert _parts(shelf) == []


def test_a_wrong_one_is_replaced(shelf, packed):
    fetch(["thing"])
    (registry.asset("thing") / "a").write_bytes(b"x")
    assert registry.state("thing") == "wrong"
    fetch(["thing"])
    assert registry.state("thing") == "present"
    assert _parts(shelf) == []


def test_a_source_with_another_content_is_refused_with_both_hashes_and_the_next_one_tried(
    shelf, packed, tmp_path, monkeypatch
):
    good = shelf.sha_of_folder({"a": b"1", "b": b"2"})
    bad = shelf.sha_of_folder({"a": b"1", "b": b"3"})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a").write_bytes(b"1")
    (tmp_path / "mine" / "b").write_bytes(b"3")
    monkeypatch.setenv("THING", str(tmp_path / "mine"))
    env = {"kind": "env", "variable": "THING", "files": ["*"]}
    shelf.add("other", [env, NPM], sha256=good)
    assert fetch(["other"]) == {"other": "npm things@1.0"}
    shelf.add("third", [env], sha256=good)
    with pytest.raises(NotFetched, match=f"env THING: its content has SHA-256 {bad}, .* {good}"):
        fetch(["third"])
    assert registry.state("third") == "missing"


def test_one_that_fails_does_not_stop_the_others(shelf, packed):
    shelf.add("broken", [{"kind": "env", "variable": "UNSET", "files": ["*"]}], sha256="a" * 64)
    with pytest.raises(NotFetched, match=r"asset 'broken' could not be fetched.*UNSET is not set"):
        fetch(["broken", "thing"])
    assert registry.state("thing") == "present"


def test_an_unknown_name_stops_before_anything_is_fetched(shelf, packed):
    with pytest.raises(ValueError, match="no asset 'nothing'"):
        fetch(["thing", "nothing"])
    assert not shelf.cache.exists()


def test_two_processes_at_once_fetch_once_and_both_have_it(shelf, packed, tmp_path):
    shelf.command("npm", f"echo call >> {packed}\nsleep 0.5\ncp {tmp_path}/made.tgz things.tgz\n")
    script = shelf.RUN + "print(fetch(['thing'])['thing'], registry.asset('thing'))"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", script], env=shelf.env(), stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    told = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert all(str(registry.folder("thing")) in text for text in told)
    assert packed.read_text() == "call\n"
    assert sorted(text.split()[0] for text in told) == ["npm", "present"]
    assert _parts(shelf) == []


def test_waiting_for_another_process_is_told(shelf, packed):
    told = []
    with fetching._locked("thing", lambda *event: None):
        thread = threading.Thread(
            target=fetch, args=(["thing"],), kwargs={"progress": lambda *event: told.append(event)}
        )
        thread.start()
        deadline = time.monotonic() + 30
        while not told and time.monotonic() < deadline:
            time.sleep(0.01)
        assert told == [("thing", "waiting: another process fetches it")]
        assert registry.state("thing") == "missing"
    thread.join()
    assert registry.state("thing") == "present"


@pytest.mark.parametrize("whole_group", [True, False])
def test_a_fetch_that_is_killed_leaves_nothing_half(shelf, packed, tmp_path, whole_group):
    shelf.command("npm", f"echo half > things.tgz\necho $$ > {tmp_path}/npm.pid\nexec sleep 60\n")
    process = subprocess.Popen(
        [sys.executable, "-c", shelf.RUN + "fetch(['thing'])"],
        env=shelf.env(),
        start_new_session=True,
    )
    pid = tmp_path / "npm.pid"
    deadline = time.monotonic() + 60
    while not (pid.exists() and pid.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
    process.wait()
    assert registry.state("thing") == "missing"
    assert len(_parts(shelf)) == 1
    shelf.command("npm", f"cp {tmp_path}/made.tgz things.tgz\n")
    fetch(["thing"])  # no lock is left, and what was half is cleared away
    assert registry.state("thing") == "present"
    assert _parts(shelf) == []
    if not whole_group:
        os.kill(int(pid.read_text()), signal.SIGKILL)


def test_no_space_is_told_in_one_line_and_leaves_nothing_half(shelf, packed, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", full)
        with pytest.raises(NotFetched, match=r"no space left in .*REPRISE_CACHE") as caught:
            fetch(["thing"])
    assert "\n" not in str(caught.value)
    assert _parts(shelf) == []
    assert registry.state("thing") == "missing"


def test_no_space_while_replacing_leaves_the_good_ones(shelf, packed, monkeypatch, tmp_path):
    fetch(["thing"])
    shelf.add("other", [NPM], sha256=shelf.sha_of_folder({"a": b"1", "b": b"2"}))

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(registry, "write_record", full)
    with pytest.raises(NotFetched):
        fetch(["thing", "other"])
    assert (registry.state("thing"), registry.state("other")) == ("present", "missing")


@pytest.mark.parametrize("how", ["a file is in the way", "not allowed"])
def test_a_cache_that_cannot_be_written_is_told_in_one_line(
    shelf, packed, monkeypatch, tmp_path, how
):
    if how == "not allowed":

        def refuse(*arguments, **options):
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(fetching.tempfile, "mkdtemp", refuse)
        words = "no permission to write"
    else:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("REPRISE_CACHE", str(tmp_path / "file" / "cache"))
        words = "a part of the path is a file"
    with pytest.raises(NotFetched, match=f"asset 'thing': {words} in .*REPRISE_CACHE") as caught:
        fetch(["thing"])
    assert "\n" not in str(caught.value)


@pytest.fixture
def step(tmp_path, monkeypatch):
    """A module `reprise.step_for_tests` with a prepare step that counts its calls."""
    import reprise

    folder = tmp_path / "more"
    folder.mkdir()
    source = (
        "import pathlib\n"
        "def upper(content, target):\n"
        f"    with open({str(tmp_path / 'steps')!r}, 'a') as log: log.write('step ')\n"
        "    text = (content / 'a').read_text() + (content / 'b').read_text()\n"
        "    (target / 'sub').mkdir()\n"
        "    (target / 'sub' / 'made').write_text(text * 2)\n"
        "def fails(content, target):\n"
        "    raise KeyError('no tokenizer')\n"
    )
    (folder / "step_for_tests.py").write_text(source)
    monkeypatch.setattr(reprise, "__path__", [*reprise.__path__, str(folder)])
    # The digest of a step's code is read from the package's folder; here it stands elsewhere.
    (folder / "reprise").mkdir()
    (folder / "reprise" / "step_for_tests.py").write_text(source)
    (folder / "reprise" / "closure.py").write_text("")
    monkeypatch.setattr(registry.closure, "__file__", str(folder / "reprise" / "closure.py"))
    yield folder / "reprise" / "step_for_tests.py", tmp_path / "steps"
    sys.modules.pop("reprise.step_for_tests", None)


def test_a_prepare_step_runs_once_and_what_it_made_is_the_asset(shelf, packed, step):
    code, steps = step
    shelf.add(
        "made",
        [NPM],
        sha256=shelf.sha_of_folder({"a": b"1", "b": b"2"}),
        prepare="reprise.step_for_tests:upper",
        file="unused",
    )
    # `file` is the name of the raw content; two files can't be one
    with pytest.raises(NotFetched, match="gave 2 files, one was expected"):
        fetch(["made"])
    shelf.path.write_text(shelf.path.read_text().replace("file = 'unused'\n", ""))
    fetch(["made"])
    fetch(["made"])
    assert steps.read_text() == "step "
    where = registry.asset("made")
    assert (where / "sub" / "made").read_text() == "1212"
    assert not (where / "a").exists()
    (where / "sub" / "made").write_text("1213")
    assert registry.state("made") == "wrong"
    fetch(["made"])
    assert registry.state("made") == "present"
    before = registry.content_hash("made")
    code.write_text("# a comment\n" + code.read_text())
    assert registry.content_hash("made") == before
    code.write_text(code.read_text().replace("text * 2", "text * 3"))
    assert registry.content_hash("made") != before
    assert registry.state("made") == "missing"


def test_a_prepare_step_that_fails_is_named(shelf, packed, step):
    shelf.add(
        "made",
        [NPM],
        sha256=shelf.sha_of_folder({"a": b"1", "b": b"2"}),
        prepare="reprise.step_for_tests:fails",
    )
    with pytest.raises(NotFetched, match="step_for_tests:fails failed: KeyError: 'no tokenizer'"):
        fetch(["made"])
    assert registry.state("made") == "missing"


def test_assets_are_fetched_side_by_side(shelf, tmp_path):
    shelf.tarball(tmp_path / "made.tgz", {"package/a": b"1"})
    # each waits until the other has begun: one after the other they would never end
    shelf.command(
        "npm",
        f"touch {tmp_path}/$4\n"
        f"for i in $(seq 200); do [ -e {tmp_path}/one ] && [ -e {tmp_path}/two ] && break;"
        " sleep 0.02; done\n"
        f"[ -e {tmp_path}/one ] && [ -e {tmp_path}/two ] && cp {tmp_path}/made.tgz things.tgz\n",
    )
    for name in ("one", "two"):
        source = {"kind": "npm", "package": name, "files": ["package/*"]}
        shelf.add(name, [source], sha256=shelf.sha_of_folder({"a": b"1"}))
    assert set(fetch(["one", "two"])) == {"one", "two"}


def test_each_kind_of_source_has_a_function():
    assert set(sources._GET) == set(registry.KINDS)
