"""Checkouts on a disk that is full: our error, every file there is whole, and doing it again goes on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.cli.main import run
from tests.repo.commit.test_crash_disk import small_disk

SIZE = 40_000


def contents() -> dict[str, bytes]:
    drawn = random.Random(5)
    return {f"raw/{n:02}/part.bin": drawn.randbytes(SIZE) for n in range(40)}


def put_all(repo: ab.Repository) -> None:
    with repo.commit("main", "files") as tx:
        for path, content in contents().items():
            tx.files.put(path, content)


def fill(disk: Path, left: int) -> Path:
    """Take all room on a disk but for some bytes."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(b"x" * 4096)
    with filler.open("r+b") as file:
        file.truncate(filler.stat().st_size - left)
    return filler


@pytest.mark.parametrize("left", [0, 4096, 8192, 3 * 4096, 30_000, 100_000, 400_000])
def test_a_checkout_without_room_leaves_whole_files_and_goes_on_later(tmp_path: Path, left: int) -> None:
    with (
        small_disk(tmp_path / "disk", "4m") as disk,
        ab.init(tmp_path / "store", repository="shop", engine="duck") as repo,
    ):
        put_all(repo)
        out = disk / "out"
        filler = fill(disk, left)
        for _ in range(2):
            with pytest.raises(ab.Unavailable, match="can't be") as caught:
                repo.checkout(str(out))
            assert "space" in str(caught.value.hint)
            for path in (p for p in out.rglob("*") if p.is_file() and p.name != ".ana-manifest"):
                assert path.read_bytes() == contents()[path.relative_to(out).as_posix()]
        if out.is_dir() and left < 8192:
            with pytest.raises(ab.Unavailable):
                for number in range(3):
                    with repo.commit("main", f"take {number}", allow_empty=True) as tx:
                        repo.folder(str(out)).add(tx)
        filler.unlink()
        repo.checkout(str(out))
        assert {p.relative_to(out).as_posix() for p in out.rglob("*.bin")} == set(contents())
        assert not repo.folder(str(out)).status()


def test_the_command_line_says_so_too(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        with ab.init(folder, engine="duck") as repo:
            put_all(repo)
        for command in (["checkout", str(disk / "out")], ["file", "get", "raw/00/part.bin", str(disk / "one.bin")]):
            (disk / "filler").unlink(missing_ok=True)
            fill(disk, 4096)
            assert run(command) == 6
            printed = capsys.readouterr()
            assert "unexpected" not in printed.err
            assert "error:" in printed.err
        assert not [p for p in disk.rglob("*") if p.is_file() and p.name not in ("filler", ".ana-manifest")]
