"""`resume` runs code that the call names, or that this machine noted when the job began; never what a store names."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.cli.main import run
from anabranch.jobs.dealt import files
from anabranch.jobs.function_file import load_function, read_place
from tests.repo.strangers.stranger import asked, edited

PROGRAM = """
import os
from beside import twice

def sizes(shard):
    for file in shard.files("docs"):
        if not os.path.exists("mended"):
            raise ValueError("no such luck")
        yield {"path": file.path, "size": twice(file.size)}
"""
EVIL = "open({mark!r}, 'w').close()\n\ndef sizes(shard):\n    return []\n"


@pytest.fixture
def shop(folder: Path) -> Iterator[ab.Repository]:
    """A store beside a program whose only job has failed, and could go on now."""
    with ab.init(".", engine="duck", author="ann") as repo:
        with repo.commit("main", "load") as tx:
            for n in range(3):
                tx.files.put(f"raw/{n}.txt", "x" * (n + 1))
        Path("sizes.py").write_text(PROGRAM)
        Path("beside.py").write_text("def twice(n):\n    return 2 * n\n")
        function = load_function(read_place("sizes.py:sizes"), "the first run")
        inputs = {"docs": files("raw/*")}
        with pytest.raises(ab.RunFailed, match="no such luck"):
            repo.job(function, inputs=inputs, table="sizes", key="path", shards=2, local=True).run()
        sys.modules.pop("beside")
        Path("mended").touch()
        yield repo
    for name in ("sizes", "beside"):  # Other tests have other files of these names.
        sys.modules.pop(name, None)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that exists only after a stranger's code has run."""
    return tmp_path / "ran"


def let_store_name(store: Path, tmp_path: Path, mark: Path) -> None:
    """Change the catalogue so that the function of its job is in a file that leaves a mark when it is imported."""
    evil = tmp_path / "evil.py"
    evil.write_text(EVIL.format(mark=str(mark)))
    (told,) = asked(store, "SELECT options FROM ana_jobs")
    options = {**json.loads(told), "function": {"file": str(evil), "name": "sizes"}, "code": "0" * 64}
    assert edited(store, "UPDATE ana_jobs SET options = ?", json.dumps(options)) == 1


def resume(capsys: pytest.CaptureFixture[str], *more: str, expected: int = 0) -> str:
    capsys.readouterr()
    assert run(["job", "resume", "sizes", *more]) == expected
    printed = capsys.readouterr()
    return printed.out + printed.err


def sizes_of(repo: ab.Repository) -> list[int]:
    return sorted(row["size"] for row in repo.table("sizes").rows())


def test_a_file_that_the_catalogue_names_is_not_imported(
    shop: ab.Repository, tmp_path: Path, mark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    let_store_name(Path("."), tmp_path, mark)
    said = resume(capsys, expected=2)
    assert not mark.exists()
    assert "ana job resume" in said
    assert "FILE.py:FUNCTION" in said
    with pytest.raises(ab.InvalidRequest, match="not run on its word"):
        shop.resume_job("sizes")
    assert not mark.exists()
    assert len(shop.log()) == 2


def test_a_store_that_was_sent_here_does_not_use_a_file_of_this_machine(
    shop: ab.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state of another user"))
    assert "ana job resume" in resume(capsys, expected=2)
    resume(capsys, "sizes.py:sizes")
    assert sizes_of(shop) == [2, 4, 6]


def test_a_job_that_began_here_goes_on_by_its_name_alone(
    shop: ab.Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    resume(capsys)
    assert sizes_of(shop) == [2, 4, 6]
    assert list(notes()) == []


def test_parameters_that_were_changed_in_the_catalogue_are_not_given_to_noted_code(
    shop: ab.Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    (told,) = asked(Path("."), "SELECT options FROM ana_jobs")
    options = {**json.loads(told), "params": {"command": "rm"}}
    edited(Path("."), "UPDATE ana_jobs SET options = ?", json.dumps(options))
    assert "nothing on this machine" in resume(capsys, expected=2)


@pytest.mark.parametrize("changed", ["sizes.py", "beside.py"])
def test_noted_code_that_changed_is_not_imported(
    shop: ab.Repository, mark: Path, changed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(changed).write_text(EVIL.format(mark=str(mark)) + Path(changed).read_text())
    assert "changed since it began" in resume(capsys, expected=2)
    assert not mark.exists()
    Path(changed).unlink()
    assert "which is gone" in resume(capsys, expected=3)


def test_a_function_may_be_given_in_python(shop: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.devnull)
    monkeypatch.syspath_prepend(os.getcwd())
    from sizes import sizes  # type: ignore[import-not-found]

    assert shop.resume_job("sizes", function=sizes).rows == 3
    assert sizes_of(shop) == [2, 4, 6]


def test_what_names_no_function_is_refused(shop: ab.Repository, capsys: pytest.CaptureFixture[str]) -> None:
    Path("notes.txt").write_text("no Python (")
    assert "write FILE.py:FUNCTION" in resume(capsys, "sizes.py", expected=2)
    assert "there is no file 'gone.py'" in resume(capsys, "gone.py:sizes", expected=3)
    assert "has no function other" in resume(capsys, "sizes.py:other", expected=3)
    assert "can't be read as Python" in resume(capsys, "notes.txt:sizes", expected=2)
    other = Path("other.py")
    other.write_text("def sizes(shard):\n    return []\n")
    assert "the code of job" in resume(capsys, "other.py:sizes", expected=2)
    with pytest.raises(ab.InvalidRequest, match="is no function"):
        shop.resume_job("sizes", function=7)  # type: ignore[arg-type]


def test_a_job_runs_where_nothing_can_be_noted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.devnull)

    def one(shard: Any) -> Iterator[dict[str, Any]]:
        yield {"n": shard.number}

    with ab.init(".", engine="duck", author="ann") as repo:
        with repo.commit("main", "load") as tx:
            tx.files.put("raw/1", "x")
        assert repo.job(one, inputs={"docs": files("raw/*")}, table="t", shards=1, local=True).run().rows == 1


def notes() -> Iterator[Path]:
    """The notes of the store in this folder."""
    (store_id,) = asked(Path("."), "SELECT value FROM ana_store WHERE key = 'store_id'")
    (job,) = asked(Path("."), "SELECT id FROM ana_jobs")
    from anabranch.jobs.begun_here import _note_file

    file = _note_file(str(store_id), str(job))
    if file.exists():
        yield file


@pytest.mark.parametrize("prefix", ["../../../precious", "{tmp}/precious", "..", "", "a/b"])
def test_the_place_of_a_job_leads_nowhere_else(shop: ab.Repository, tmp_path: Path, prefix: str) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    edited(Path("."), "UPDATE ana_jobs SET prefix = ?", prefix.format(tmp=tmp_path))
    for ask in (shop.jobs, lambda: shop.remove_job("sizes"), lambda: shop.find_job("sizes")):
        with pytest.raises(ab.Corrupt, match="no place where a job works"):
            ask()
    assert (precious / "file").read_text() == "mine"


def test_a_link_in_the_place_of_jobs_is_not_followed(shop: ab.Repository, tmp_path: Path) -> None:
    old = tmp_path / "home" / "old"
    old.mkdir(parents=True)
    os.utime(old, (0, 0))
    place = Path(".anabranch/objects/jobs")
    shutil.move(place, tmp_path / "jobs")
    place.symlink_to(tmp_path / "home")
    with pytest.raises(ab.Corrupt, match="is a link"):
        shop.resume_job("sizes")
    assert old.is_dir()


@pytest.mark.parametrize("way", ["path", "link"])
def test_what_a_manifest_names_is_read_in_the_place_of_its_job_only(
    shop: ab.Repository, tmp_path: Path, way: str
) -> None:
    """A stranger's store says that a shard has finished, and that what it made is a file of the user's."""
    secret = tmp_path / "secret"
    secret.write_text("mine")
    (prefix,) = asked(Path("."), "SELECT prefix FROM ana_jobs")
    place = Path(".anabranch/objects/jobs") / str(prefix)
    (place / "made").mkdir()
    (place / "made" / "linked").symlink_to(secret)
    named = os.path.relpath(secret, place / "made") if way == "path" else "linked"
    written = [{"path": "stolen", "verb": "put", "file": named, "size": 4}]
    made = {"shard": 0, "folder": "made", "rows": 0, "files": written, "seconds": 0, "log": []}
    (place / "shard-00000.json").write_text(json.dumps(made))
    with pytest.raises(ab.Corrupt, match="leads out of"):
        shop.resume_job("sizes")
    assert "stolen" not in shop.files().paths()
