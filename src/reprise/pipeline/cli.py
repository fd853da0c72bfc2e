"""The command `reprise`: a thin layer over the pipeline's modules, imported when asked for.

Exit status: 0, 1 for a failed run or comparison, 2 for wrong use (one line says what).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from reprise import paths
from reprise.pipeline.cells import UserError

app = typer.Typer(
    name="reprise",
    help="Reprise: run the book's chapters, build it, verify it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Slug = Annotated[str, typer.Argument(help="The chapter, such as fsgdm.")]
Slugs = Annotated[list[str], typer.Argument(help="Chapters, such as fsgdm.")]
MaybeSlug = Annotated[str | None, typer.Argument(help="One chapter (default: all).")]
MaybeSlugs = Annotated[list[str] | None, typer.Argument(help="Chapters (default: all).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Profile = Annotated[str, typer.Option(help="quick or full.")]
Port = Annotated[int, typer.Option(help="The port; 0 takes any free one.")]


def _root() -> Path:
    return paths.root()


def _done(code: int | bool | None) -> None:
    """Leave with a status; True and None are success."""
    code = int(not code) if isinstance(code, bool) else int(code or 0)
    if code:
        raise typer.Exit(code)


def show(rows: list[dict[str, Any]], as_json: bool = False, title: str = "") -> None:
    """Print rows as a table, or as JSON."""
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False, default=str))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        values = (row.get(name) for name in names)
        table.add_row(*("" if v is None else _cell(v) for v in values))
    # A CI log has no width of its own: 80 would break every line.
    Console(width=None if sys.stdout.isatty() else 140, markup=False, highlight=False).print(table)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


# --- the book ---------------------------------------------------------------------------------


@app.command("list")
def list_(json: Json = False) -> None:
    """List the chapters: slug, title, part, profiles, experiments."""
    from reprise.pipeline import status

    show(status.listing(_root()), json)


@app.command()
def book(
    fresh: Annotated[bool, typer.Option(help="Run every chapter, stale or not.")] = False,
) -> None:
    """Make the book: run stale chapters side by side, leave the site in _build/html."""
    from reprise.pipeline import runner

    _done(runner.make_book(_root(), fresh=fresh))


@app.command()
def pdf() -> None:
    """Make the book, and print it to _build/reprise.pdf with Chromium."""
    from reprise.pipeline import pdf as pdf_module
    from reprise.pipeline import runner

    _done(runner.make_book(_root()))
    pdf_module.make(_root())


@app.command()
def run(
    slugs: Slugs,
    fresh: Annotated[bool, typer.Option(help="Also when nothing has changed.")] = False,
    profile: Profile = "quick",
) -> None:
    """Run chapters alone; their notebooks are left in _build/run."""
    from reprise.pipeline import book as book_module
    from reprise.pipeline import runner

    for slug in slugs:
        book_module.chapter(_root(), slug).profile(profile)
    _done(runner.run_chapters(_root(), slugs, profile=profile, fresh=fresh))


@app.command()
def full(
    slug: Slug,
    experiment: Annotated[
        list[str] | None, typer.Option("-e", "--experiment", help="Only this one, such as e3.")
    ] = None,
) -> None:
    """Run a chapter's full profile and store its results in data/results/<slug>/full."""
    from reprise.pipeline import full as full_module

    _done(full_module.run_full(_root(), slug, experiments=experiment or []))


@app.command("try")
def try_(
    slug: Slug,
    parameters: Annotated[
        list[str] | None, typer.Argument(help="Changed parameters: n_seeds=3 c=0.1")
    ] = None,
) -> None:
    """Run a chapter with changed parameters in a folder of its own; stored results stay."""
    from reprise.pipeline import tryout

    _done(tryout.attempt(_root(), slug, parameters or []))


@app.command()
def status(json: Json = False) -> None:
    """Say of each chapter: stale or fresh and why, verdicts, stored results, time and memory."""
    from reprise.pipeline import status as status_module

    status_module.report(_root(), as_json=json)


@app.command()
def verify(slugs: MaybeSlugs = None) -> None:
    """Compare fresh quick results with the stored reference; exit 1 when anything failed."""
    from reprise.pipeline import verify as verify_module

    _done(verify_module.verify(_root(), slugs or []))


@app.command()
def accept(
    slug: Slug, why: Annotated[str, typer.Option(help="The reason; it is stored and shown.")]
) -> None:
    """Take a chapter's fresh quick results as the new reference."""
    from reprise.pipeline import accept as accept_module

    _done(accept_module.accept(_root(), slug, why))


@app.command()
def new(
    slug: Slug,
    part: Annotated[str, typer.Option(help="The part of the book, such as privacy.")],
    title: Annotated[str, typer.Option(help="The paper's title.")],
) -> None:
    """Scaffold a chapter: six rooms that pass lint and tests and build at once."""
    from reprise.pipeline import scaffold

    made = scaffold.new(_root(), slug, part, title)
    for path in made:
        print(path.relative_to(_root()).as_posix())


@app.command()
def claims(slug: MaybeSlug = None, json: Json = False) -> None:
    """Show each claim with its headline verdict and which run it comes from."""
    from reprise.pipeline import status as status_module

    show(status_module.claims(_root(), slug), json)


@app.command()
def assets(
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Fetch the named ones (or those of --for).")
    ] = False,
    names: Annotated[list[str] | None, typer.Argument(help="Assets (default: all).")] = None,
    used_by: Annotated[
        list[str] | None,
        typer.Option("--for", help="Those of a chapter and profile (fsgdm:quick), or of tests."),
    ] = None,
    json: Json = False,
) -> None:
    """List data and weights with state, size and licence; with --fetch, fetch them."""
    from reprise.pipeline import assets as assets_module

    _done(assets_module.command(_root(), names or [], used_by or [], fetch=fetch, as_json=json))


@app.command()
def bench(slug: MaybeSlug = None) -> None:
    """Time our code against its peers, side by side; one table."""
    from reprise.pipeline import bench as bench_module

    _done(bench_module.bench(_root(), slug))


# --- looking at it ----------------------------------------------------------------------------


@app.command()
def lab(
    port: Port = 8888,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Start JupyterLab; a chapter opens as a notebook and saves back to its .md."""
    from reprise.pipeline import serve

    serve.lab(_root(), port, browser=browser)


@app.command()
def serve(port: Port = 8000) -> None:
    """Serve the finished book on this machine."""
    from reprise.pipeline import serve as serve_module

    serve_module.serve(_root(), port)


@app.command()
def clean() -> None:
    """Remove _build; stored results and the cache stay."""
    import shutil

    shutil.rmtree(_root() / "_build", ignore_errors=True)


def main() -> None:
    """Run the command; user errors are one line on stderr and exit status 2."""
    # typer brings its own click, so that there is no public name for it.
    from typer._click.exceptions import ClickException

    try:
        code = app(standalone_mode=False)
        if code == 130:  # typer turns an interrupt into its exit status without a word
            _complain("interrupted", 130)
    except typer.Exit as stop:
        code = stop.exit_code
    except (UserError, paths.NoRepository) as error:
        code = _complain(str(error), 2)
    except ClickException as error:
        message = error.format_message()  # empty when the help was shown instead
        code = _complain(f"{message} (see reprise --help)", 2) if message else 2
    except (KeyboardInterrupt, typer.Abort):
        code = _complain("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if type(error).__name__ != "Corrupt":  # results.Corrupt: not imported on the quick path
            raise
        code = _complain(str(error), 1)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(text: str, code: int) -> int:
    print(f"reprise: {' '.join(text.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
