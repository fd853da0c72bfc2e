"""The book's chapters: where their parts are, their parameters and configs, and what can't run.

Everything here is light (no papermill, jupytext or torch): the second `make book`, which does
nothing, goes through it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import yaml

from reprise import paths
from reprise.pipeline.byfile import load
from reprise.pipeline.cells import Parameter, UserError, close, code_cells, merge, parameters

__all__ = ["Chapter", "Parameter", "UserError", "chapter", "chapters", "check"]

SLUG = re.compile(r"^[a-z][a-z0-9_]*$")
EXPERIMENT = re.compile(r"^[eb]\d+[a-z0-9_]*$")
MIN_FREE = 200_000_000  # bytes: less would fill up in the middle of a run


@dataclass(frozen=True)
class Chapter:
    """One paper's chapter in the repository `root`."""

    slug: str
    root: Path

    @property
    def source(self) -> Path:
        """The notebook, `book/<slug>.md`."""
        return self.root / "book" / f"{self.slug}.md"

    @property
    def package(self) -> Path:
        """The paper's code, `src/reprise/<slug>`."""
        return self.root / "src" / "reprise" / self.slug

    def profile_file(self, profile: str) -> Path:
        """Return where a profile's overrides stand; quick is the notebook's own defaults."""
        return self.root / "book" / "profiles" / f"{self.slug}.{profile}.yml"

    def code_cells(self) -> list[tuple[str, dict[str, object]]]:
        """Return (source, metadata) of the notebook's code cells, in order.

        Raises
        ------
        UserError
            When the notebook is missing or a cell's options aren't YAML.
        """
        try:
            return list(_cells(self.source.read_text()))
        except OSError as error:
            raise UserError(f"{self._name(self.source)}: {error.strerror}") from None
        except yaml.YAMLError as error:
            raise UserError(
                f"{self._name(self.source)}: a code cell's options: {_one(error)}"
            ) from None

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters of the notebook's cell tagged `parameters`.

        Raises
        ------
        UserError
            When there is no such cell, or not just one, or it declares no `profile`.
        """
        where = self._name(self.source)
        tagged = [text for text, meta in self.code_cells() if "parameters" in meta.get("tags", [])]
        if len(tagged) != 1:
            count = "no cell" if not tagged else f"{len(tagged)} cells"
            raise UserError(f"{where}: {count} tagged `parameters`: give one cell that tag")
        found = parameters(tagged[0], where)
        profile = found.get("profile")
        if profile is None or profile.default != "quick" or profile.type != "str":
            raise UserError(f'{where}: the parameters cell needs the line `profile: str = "quick"`')
        return found

    def profiles(self) -> list[str]:
        """Return the profiles that this chapter has: quick, and one per profile file."""
        files = self.profile_file("*")
        names = sorted(p.name.split(".")[1] for p in files.parent.glob(files.name))
        return ["quick", *(name for name in names if name != "quick")]

    def profile(
        self, name: str, overrides: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        """Return a profile's parameters: defaults, then the profile's file, then `overrides`.

        Raises
        ------
        UserError
            For an unknown profile, an unknown parameter, or a value of the wrong type.
        """
        declared = self.parameters()
        path = self.profile_file(name)
        own: dict[str, object] = {}
        if name != "quick":
            if not path.is_file():
                raise UserError(
                    f"{self.slug} has no profile {name!r}: {close(name, self.profiles())}"
                )
            own = self._read_profile(path, name)
        values = merge(declared, own, self._name(path))
        values["profile"] = name
        if overrides:
            if overrides.get("profile", name) != name:
                raise UserError("`profile` is chosen by --profile, not as a parameter")
            values = {**values, **_only(merge(declared, overrides, self.slug), overrides)}
        return values

    def _read_profile(self, path: Path, name: str) -> dict[str, object]:
        try:
            own = yaml.safe_load(path.read_text()) or {}
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise UserError(f"{self._name(path)} is not YAML: {_one(error)}") from None
        if not isinstance(own, dict):
            raise UserError(f"{self._name(path)} must hold lines `parameter: value`")
        if own.get("profile") != name:
            raise UserError(f"{self._name(path)} needs the line `profile: {name}`")
        return own

    def configs(
        self, profile: str, overrides: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        """Return experiment -> frozen config of a profile, without running the notebook.

        Raises
        ------
        UserError
            When a config refuses a parameter; names it.
        """
        values = self.profile(profile, overrides)
        path = self.package / "experiments" / "configs.py"
        where = f"{self.slug}, profile {profile}"
        try:
            return dict(load(path).configs(values))
        except ValueError as error:
            raise UserError(f"{where}: {error}") from None
        except KeyError as error:
            raise UserError(
                f"{where}: configs() asks for the parameter {error}, which the parameters cell "
                "doesn't declare"
            ) from None
        except OSError as error:
            raise UserError(f"{self._name(path)}: {error.strerror}") from None
        except Exception as error:
            raise UserError(f"{self._name(path)}: {type(error).__name__}: {_one(error)}") from None

    def experiments(self) -> list[str]:
        """Return the names of the experiments' modules: e1, e2, ..., b1, ..."""
        folder = self.package / "experiments"
        names = [p.stem for p in folder.glob("*.py") if EXPERIMENT.match(p.stem)]
        return sorted(names, key=lambda n: (n[0] != "e", int(re.search(r"\d+", n)[0]), n))

    def load(self, module: str) -> ModuleType:
        """Return a module of this paper (such as `claims`), loaded from this repository."""
        return load(self.package.joinpath(*module.split(".")).with_suffix(".py"))

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


@lru_cache(maxsize=64)
def _cells(text: str) -> tuple[tuple[str, dict[str, object]], ...]:
    return tuple(code_cells(text))


def toc(root: Path) -> list[str]:
    """Return the documents of `_toc.yml` in order, the front page first."""
    return list(documents(contents(root)))


def contents(root: Path) -> object:
    """Return what `_toc.yml` holds.

    Raises
    ------
    UserError
        When it isn't there or isn't YAML.
    """
    try:
        return yaml.safe_load((root / "_toc.yml").read_text())
    except OSError as error:
        raise UserError(f"_toc.yml: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise UserError(f"_toc.yml is not YAML: {_one(error)}") from None


def repository(root: Path) -> dict[str, str]:
    """Return `url` and `branch` of the repository as `_config.yml` has them; both may be ""."""
    try:
        found = (yaml.safe_load((root / "_config.yml").read_text()) or {}).get("repository") or {}
    except (OSError, yaml.YAMLError, AttributeError):
        found = {}
    return {name: str(found.get(name) or "") for name in ("url", "branch")}


def documents(node: object) -> Iterable[str]:
    """Yield the files that a parsed table of contents names, in order."""
    if isinstance(node, dict):
        for key in ("root", "file"):
            if key in node:
                yield str(node[key])
        for value in node.values():
            yield from documents(value)
    elif isinstance(node, list):
        for value in node:
            yield from documents(value)


def chapters(root: Path) -> list[Chapter]:
    """Return the chapters in the order of `_toc.yml`: entries `book/<slug>` with a package."""
    found = []
    for document in toc(root):
        folder, _, slug = document.partition("/")
        item = Chapter(slug, root)
        if folder == "book" and SLUG.match(slug) and item.package.is_dir():
            found.append(item)
    return found


def chapter(root: Path, slug: str) -> Chapter:
    """Return one chapter.

    Raises
    ------
    UserError
        When the book has no such chapter; names the closest.
    """
    known = {item.slug: item for item in chapters(root)}
    if slug not in known:
        raise UserError(f"there is no chapter {slug!r} in _toc.yml: {close(slug, known)}")
    return known[slug]


# --- before work starts ----------------------------------------------------------------------


def check(
    root: Path,
    slugs: Iterable[str] = (),
    *,
    profile: str = "quick",
    experiments: Iterable[str] = (),
    overrides: Mapping[str, object] | None = None,
    stores: bool = False,
    claims: bool = True,
) -> list[Chapter]:
    """Return the chapters that were asked for (none named: all), or stop before any work.

    Parameters
    ----------
    root : the repository
    slugs, profile, experiments, overrides : what is to be run
    stores : whether `data/results` will be written
    claims : whether to check that every claim's rule has its estimates (imports claims modules)

    Raises
    ------
    UserError
        One line: unknown slug, profile or experiment, a wrong parameter, a notebook without a
        parameters cell, a claim whose estimate no experiment makes, no permission or no space
        to write, an unreachable Dask scheduler. Nothing is written.
    """
    slugs = list(slugs)
    chosen = [chapter(root, slug) for slug in dict.fromkeys(slugs)] if slugs else chapters(root)
    for item in chosen:
        configs = item.configs(profile, overrides)
        known = item.experiments()
        for name in experiments:
            if name not in known:
                raise UserError(f"{item.slug} has no experiment {name!r}: {close(name, known)}")
            if name not in configs:
                raise UserError(f"{item.slug} doesn't run {name} in the profile {profile!r}")
        if lacking := [name for name in configs if name not in known]:
            raise UserError(
                f"{item.slug}: configs() names {lacking[0]!r}, but there is no "
                f"src/reprise/{item.slug}/experiments/{lacking[0]}.py"
            )
        if claims:
            check_claims(item)
    for folder in (
        root / "_build",
        paths.cache(),
        *([root / "data" / "results"] if stores else []),
    ):
        check_writable(folder, root)
    check_scheduler()
    return chosen


def check_claims(item: Chapter) -> None:
    """Raise `UserError` when a claim's rule asks for an estimate that no experiment makes."""
    from reprise import claims

    path = item.package / "claims.py"
    where = path.relative_to(item.root).as_posix()
    try:
        module = item.load("claims")
        claims.check(module.CLAIMS, module.MEASURES, item.experiments())
    except OSError as error:
        raise UserError(f"{where}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{where}: {_one(error)}") from None
    except Exception as error:
        raise UserError(f"{where}: {type(error).__name__}: {_one(error)}") from None


def check_writable(folder: Path, root: Path) -> None:
    """Raise `UserError` unless a folder can be made and written, with some space left."""
    name = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)
    known = " (REPRISE_CACHE)" if folder == paths.cache() else ""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise UserError(f"can't write to {name}{known}: {place.name} is not a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UserError(f"can't write to {name}{known}: no permission; change it or its owner")
    free = shutil.disk_usage(place).free
    if free < MIN_FREE:
        raise UserError(
            f"no space for {name}{known}: {free / 1e6:.0f} MB free, {MIN_FREE / 1e6:.0f} MB "
            "needed; make some (`make clean` removes _build)"
        )


def check_scheduler() -> None:
    """Raise `UserError` when `DASK_SCHEDULER_ADDRESS` is set and nothing answers there."""
    if address := os.environ.get("DASK_SCHEDULER_ADDRESS"):
        from reprise import sweep

        try:
            sweep.check_scheduler(address)
        except sweep.Unreachable as error:
            raise UserError(str(error)) from None


def _only(values: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    return {name: values[name] for name in names}


def _one(error: object) -> str:
    """Return an error's text on one line."""
    return " ".join(str(error).split())
