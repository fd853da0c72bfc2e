"""The repository's own files: workflows, templates, citation, licences, Binder, dev container."""

import importlib.util
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from reprise.claims import PARTS

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), flags=re.M))
PINS = {
    "actions/checkout": "3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
    "actions/setup-python": "5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0",
    "actions/cache": "27d5ce7f107fe9357f9df03efb73ab90386fccae # v5.0.5",
    "actions/upload-artifact": "bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0",
    "actions/upload-pages-artifact": "fc324d3547104276b827a68afc52ff2a11cc49c9 # v5.0.0",
    "actions/deploy-pages": "cd2ce8fcbc39b97be8ca5fce6e763baed58fa128 # v5.0.0",
}


def load(path):
    return yaml.safe_load(path.read_text())


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_there_are_the_three_workflows():
    assert [path.stem for path in WORKFLOWS] == ["ci", "full", "publish"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_with_the_version_beside(path):
    used = re.findall(r"uses: (\S+)@(\S+ # \S+)$", path.read_text(), flags=re.M)
    assert len(used) == path.read_text().count("uses:") > 0
    for action, pin in used:
        assert PINS[action] == pin


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_least_permissions_and_end(path):
    workflow = load(path)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 350
        granted = {name for name, level in job["permissions"].items() if level == "write"}
        assert granted <= {"pages", "id-token", "issues"}
        if granted:  # a job that may write runs no code of the repository
            assert not any("checkout" in step.get("uses", "") for step in job["steps"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_checkouts_have_the_history_and_keep_no_credentials(path):
    found = [step for step in steps(load(path)) if "checkout" in step.get("uses", "")]
    assert found
    for step in found:
        assert step["with"] == {"fetch-depth": 0, "persist-credentials": False}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_expression_of_a_run_ends_in_a_shell(path):
    for step in steps(load(path)):
        assert "${{" not in step.get("run", ""), "pass it through `env`, else a name can run code"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_use_targets_and_files_that_exist(path):
    text = path.read_text()
    used = set(re.findall(r"\bmake ([a-z]+)", text))
    assert used
    assert used <= TARGETS
    for name in re.findall(r"(?:hashFiles\('|python3 )([\w./-]+)", text):
        assert (ROOT / name).is_file(), name


def test_ci_tests_builds_and_verifies_with_a_browser():
    workflow = load(ROOT / ".github/workflows/ci.yml")
    job = workflow["jobs"]["book"]
    order = [step["run"] for step in job["steps"] if step.get("run", "").startswith("make")]
    assert order == ["make setup", "make test", "make book", "make verify"]
    assert job["env"]["REPRISE_BROWSER"] == "required"


def test_the_matrix_of_the_full_runs_comes_from_the_chapters(verdicts):
    listing = [{"slug": "one"}, {"slug": "two"}]
    assert verdicts.slugs(listing) == ["one", "two"]
    assert verdicts.slugs(listing, "two") == ["two"]
    with pytest.raises(SystemExit, match="no chapter 'three'; there are one, two"):
        verdicts.slugs(listing, "three")


@pytest.fixture(scope="module")
def verdicts():
    spec = importlib.util.spec_from_file_location("v", ROOT / ".github/scripts/verdicts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def claims(**verdicts):
    return {
        "slug": "one",
        "claims": [
            {"id": name, "verdict": verdict, "reason": f"{name} | why"}
            for name, verdict in verdicts.items()
        ],
    }


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"C1": "reproduced"}, {"C1": "reproduced"}, []),
        ({"C1": "reproduced"}, {"C1": "partly"}, [("C1", "reproduced", "partly", "C1 | why")]),
        ({}, {"C10": "partly"}, [("C10", "no verdict", "partly", "C10 | why")]),
        ({"C2": "partly"}, {}, [("C2", "partly", "no verdict", "")]),
    ],
    ids=["same", "moved", "new", "gone"],
)
def test_a_moved_verdict_is_told(verdicts, tmp_path, before, after, found):
    assert verdicts.moved(claims(**before), claims(**after)) == found
    old, new, report = (tmp_path / name for name in ("old.json", "new.json", "made/moved.md"))
    old.write_text(json.dumps(claims(**before)))
    new.write_text(json.dumps(claims(**after)))
    verdicts.main(["compare", str(old), str(new), "--report", str(report)])
    text = report.read_text()
    assert bool(text) == bool(found)
    for row in found:
        assert f"| {row[0]} | {row[1]} | {row[2]} |" in text


def test_without_stored_verdicts_all_are_new(verdicts, tmp_path):
    new = tmp_path / "new.json"
    new.write_text(json.dumps(claims(C1="partly")))
    report = tmp_path / "moved.md"
    verdicts.main(["compare", str(tmp_path / "none.json"), str(new), "--report", str(report)])
    assert "no verdict | partly" in report.read_text()


def test_the_real_claims_have_what_the_weekly_run_compares(verdicts):
    stored = sorted((ROOT / "data/results").glob("*/full/claims.json"))
    assert stored
    for path in stored:
        document = json.loads(path.read_text())
        assert verdicts.moved(document, document) == []
        assert len(verdicts.moved({}, document)) == len(document["claims"])


def test_issue_templates_ask_for_what_is_needed():
    titles = {}
    for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        form = load(path)
        if path.name == "config.yml":
            continue
        titles[form["name"]] = form
        ids = [field["id"] for field in form["body"]]
        assert len(ids) == len(set(ids))
        for field in form["body"]:
            assert field["type"] in {"input", "textarea", "dropdown"}
            assert field["attributes"]["label"]
    assert set(titles) == {"This claim doesn't hold for me", "New chapter"}
    options = {f["id"]: f["attributes"].get("options") for f in titles["New chapter"]["body"]}
    assert tuple(options["part"]) == PARTS


def test_the_citation_agrees_with_the_package():
    citation = load(ROOT / "CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"] == "MIT"
    assert citation["authors"] == [{"name": "The Reprise authors"}]
    for name in ("cff-version", "message", "title", "date-released"):
        assert citation[name]


def test_the_licences_are_there():
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert "CC BY 4.0" in (ROOT / "LICENSE-prose.md").read_text()


def test_binder_and_the_dev_container_use_what_exists():
    folder = ROOT / ".binder"
    for name in re.findall(r"^-[rc] (\S+)$", (folder / "requirements.txt").read_text(), flags=re.M):
        assert (folder / name).resolve().is_file()
    assert (folder / "postBuild").stat().st_mode & 0o100, "Binder runs it"
    assert list(ROOT.glob(".jupyter/labconfig/*.json"))
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert "make setup" in container["postCreateCommand"]
    minor = re.search(r"python:(\d+\.\d+)", container["image"])[1]
    assert (folder / "runtime.txt").read_text().strip() == f"python-{minor}"


@pytest.mark.parametrize(
    ("name", "least", "used_in"),
    [
        ("book/_static/social.png", (1200, 630), "src/reprise/sphinx_ext.py"),
        (".github/book.png", (800, 800), "README.md"),
    ],
)
def test_the_pictures_of_the_book_are_there(name, least, used_in):
    head = (ROOT / name).read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(head[start : start + 4], "big") for start in (16, 20))
    assert width >= least[0]
    assert height >= least[1]
    assert name.rsplit("/", 1)[1] in (ROOT / used_in).read_text()
