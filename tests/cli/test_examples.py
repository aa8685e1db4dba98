"""The examples in every command's help are run."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import anabranch as ab
from anabranch.cli.main import COMMANDS, cli, run
from anabranch.jobs.dealt import files

ELSEWHERE = {"demo": "has a test of its own", "postgresql://": "needs a server", "pipeline watch": "goes on for ever"}
"""Examples that are not run here, and why."""


def commands() -> Iterator[tuple[str, click.Command]]:
    for name in COMMANDS:
        found = cli.get_command(click.Context(cli), name)
        assert found is not None
        inner = found.commands.items() if isinstance(found, click.Group) else [("", found)]
        yield from ((f"{name} {own}".strip(), command) for own, command in inner)


def examples(command: click.Command) -> list[str]:
    """The lines that begin with `$ ana`, without what is said beside them."""
    return re.findall(r"^ *\$ ana (.*?)(?:\s{2,}.*)?$", command.help or "", flags=re.MULTILINE)


EXAMPLES = [line for _, command in commands() for line in examples(command)]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders to copy: `plain` with main and dev, `staged` and `stashed` with work, `merging` with an open merge."""
    root = tmp_path_factory.mktemp("stores")
    with ab.init(root / "plain", author="ann", repository="shop") as repo:
        with repo.commit("main", "load orders") as tx:
            for path in ("raw/orders.csv", "raw/a.csv", "logs/app.log"):
                tx.files.put(path, f"{path}\n")
            tx.create_table("orders", [{"id": i, "status": "new", "price": float(i)} for i in (1, 2, 7)], key="id")
        for i, branch in enumerate(("main", "main", "dev", "dev")):
            if branch not in [b.name for b in repo.branches()]:
                repo.branch(branch)
            with repo.commit(branch, f"change {i}") as tx:
                tx.table("orders").update({"price": 10.0 + i}, where=f"id = {1 + i % 2}")
    (root / "plain" / "customers.csv").write_text("id,name\n1,ann\n")
    (root / "plain" / "prices.csv").write_text("id,price\n1,5\n")
    (root / "plain" / "from_elsewhere.sql").write_text("SELECT status, count(*) AS n FROM orders GROUP BY status")
    for name in ("staged", "merging", "stashed"):
        shutil.copytree(root / "plain", root / name)
    for name in ("staged", "stashed"):
        with ab.open(root / name) as repo:
            repo.start("main", message="staged", working=True).table("orders").update({"price": 3.0}, where="id = 7")
            if name == "stashed":
                repo.stash("main")
    with ab.open(root / "merging") as repo:
        with repo.commit("main", "met") as tx:
            tx.table("orders").update({"price": 0.5}, where="id = 1")
        with repo.commit("dev", "met, too") as tx:
            tx.table("orders").insert([{"id": 9, "status": "new", "price": 0.7}])
        with repo.commit("main", "nine here") as tx:
            tx.table("orders").insert([{"id": 9, "status": "new", "price": 0.9}])
        repo.start_merge("dev", into="main")
    (root / "empty").mkdir()
    return root


def paths(shard: Any) -> Iterator[dict[str, str]]:
    shard.log(f"shard {shard.number}")
    yield from ({"path": file.path} for file in shard.files("raw"))


def place(line: str) -> str:
    """The folder that an example is about."""
    if line == "init":
        return "empty"
    if line.startswith(("conflicts", "resolve", "merge --")):
        return "merging"
    if line.startswith("stash") and "push" not in line:
        return "stashed"
    return (
        "staged"
        if "stash push" in line or line in ("restore orders", "restore .", "diff", "status") or "commit -m" in line
        else "plain"
    )


@pytest.mark.parametrize("name", [name for name, _ in commands() if name != "demo"])
def test_every_command_has_an_example(name: str) -> None:
    assert examples(dict(commands())[name])


@pytest.mark.parametrize("line", [x for x in EXAMPLES if not any(word in x for word in ELSEWHERE)])
def test_an_example_does_what_help_says(
    line: str,
    stores: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    shutil.copytree(stores / place(line), tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    if line == "switch -":
        assert run(["switch", "dev"]) == 0
    if line in ("add work", "status work"):
        assert run(["checkout", "work/"]) == 0
    if "today.csv" in line:
        Path("today.csv").write_text("id,day,price\n1,2026-11-02,5\n")
        assert run(["import", "sales", "today.csv", "--key", "id", "-m", "yesterday"]) == 0
    if line.startswith("pipeline") and "init" not in line:
        assert run(["pipeline", "init", "sales"]) == run(["pipeline", "run"]) == 0
    if line.startswith("job"):
        with ab.open(".", engine="duck") as repo:
            repo.job(paths, inputs={"raw": files("raw/*")}, name="words", table="paths", shards=2, local=True).run()
    if line.startswith("restore-store"):
        assert run(["backup", "../backup"]) == 0
    monkeypatch.setenv("EDITOR", "true")  # the list of a rebase, left as it is
    if line == "objects where oab":
        with ab.open(".", engine="duck") as repo:
            line = f"objects where {repo.objects()[0].id[:6]}"
    wanted = {0, 1} if line.startswith("merge --continue") else {0}
    assert run(shlex.split(line)) in wanted, capfdbinary.readouterr().err.decode()
