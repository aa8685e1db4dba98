"""A sound store with files in it has no damages, before gc and after it."""

from __future__ import annotations

from pathlib import Path

import anabranch as ab

SMALL = ab.Settings(
    objects=ab.ObjectSettings(inline_limit_bytes=2000, file_row_limit=50),
    folding=ab.FoldingSettings(commit_limit=2, rewrite_row_limit=100),
)


def test_a_sound_store_with_files_has_no_damages(tmp_path: Path) -> None:
    with ab.init(tmp_path / "s", engine="duck", settings=SMALL) as repo:
        for n in range(6):
            with repo.commit("main", f"files {n}") as tx:
                tx.files.put(f"raw/{n}.bin", bytes(range(256)) * 40 * (n + 1))
                tx.files.append("log.txt", f"line {n}\n")
        repo.branch("dev", at="main~2")
        with repo.commit("dev", "more") as tx:
            tx.files.append("log.txt", "dev\n")
            tx.files.delete("raw/1.bin")
        repo.merge("dev", into="main")
        assert repo.files("main").read("log.txt").endswith(b"dev\n")
        assert repo.verify(deep=True).damages == ()
        repo.gc(grace=0)
        assert repo.verify(deep=True).damages == ()
        assert len(repo.files("main").read("raw/5.bin")) == 256 * 40 * 6
