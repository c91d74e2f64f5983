"""The documents of this repository, and what tests look for in them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

_FENCE: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Page:
    """One Markdown file. fences: (language, content) in order; prose: the text without them."""

    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def fences(self) -> list[tuple[str, str]]:
        return _FENCE.findall(self.text)

    @property
    def prose(self) -> str:
        return _FENCE.sub("", self.text)

    @property
    def code(self) -> list[str]:
        """What stands between single backticks."""
        return _CODE.findall(self.prose)

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def section(self, heading: str) -> str:
        """The text below `## heading`, up to the next heading of that level."""
        return self.text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]

    def fences_of(self, heading: str, language: str) -> list[str]:
        return [content for kind, content in _FENCE.findall(self.section(heading)) if kind == language]

    def anchors(self) -> set[str]:
        """The anchors that a forge makes of the headings."""
        headings = re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}

    def rows(self, heading: str) -> list[list[str]]:
        """The cells of the table below a heading, without its head."""
        lines = [line for line in self.section(heading).splitlines() if line.startswith("|")]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


README: Final = Page(ROOT / "README.md")
LIFECYCLE: Final = Page(ROOT / "docs/lifecycle.md")
OPERATIONS: Final = Page(ROOT / "docs/operations.md")
ARCHITECTURE: Final = Page(ROOT / "docs/architecture.md")
ALL: Final = tuple(map(Page, PAGES))
