"""The table that the files are in appears nowhere as a table, whatever is listed or asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.cli.main import run
from anabranch.model.files import FILES_NAME


@pytest.fixture
def repo(tmp_path: Path) -> ab.Repository:
    made = ab.init(tmp_path / "store")
    with made.commit("main", "both") as tx:
        tx.create_table("orders", [{"id": 1}], key="id")
        tx.files.put("raw/a.csv", "1\n")
    made.branch("dev")
    with made.commit("dev", "both") as tx:
        tx.table("orders").insert([{"id": 2}])
        tx.files.append("raw/a.csv", "2\n")
    with made.commit("main", "files") as tx:
        tx.files.put("b", "b")
    made.merge("dev", into="main")
    return made


def test_no_verb_of_python_shows_the_hidden_table(repo: ab.Repository) -> None:
    opened = repo.start("main", message="open")
    opened.files.put("c", "c")
    told = [
        repo.tables(),
        repo.namespaces(),
        repo.log(),
        repo.show(),
        repo.show_changes(),
        [repo.show_changes(c.hash) for c in repo.log()],
        repo.reflog("main"),
        repo.diff("main~2", "main"),
        repo.diff("main~2", "main").counts(),
        repo.diff("main~2", "main").tables,
        opened.counts,
        opened.status(),
        opened.diff().tables,
        repo.preview("dev", into="main").conflicts,
        repo.open_commits(),
        repo.gc(dry_run=True),
        repo.history("orders"),
        repo.branches(),
        repo.open_merges(),
        repo.verify(),
        repo.provenance(),
        repo.derived(),
        repo.objects(),
        [shown._repr_html_() for shown in (repo.tables(), repo.log(), repo.diff("main~2", "main"))],
        repo,
    ]
    assert FILES_NAME not in repr(told)
    assert [t.name for t in repo.tables()] == ["orders"]
    assert all(c.tables in (("orders",), ()) for c in repo.log())
    for ask in (repo.table, repo.history, repo.blame, repo.optimize, repo.changes):
        with pytest.raises(ab.AnabranchError):
            ask(FILES_NAME)  # type: ignore[operator]
    with pytest.raises(ab.AnabranchError), repo.commit("main", "x") as tx:
        tx.table(FILES_NAME)
    with pytest.raises(ab.AnabranchError), repo.commit("main", "x") as tx:
        tx.create_table(FILES_NAME, [{"id": 1}], key="id")


def test_no_relation_of_sql_shows_the_hidden_table(repo: ab.Repository) -> None:
    names = ("log", "tables", "namespaces", "columns", "reflog", "status", "conflicts", "branches", "tags")
    names += ("objects", "jobs", "runs", "expectations", "provenance", "derived")
    told = [repo.sql(f"SELECT * FROM ana.{name}").rows() for name in names]
    told += [repo.sql("SHOW TABLES").rows(), repo.sql("SELECT * FROM ana.files").rows()]
    told += [repo.sql("SELECT * FROM ana.diff_files('main~1', 'main')").rows()]
    assert FILES_NAME not in repr(told)
    assert [r["path"] for r in repo.sql("SELECT path FROM ana.files ORDER BY path").rows()] == ["b", "raw/a.csv"]
    lines = repo.sql("SELECT number, line FROM ana.file_lines('raw/*.csv') ORDER BY number").rows()
    assert [(r["number"], r["line"]) for r in lines] == [(1, "1"), (2, "2")]
    found = repo.sql("SELECT change FROM ana.file_history('raw/a.csv')").rows()
    assert [r["change"] for r in found][-1] == "added"


def test_no_command_shows_the_hidden_table(
    repo: ab.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path / "store")
    monkeypatch.setenv("NO_COLOR", "1")

    def ana(*words: str) -> str:
        code, printed = run(words), capsys.readouterr()
        assert code in (0, 1), printed.err
        return printed.out + printed.err

    (tmp_path / "local").write_text("x")
    told = ana("file", "put", str(tmp_path / "local"), "staged")
    for words in (["status"], ["diff"], ["diff", "main~1", "main"], ["log", "-p"], ["show"], ["file", "ls", "-r"]):
        told += ana(*words)
    for words in (["diff", "main~1", "main"], ["log"], ["show"], ["status"], ["ls"], ["objects", "ls"]):
        told += ana(*words, "--json")
    for words in (["ls"], ["objects", "ls"], ["verify"], ["gc", "--dry-run"], ["sql", "SHOW TABLES"]):
        told += ana(*words)
    assert "raw/a.csv" in ana("log", "-1", "--stat", "--", "raw/a.csv")
    listed = json.loads(ana("file", "ls", "-r", "--json"))
    assert [f["path"] for f in listed["files"]] == ["b", "raw/a.csv", "staged"]
    told += ana("commit", "-m", "staged files")
    assert FILES_NAME not in told
    assert "file added    staged" in told
