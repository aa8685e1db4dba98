"""What the README shows is what happens: its Python session and its terminal session are run."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from anabranch.cli.main import run as ana
from tests import commands_page, reference_page
from tests.architecture import HEIGHT

ROOT = Path(__file__).parent.parent


def blocks(language: str, page: str = "README.md") -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/sql.md", "docs/cookbook.md", "docs/files.md"])
def test_the_python_session_prints_what_the_page_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = "\n".join(b for b in blocks("python", page) if b.startswith(">>>"))
    example = doctest.DocTestParser().get_doctest(session, {}, page, page, 0)
    found = doctest.DocTestRunner(verbose=False).run(example)
    assert found.attempted >= 8
    assert found.failed == 0


def test_the_terminal_session_prints_what_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    (session,) = blocks("console")
    steps = re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]
    assert len(steps) >= 8
    for step in steps:
        command, _, expected = step.partition("\n")
        code = run(command)
        printed = capfd.readouterr()
        assert code == 0, printed.err
        assert plain(printed.out, tmp_path) == plain(expected, tmp_path), command


def run(command: str) -> int:
    """Run a line of a shell; `ana` in this process, where it has not to be loaded each time."""
    program, *words = shlex.split(command)
    return ana(words) if program == "ana" else subprocess.run(["sh", "-c", command], check=False).returncode


def plain(text: str, folder: Path) -> str:
    """Put what differs from run to run aside: hashes, and where the folder lies."""
    text = text.replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")
    return re.sub(r"\b[0-9a-f]{10}\b", "HASH", text).rstrip()


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "ARCHITECTURE.md",
        "docs/format.md",
        "docs/types.md",
        "docs/files.md",
        "docs/cookbook.md",
        "docs/coming_from.md",
        "docs/import-export.md",
        "docs/merge.md",
        "docs/stores.md",
        "docs/sql.md",
        "docs/expressions.md",
        "docs/reference.md",
        "docs/design/README.md",
        "docs/design/merge.md",
    ],
)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    here = ROOT / page
    for target in re.findall(r"\]\(([^)#]+?)\)", here.read_text(encoding="utf-8")):
        assert "://" in target or (here.parent / target).exists(), target


def test_the_modules_that_the_architecture_names_are_there() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = "|".join(sorted({room.split("/")[0] for room in HEIGHT}))
    named = re.findall(rf"`((?:{rooms})/[\w/]+\.py)", page)
    assert named
    assert not [path for path in named if not (ROOT / "src" / "anabranch" / path).exists()]


def test_the_format_page_names_every_table_and_column() -> None:
    from anabranch.catalog.migrations import metadata

    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    missing = [f"{t.name}.{c.name}" for t in metadata.sorted_tables for c in t.columns if f"`{c.name}`" not in page]
    assert not missing
    assert not [t.name for t in metadata.sorted_tables if f"| `{t.name}` |" not in page]


def test_the_glossary_has_thirty_words() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    glossary = page.split("## Glossary")[1].split("## ")[0]
    assert len(re.findall(r"^\| \w", glossary, flags=re.MULTILINE)) >= 30


def test_the_page_of_types_has_a_row_for_every_type() -> None:
    from anabranch.model.types import NESTED, PLAIN

    page = (ROOT / "docs" / "types.md").read_text(encoding="utf-8")
    rows = " ".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    assert not [name for name in (*PLAIN, *NESTED, "decimal", "interval") if not re.search(rf"\b{name}\b", rows)]


def test_the_reference_says_what_the_code_says() -> None:
    assert reference_page.PAGE.read_text(encoding="utf-8") == reference_page.page(), "python -m tests.reference_page"


def test_the_manual_says_what_the_commands_say() -> None:
    assert commands_page.PAGE.read_text(encoding="utf-8") == commands_page.page(), "python -m tests.commands_page"


def test_the_commands_that_newcomers_are_told_of_are_there() -> None:
    from anabranch.cli.main import COMMANDS

    told = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("coming_from.md", "cookbook.md"))
    assert set(re.findall(r"`ana ([a-z-]+)", told)) <= set(COMMANDS)
