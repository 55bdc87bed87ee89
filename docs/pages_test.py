"""The pages hold together: README names every page, and every link between them leads somewhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

PAGES = sorted(path.as_posix() for path in Path("docs").glob("*.md"))
_LINK = re.compile(r"\]\(([^)#:\s]+\.md)(?:#[^)]*)?\)")


def links(page: str) -> list[str]:
    """Pages that a page links to, relative to the workspace."""
    found = _LINK.findall(Path(page).read_text("utf-8"))
    paths = [os.path.normpath(os.path.join(os.path.dirname(page), link)) for link in found]
    return [path for path in paths if path.startswith("docs/")]


def test_readme_names_every_page() -> None:
    assert PAGES
    assert sorted(set(PAGES) - set(links("README.md"))) == []


@pytest.mark.parametrize("page", ["README.md", *PAGES])
def test_links_between_pages_lead_somewhere(page: str) -> None:
    assert sorted(set(links(page)) - set(PAGES)) == []
