"""Check of a built site: every link, picture and style inside it leads to a file or an anchor."""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Targets of a page's links, and its anchors."""

    def __init__(self, path: Path):
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def dead_links(site: Path) -> Iterator[str]:
    """Yield every dead link of a site, after its page."""
    pages = {path: _Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for target in page.targets:
            link = urlsplit(target)
            if link.scheme or link.netloc:
                continue
            leads_to = (path.parent / unquote(link.path)).resolve() if link.path else path
            anchor = unquote(link.fragment)
            known = pages.get(leads_to)
            if not leads_to.exists() or (anchor and known and anchor not in known.anchors):
                yield f"{path.relative_to(site)}: {target}"


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    found = list(dead_links(site))
    for line in found:
        print(line)
    print(f"{site}: {len(found)} dead links")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
