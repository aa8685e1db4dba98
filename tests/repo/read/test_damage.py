"""Damaged files are told by name, in every verb: nobody ever gets a wrong row of them, or a commit on top of one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import anabranch as ab
from anabranch.objects.folder import Folder
from tests.catalog.stores import make_table, put

FILES_ONLY = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
TRUSTING = replace(FILES_ONLY, damage=ab.DamageSettings(hashes=False))
ROWS = [{"id": n, "v": n * 7, "w": f"row {n % 13}"} for n in range(400)]
CHANGED = {3, 50, 51, 52, 53, 200, 300}
AFTER = [{**r, "v": 33} if r["id"] in CHANGED else r for r in ROWS]


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[ab.Repository]:
    """Two tables with a snapshot and a change each, every object in a file; nothing has been read yet."""
    with ab.init(tmp_path / "store", engine="duck", settings=FILES_ONLY) as made:
        for name in ("t", "sound"):
            make_table(made, name, ROWS)
            change(made, name)
    with ab.open(tmp_path / "store", engine="duck", settings=FILES_ONLY) as opened:
        yield opened


def change(repo: ab.Repository, name: str) -> None:
    with repo.commit("main", "change some") as tx:
        tx.table(name).upsert([{"id": n, "v": 33} for n in CHANGED])


def file_of(repo: ab.Repository, kind: str = "rows", table: str = "t") -> Path:
    (found,) = [x["path"] for x in repo.table(table).layout() if x["kind"] == kind]
    return Path(repo._ctx.root.uri(found))


def places(size: int) -> list[int]:
    """Each byte of the ends, where magic, lengths and footer are, and many in between."""
    return sorted({*range(12), *range(12, size - 12, max(1, size // 60)), *range(size - 12, size)})


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :]


def in_commit(repo: ab.Repository, statement: Callable[[Any], Any]) -> None:
    with repo.commit("main", "use it") as tx:
        statement(tx.table("t"))


USES: dict[str, Callable[[ab.Repository], Any]] = {
    "rows": lambda r: r.table("t").rows(),
    "columns": lambda r: r.table("t", columns=["w"]).arrow(),
    "get": lambda r: r.table("t").get(3),
    "where": lambda r: r.table("t", where="v > 1").count(),
    "head": lambda r: r.table("t").head(2),
    "sql": lambda r: r.sql("SELECT sum(v) FROM t").rows(),
    "blame": lambda r: r.blame("t").rows(),
    "update": lambda r: in_commit(r, lambda t: t.update({"v": "v + 1"})),
    "upsert": lambda r: in_commit(r, lambda t: t.upsert([{"id": 3, "v": 0}])),
    "delete": lambda r: in_commit(r, lambda t: t.delete(where="v = 33")),
    "overwrite": lambda r: in_commit(r, lambda t: t.overwrite(ROWS[:9])),
    "verify": lambda r: r.verify().raise_damages(),
    "optimize": lambda r: r.optimize("t"),
}


@pytest.mark.parametrize("kind", ["rows", "update"])
def test_a_flipped_bit_anywhere_is_told_in_every_verb(repo: ab.Repository, kind: str) -> None:
    file, head = file_of(repo, kind), repo.show()
    content = file.read_bytes()
    for number, place in enumerate(places(len(content))):
        file.write_bytes(flipped(content, place))
        for name, use in USES.items():
            if (kind, name) == ("update", "columns") or (number % 20 and name not in ("rows", "get")):
                continue  # The change does not touch the column; and not each place is tried in every verb.
            with pytest.raises(ab.Corrupt, match="sha256") as caught:
                use(repo)
            assert str(file) in caught.value.message, (place, name)
            assert "backup" in str(caught.value.hint)
    assert repo.show() == head, "nothing was published"
    assert repo.table("sound").rows() == AFTER, "other tables are not affected"
    file.write_bytes(content)
    assert repo.table("t").rows() == AFTER
    repo.verify().raise_damages()


def test_two_files_that_were_swapped_are_told(repo: ab.Repository) -> None:
    (one_table, one), (two_table, two) = _tables_of_one_size(repo)
    assert repo.table(one_table).count() == 100
    assert len({r["v"] for r in repo.table(one_table).rows()}) == 1
    one.rename(aside := one.with_suffix(".aside"))
    two.rename(one)
    aside.rename(two)
    for table, file in ((one_table, one), (two_table, two)):
        with pytest.raises(ab.Corrupt) as caught:
            repo.table(table).rows()
        assert str(file) in caught.value.message


def _tables_of_one_size(repo: ab.Repository) -> tuple[tuple[str, Path], tuple[str, Path]]:
    """Two tables whose files only their hashes tell apart; field ids, drawn at random, take more or fewer bytes."""
    found: dict[int, tuple[str, Path]] = {}
    for v in range(50):
        name = f"t{v}"
        make_table(repo, name, [{"id": n, "v": v} for n in range(100)])
        file = file_of(repo, table=name)
        if other := found.get(file.stat().st_size):
            return other, (name, file)
        found[file.stat().st_size] = name, file
    raise AssertionError(f"50 files of different sizes: {sorted(found)}")


def test_a_file_is_hashed_once_in_a_process_and_again_after_it_was_touched(
    repo: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = hashes_of(monkeypatch)
    files = {str(settled(file_of(repo, kind))) for kind in ("rows", "update")}
    for _ in range(3):
        assert repo.table("t", where="v >= 0").count() == 400
    assert sorted(hashed) == sorted(files)
    with ab.open(repo_place(repo), engine="duck") as other:
        assert other.table("t").rows() == AFTER
    assert len(hashed) == 2, "the process knows, not the repository"
    file = file_of(repo)
    content = file.read_bytes()
    file.write_bytes(flipped(content, 50))
    with ab.open(repo_place(repo), engine="duck") as other:
        with pytest.raises(ab.Corrupt):
            other.table("t").rows()
        file.write_bytes(content)
        assert other.table("t").rows() == AFTER


def hashes_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which files are hashed from now on."""
    found: list[str] = []
    original = Folder._digest

    def digest(self: Folder, path: str) -> str:
        found.append(self.uri(path))
        return original(self, path)

    monkeypatch.setattr(Folder, "_digest", digest)
    return found


def settled(file: Path) -> Path:
    """Let a file be some minutes old: one that was touched just now is not remembered."""
    then = file.stat().st_mtime - 300
    os.utime(file, (then, then))
    return file


def repo_place(repo: ab.Repository) -> Path:
    return file_of(repo).parents[3]


def test_who_trusts_the_disks_reads_without_hashing_but_nothing_is_written_anew_unseen(
    repo: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = file_of(repo)
    with ab.open(repo_place(repo), engine="duck", settings=TRUSTING) as trusting:
        hashed = hashes_of(monkeypatch)
        assert trusting.table("t").rows() == AFTER
        assert hashed == []
        content = file.read_bytes()
        file.write_bytes(content + b"!")
        with pytest.raises(ab.Corrupt, match="bytes"):
            trusting.table("t").rows()
        file.write_bytes(flipped(content, len(content) // 3))
        with pytest.raises(ab.Corrupt, match="sha256"):
            trusting.optimize("t")
    assert [x["view"] for x in repo.table("t").layout()] == ["snapshot", None]


def test_a_commit_does_not_fold_damage_into_a_view(tmp_path: Path, fold_failures: list[str]) -> None:
    settings = replace(FILES_ONLY, folding=replace(FILES_ONLY.folding, commit_limit=4))
    with ab.init(tmp_path / "store", engine="duck", settings=settings) as repo:
        make_table(repo, "t", ROWS)
        change(repo, "t")
        file = file_of(repo, "update")
        content = file.read_bytes()
        file.write_bytes(flipped(content, len(content) // 2))
        for n in range(1000, 1004):  # keys that no file has: nothing is read
            in_commit(repo, lambda t, n=n: t.insert([{"id": n, "v": 0, "w": ""}]))
        assert any(str(file) in told for told in fold_failures)
        assert "fold" not in {x["view"] for x in repo.table("t").layout()}
        fold_failures.clear()
        file.write_bytes(content)
        put(repo, "t", 5)
        assert len(repo.table("t").rows()) == 404


@pytest.mark.contract
def test_spark_tells_damage_by_hashes_and_by_the_checksums_of_pages(tmp_path: Path, spark: Any) -> None:
    with ab.init(tmp_path / "store", engine="spark", spark=spark, settings=FILES_ONLY) as repo:
        make_table(repo, "t", ROWS)
    large = replace(FILES_ONLY, damage=ab.DamageSettings(spark_hash_limit_bytes=0))
    with (
        ab.open(tmp_path / "store", engine="spark", spark=spark, settings=FILES_ONLY) as repo,
        ab.open(tmp_path / "store", engine="spark", spark=spark, settings=large) as paged,
    ):
        file = Path(repo._ctx.root.uri(repo.table("t").layout()[0]["path"]))
        assert repo.table("t").spark().count() == 400
        content = file.read_bytes()
        chunk = pq.ParquetFile(file).metadata.row_group(0).column(1)
        end = chunk.data_page_offset + chunk.total_compressed_size
        for place in (end - 1, end - 9):  # in a page, which ends there
            file.write_bytes(flipped(content, place))
            uses = (lambda: repo.table("t").rows(), lambda: repo.table("t").spark(), lambda: paged.table("t").rows())
            for use in uses:
                with pytest.raises(ab.Corrupt, match="sha256") as caught:
                    use()
                assert str(file) in caught.value.message
            with pytest.raises(Exception, match=r"[Cc]hecksum|CRC"):
                paged.table("t").spark().toArrow()
        file.write_bytes(content)
        assert sorted(r["v"] for r in paged.table("t").rows()) == [r["v"] for r in ROWS]
