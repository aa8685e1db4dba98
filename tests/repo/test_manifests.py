"""Tables of very many objects: listed by manifests, opened by few rows of the catalogue, found by one file.

`pytest --manifests` runs any other test with every object of rows in a manifest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select, update

import anabranch as ab
from anabranch.catalog import tables as t
from anabranch.model.layers import Layers
from tests.catalog.stores import listening
from tests.connect import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = ab.Settings(
    objects=ab.ObjectSettings(manifest_object_limit=3, file_row_limit=5, inline_limit_bytes=0),
    folding=ab.FoldingSettings(commit_limit=0),
)


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[ab.Repository]:
    """A table of 100 rows in 19 objects, which 7 manifests list."""
    with ab.init(tmp_path / "store", author="ann", engine="duck", settings=SMALL) as made:
        load(made)
        yield made


def load(repo: ab.Repository, rows: int = 100) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", [{"id": n, "v": n} for n in range(rows)], key="id")


def put(repo: ab.Repository, *keys: int, branch: str = "main", v: int = -1) -> None:
    with repo.commit(branch, "put") as tx:
        tx.table("t").upsert([{"id": key, "v": v} for key in keys])


def layers(repo: ab.Repository) -> Layers:
    found = repo.table("t")._state.layers
    assert isinstance(found, Layers)
    return found


def values(repo: ab.Repository, at: str = "main") -> dict[int, int]:
    return {r["id"]: r["v"] for r in repo.table("t", at=at).rows()}


def count(repo: ab.Repository, table: Any) -> int:
    with repo._ctx.catalog.read() as cx:
        return cx.scalar(select(func.count()).select_from(table)) or 0


@pytest.fixture
def manifests_read(repo: ab.Repository) -> Iterator[list[str]]:
    """The manifests that are read from now on, by a repository that knows nothing yet."""
    found: list[str] = []
    known = repo._ctx.known_objects
    usual = known.read_manifest
    assert usual is not None
    known.clear()
    known._views.clear()

    def read(o: Any) -> Any:
        found.append(o.id)
        return usual(o)

    known.read_manifest = read
    yield found
    known.read_manifest = usual


def test_opening_a_table_reads_a_row_for_each_manifest_and_none_of_them(
    repo: ab.Repository, manifests_read: list[str]
) -> None:
    table = repo.table("t")
    assert table.count() == 100
    assert len(layers(repo)) == 17
    assert len(layers(repo).manifests) == 6
    assert count(repo, t.changes) == count(repo, t.view_objects) == 6
    assert manifests_read == []


def test_rows_by_key_read_the_one_manifest_that_may_hold_them(repo: ab.Repository, manifests_read: list[str]) -> None:
    assert repo.table("t").get(50) == {"id": 50, "v": 50}
    assert len(manifests_read) == 1
    assert repo.table("t", where="id BETWEEN 51 AND 52").arrow().num_rows == 2
    assert len(manifests_read) == 1
    assert len(values(repo)) == 100
    assert len(manifests_read) == len(set(manifests_read)) == 6


def test_sql_with_a_key_reads_the_one_manifest_that_may_hold_it(repo: ab.Repository, manifests_read: list[str]) -> None:
    assert repo.sql("SELECT v FROM t WHERE id = 50").rows() == [{"v": 50}]
    assert len(manifests_read) == 1
    asked = "SELECT count(*) AS n FROM t AS a JOIN {keys} k ON k.id = a.id WHERE a.id BETWEEN :low AND 53"
    keys = [{"id": n} for n in range(100)]
    assert repo.sql(asked, args={"low": 51}, keys=keys).rows() == [{"n": 3}]
    assert len(manifests_read) == 1
    assert repo.sql("SELECT count(*) AS n FROM t WHERE v >= 50").rows() == [{"n": 50}]
    assert len(manifests_read) == 6


def test_spark_is_given_the_files_of_the_one_manifest_that_may_hold_a_range(
    repo: ab.Repository, tmp_path: Path, spark: SparkSession
) -> None:
    with ab.open(tmp_path / "store", engine="spark", spark=spark, settings=SMALL) as opened:
        with pytest.MonkeyPatch.context() as patch:
            read: list[str] = []
            known = opened._ctx.known_objects
            usual = known.read_manifest
            assert usual is not None
            patch.setattr(known, "read_manifest", lambda o: read.append(o.id) or usual(o))
            found = opened.table("t", where="id BETWEEN 51 AND 53").spark()
        assert len(read) == 1
        assert len(found.inputFiles()) < 3
        assert sorted(row["id"] for row in found.collect()) == [51, 52, 53]


def test_a_commit_of_few_rows_reads_the_manifests_of_their_keys(repo: ab.Repository, manifests_read: list[str]) -> None:
    put(repo, 50)
    assert len(manifests_read) == 1
    assert repo.diff("main~", "main")["t"].counts()["updated"] == 1
    assert len(manifests_read) == 1


def test_opening_asks_as_much_of_the_catalogue_whatever_the_number_of_objects(tmp_path: Path) -> None:
    statements = []
    for rows in (20, 400):
        with ab.init(tmp_path / f"store-{rows}", engine="duck", settings=SMALL) as repo:
            load(repo, rows)
            repo._ctx.known_objects.clear()
            repo._ctx.known_objects._views.clear()
            with listening(repo) as asked:
                assert repo.table("t").get(1) == {"id": 1, "v": 1}
            statements.append(len(asked))
    assert statements[0] == statements[1] > 0


def test_histories_diffs_blame_and_merges_tell_of_the_objects(repo: ab.Repository) -> None:
    repo.branch("dev")
    put(repo, 3, 97)
    put(repo, 4, 98, branch="dev", v=-2)
    with repo.commit("dev", "more") as tx:
        tx.table("t").insert([{"id": n, "v": n} for n in range(200, 240)])
    repo.merge("dev", into="main")
    expected = {n: n for n in (*range(100), *range(200, 240))} | {3: -1, 97: -1, 4: -2, 98: -2}
    assert values(repo) == expected
    assert repo.diff("main~", "main")["t"].counts()["inserted"] == 40
    assert {r.commit.message for r in repo.blame("t").rows()} == {"load", "put", "more"}
    repo.revert("main", parent=1)
    assert len(values(repo)) == 100
    repo.verify(deep=True).raise_damages()


def test_a_fold_keeps_the_manifests_that_it_did_not_touch(repo: ab.Repository) -> None:
    before = {x.object.id for x in layers(repo).manifests}
    put(repo, 0, 1, 2)
    repo.optimize("t")
    after = {x.object.id for x in layers(repo).manifests}
    assert len(before & after) == 5
    assert values(repo) == {n: -1 if n < 3 else n for n in range(100)}
    repo.verify(deep=True).raise_damages()


def test_what_a_manifest_lists_stays_as_long_as_it_does(repo: ab.Repository) -> None:
    repo.branch("aside")
    with repo.commit("aside", "more") as tx:
        tx.table("t").insert([{"id": n, "v": n} for n in range(200, 240)])
    repo.delete_branch("aside", force=True)
    members = count(repo, t.manifest_members)
    told = repo.gc(dry_run=True, grace=0, reflog=0)
    assert told.size_bytes == repo.gc(grace=0, reflog=0).size_bytes > 0
    assert count(repo, t.manifest_members) == members - 8
    assert repo.gc(grace=0, reflog=0).size_bytes == 0, "nothing is left to do"
    assert len(values(repo)) == 100
    repo.verify(deep=True).raise_damages()


def test_a_backup_has_the_manifests(repo: ab.Repository, tmp_path: Path) -> None:
    ab.backup(tmp_path / "store", tmp_path / "backup")
    ab.restore_store(tmp_path / "backup", tmp_path / "again")
    with ab.open(tmp_path / "again", engine="duck") as again:
        assert values(again) == values(repo)
        again.verify(deep=True).raise_damages()


def test_a_manifest_that_is_not_what_was_written_is_told(repo: ab.Repository) -> None:
    path = Path(repo._ctx.root.uri(layers(repo).manifests[2].object.path or ""))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    repo._ctx.known_objects.clear()
    repo._ctx.known_objects._views.clear()
    with pytest.raises(ab.Corrupt, match="is not what was written"):
        values(repo)
    assert len(repo.verify().damages) == 1


def listed_rows(repo: ab.Repository) -> int:
    """How many objects have a row of their own though a manifest lists them."""
    with repo._ctx.catalog.read() as cx:
        members = select(t.manifest_members.c.object_id)
        return cx.scalar(select(func.count()).select_from(t.objects).where(t.objects.c.id.in_(members))) or 0


def test_what_a_manifest_lists_has_no_row_of_its_own(repo: ab.Repository) -> None:
    assert count(repo, t.objects) == 6
    assert listed_rows(repo) == 0
    work = repo.start("main", message="in steps")
    work.table("t").insert([{"id": n, "v": n} for n in range(200, 240)])
    assert count(repo, t.objects) > 6, "what an open commit has made is found by its rows"
    work.finish()
    assert listed_rows(repo) == 0
    assert len(values(repo)) == 140
    repo.verify(deep=True).raise_damages()


def test_what_is_linked_beside_its_manifest_gets_a_row(repo: ab.Repository) -> None:
    put(repo, 0)
    repo.optimize("t")
    assert listed_rows(repo) == 2, "of the manifest with the file that was written anew"
    repo.verify(deep=True).raise_damages()


def test_damage_of_a_listed_file_is_told_and_its_objects_are_counted(repo: ab.Repository) -> None:
    (first, *_) = layers(repo)
    place = Path(repo._ctx.root.uri(first.object.path or ""))
    content = place.read_bytes()
    place.write_bytes(content[:-1] + b"x")
    told = repo.verify()
    assert [first.object.id in d.where for d in told.damages] == [True]
    assert told.objects == 6 + 17
    place.write_bytes(content)
    assert repo.verify().damages == ()


def test_what_a_manifest_lists_stays_for_the_time_of_grace(repo: ab.Repository) -> None:
    repo.branch("aside")
    with repo.commit("aside", "more") as tx:
        tx.table("t").insert([{"id": n, "v": n} for n in range(200, 240)])
    repo.delete_branch("aside", force=True)
    files = len(list(repo._ctx.root.files()))
    assert repo.gc(reflog=0).size_bytes == 0
    assert len(list(repo._ctx.root.files())) == files
    assert repo.gc(grace=0, reflog=0).size_bytes > 0
    assert len(list(repo._ctx.root.files())) == 6 + 17
    assert repo.gc(grace=0, reflog=0).size_bytes == 0
    repo.verify(deep=True).raise_damages()


def test_what_an_open_commit_wrote_stays_until_manifests_list_it(repo: ab.Repository, tmp_path: Path) -> None:
    opened = repo.start("main", message="more")
    opened.table("t").insert([{"id": n, "v": n} for n in range(200, 300)])
    opened.create_table("u", [{"id": n} for n in range(100)], key="id")
    linked = count(repo, t.open_objects)
    repo.gc(grace=0, reflog=0)
    assert linked == count(repo, t.open_objects) > 30
    opened.finish()
    repo.gc(grace=0, reflog=0)
    with ab.open(tmp_path / "store", engine="duck", settings=SMALL) as other:
        assert values(other) == {n: n for n in (*range(100), *range(200, 300))}
        assert len(other.table("u").rows()) == 100
        assert other.verify().damages == ()


def test_a_forged_range_of_a_manifest_breaks_the_hash_of_its_commit(repo: ab.Repository) -> None:
    manifest = layers(repo).manifests[0].object
    with repo._ctx.catalog.write() as cx:
        cx.execute(update(t.objects).where(t.objects.c.id == manifest.id).values(key_low=[90], key_high=[91]))
    told = [d.what for d in repo.verify().damages]
    assert any("hash" in what for what in told)


def test_a_commit_that_is_refused_leaves_no_manifest(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {f.path for f in repo._ctx.root.files()}

    def broken(*_: Any) -> None:
        raise ab.Unavailable("no room", hint="wait")

    monkeypatch.setattr("anabranch.repo.commit.commit.publish", broken)
    with pytest.raises(ab.Unavailable), repo.commit("main", "more") as tx:
        tx.table("t").insert([{"id": n, "v": n} for n in range(100, 140)])
    assert {f.path for f in repo._ctx.root.files()} == before


@pytest.mark.more
def test_all_verbs_do_the_same_where_every_object_is_in_a_manifest() -> None:
    places = {"": ["histories"], "merge/": ["merge_histories"], "compare/": ["diff_histories", "blame", "diff"]}
    suites = [f"tests/repo/{folder}test_{name}.py" for folder, names in places.items() for name in names]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--manifests", "-k", "not spark"]
    done = subprocess.run([*command, *suites], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
