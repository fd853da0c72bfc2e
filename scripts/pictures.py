"""Make the pictures of the book itself from the built site: run after `make book`, by hand.

`book/_static/social.png` is what previews of shared links show, `.github/book.png` stands in the
README. Both are drawn from the site, so that they show what readers get.
"""

from __future__ import annotations

import html
from pathlib import Path

from reprise.pipeline import chromium

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
# Without the sidebar and the theme's buttons, which say nothing on a picture.
BARE = (
    ".bd-sidebar-primary, .bd-sidebar-secondary, .bd-header-article, .sbt-scroll-pixel-helper,"
    " .prev-next-footer, .bd-footer-content { display: none !important }"
    " .bd-article-container { max-width: 100% !important }"
)
SOCIAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; width: 1200px; height: 630px; box-sizing: border-box; padding: 72px 80px;
  font: 30px/1.4 system-ui, sans-serif; color: #1d2126; background: #fff;
  border-left: 24px solid #0072b2; display: grid; grid-template-columns: 1fr 440px; gap: 56px;
  align-items: center; }}
h1 {{ font-size: 92px; margin: 0 0 24px; letter-spacing: -0.02em; }}
p {{ margin: 0; color: #4a5058; }}
img {{ width: 440px; }}
</style><div><h1>Reprise</h1><p>{text}</p></div><div>{figure}</div>"""
TEXT = (
    "ICLR 2025 papers, played again: one executable chapter each, every claim judged by a rule "
    "that was fixed before the run."
)


def social(browser: object) -> None:
    """Draw the preview of shared links: the book's name and the first chapter's key figure."""
    page = browser.new_page(viewport={"width": 1200, "height": 630})
    page.goto((SITE / "index.html").as_uri())
    source = page.locator(".reprise-card img").first.evaluate("picture => picture.src")
    page.goto((SITE / "claims.json").as_uri())  # a page of the site's folder, to load pictures from
    figure = f'<img src="{html.escape(source)}">'
    page.set_content(SOCIAL.format(text=html.escape(TEXT), figure=figure))
    page.wait_for_function("document.images[0].complete && document.images[0].naturalWidth > 0")
    page.screenshot(path=ROOT / "book" / "_static" / "social.png")


def book(browser: object) -> None:
    """Draw the picture of the README: front page and scorecard, one below the other."""
    context = browser.new_context(viewport={"width": 1180, "height": 760}, device_scale_factor=1.5)
    page = context.new_page()
    shots = []
    for name in ("index.html", "book/scorecard.html"):
        page.goto((SITE / name).as_uri())
        page.add_style_tag(content=BARE)
        page.evaluate("Array.from(document.images).forEach(i => i.loading = 'eager')")
        page.wait_for_function("Array.from(document.images).every(i => i.complete)")
        shots.append(page.screenshot())
    import io

    from PIL import Image

    parts = [Image.open(io.BytesIO(shot)).convert("RGB") for shot in shots]
    whole = Image.new("RGB", (parts[0].width, sum(part.height for part in parts)), "white")
    top = 0
    for part in parts:
        whole.paste(part, (0, top))
        top += part.height
    whole.quantize(128).save(ROOT / ".github" / "book.png", optimize=True)


def main() -> None:
    """Make both."""
    if not (SITE / "index.html").is_file():
        raise SystemExit("there is no site yet: run `make book` first")
    with chromium.browser() as browser:
        social(browser)
        book(browser)


if __name__ == "__main__":
    main()
