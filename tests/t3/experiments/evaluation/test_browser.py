"""The report in a real browser."""

import html
import json
import re
import subprocess

import pytest

from t3.experiments.evaluation.figures import FIGURES, draw_figures
from t3.experiments.evaluation.page import origin, page, report
from tests.support.browser import Browser
from tests.support.example_study import example_study
from tests.support.optional_tools import needs

pytestmark = pytest.mark.verify

_SMALLEST_TEXT_PX = 12
# Measures of the page as readers see it, added to the document; folded parts are opened.
_PROBE = """
<script>
addEventListener("load", async () => {
  document.querySelectorAll("details").forEach(one => one.open = true);
  const images = [...document.images];
  await Promise.all(images.map(one => one.decode().catch(() => null)));
  const sizes = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() && parent.getClientRects().length)
      sizes.set(parent.tagName, Math.min(sizes.get(parent.tagName) ?? 1e9,
                                         parseFloat(getComputedStyle(parent).fontSize)));
  }
  const page = document.documentElement;
  const found = {
    images: images.map(one => [one.alt, one.complete, one.naturalWidth, one.clientWidth]),
    width: page.scrollWidth, inner: innerWidth, height: page.scrollHeight,
    sizes: Object.fromEntries(sizes),
    cut: [...document.querySelectorAll("main *")]
      .filter(one => !one.closest(".table, figure, pre") && one.scrollWidth > one.clientWidth + 1
                     && one.clientWidth)
      .map(one => one.tagName + ": " + one.textContent.slice(0, 40)),
  };
  const box = document.createElement("pre");
  box.id = "probe";
  box.textContent = JSON.stringify(found);
  document.body.append(box);
});
</script>
"""


@pytest.fixture(scope="module")
def chromium():
    return needs("chromium")


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    study = example_study()
    draw_figures(study, folder)
    return report(page(study, origin(), "figures", is_whole=True), folder, "asplos24")


def look(chromium, text, folder, width):
    """Load a page; returns the measures and the lines of the console."""
    file = folder / "report.html"
    file.write_text(text.replace("</body>", f"{_PROBE}</body>"), encoding="utf-8")
    command = [
        *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        *(f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900"),
        *("--virtual-time-budget=20000", "--enable-logging=stderr", "--dump-dom", file.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, f"the page did not finish loading\n{done.stderr[-2000:]}"
    return json.loads(html.unescape(found[1])), re.findall(r".*CONSOLE.*", done.stderr)


@pytest.mark.parametrize("width", [1280, 1440])
def test_report_in_the_browser(chromium, document, tmp_path, width):
    found, console = look(chromium, document, tmp_path, width)
    assert console == []
    assert found["inner"] == width
    assert len(found["images"]) == len(FIGURES)
    for alt, complete, natural, shown in found["images"]:
        assert complete and natural > 500 and shown > 500, alt
    assert found["width"] <= width, "the page scrolls sideways"
    assert found["cut"] == []
    assert min(found["sizes"].values()) >= _SMALLEST_TEXT_PX, found["sizes"]
    assert found["height"] > 5000


def test_report_on_a_phone(chromium, document, tmp_path):
    found, console = look(chromium, document, tmp_path, 500)  # the narrowest that Chromium does
    assert console == [] and found["width"] <= found["inner"]
    assert min(found["sizes"].values()) >= _SMALLEST_TEXT_PX, found["sizes"]


@pytest.mark.parametrize("style", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 800, 1280])
def test_report_can_be_read(document, tmp_path, width, style):
    (tmp_path / "report.html").write_text(document, encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        browser.show((tmp_path / "report.html").as_uri(), width=width, style=style)
        assert browser.messages == []
        assert browser.measure("beyond") == [False]
        assert browser.measure("tall") == []
        pale = [text for text, contrast in browser.measure("contrasts") if contrast < 4.5]
        assert pale == []


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("</main>", "<script>console.error('wrong')</script></main>", "console"),
        ("data:image/png;base64,", "data:image/png;base64,AAAA", "images"),
        ("</main>", "<div style='width: 3000px'>wide</div></main>", "width"),
        ("</main>", "<p style='font-size: 8px'>small</p></main>", "sizes"),
    ],
)
def test_the_browser_sees_what_is_wrong(chromium, document, tmp_path, old, new, seen):
    assert old in document
    found, console = look(chromium, document.replace(old, new, 1), tmp_path, 1280)
    wrong = {
        "console": bool(console),
        "images": any(natural == 0 for _, _, natural, _ in found["images"]),
        "width": found["width"] > 1280,
        "sizes": min(found["sizes"].values()) < _SMALLEST_TEXT_PX,
    }
    assert [name for name, is_wrong in wrong.items() if is_wrong] == [seen]
