"""Where commits came from: checked when a commit starts, kept by every verb, asked in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.branches.provenance import as_mermaid

UNKNOWN = "0" * 64


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def three(place: Path) -> Iterator[dict[str, ab.Repository]]:
    """Three repositories of one store, each with a table `t`."""
    made = {n: ab.init(place, repository=n, author="ann", engine="duck") for n in ("raw", "inputs", "reports")}
    for name, repo in made.items():
        with repo.commit("main", f"load {name}") as tx:
            tx.create_table("t", [{"id": 1, "v": 1}], key="id")
    yield made
    for repo in made.values():
        repo.close()


@pytest.fixture
def repo(three: dict[str, ab.Repository]) -> ab.Repository:
    return three["reports"]


def put(repo: ab.Repository, id_: int, provenance: Any = (), branch: str = "main") -> ab.Commit:
    """One commit that writes one row."""
    return repo.commit(branch, f"row {id_}", provenance=provenance, retry=1)(
        lambda tx: tx.table("t").upsert([{"id": id_, "v": id_}])
    )


def asked(entries: list[Any]) -> list[tuple[str, str | None, int]]:
    return [(str(e), e.role, e.depth) for e in entries]


def short(name: str, commit: ab.Commit) -> str:
    return f"{name}@{commit.hash[:10]}"


@pytest.mark.parametrize(
    ("provenance", "kind"),
    [
        (["nonsense"], ab.NotFound),
        (["inputs@nonsense"], ab.NotFound),
        (["nowhere@main"], ab.NotFound),
        ([UNKNOWN], ab.NotFound),
        (["main", "nonsense"], ab.NotFound),
        ({"orders": "nonsense"}, ab.NotFound),
        ([{"orders": "main"}, {"lines": "nonsense"}], ab.NotFound),
        ("main", ab.InvalidRequest),
        ([7], ab.InvalidRequest),
    ],
)
def test_what_is_not_there_is_refused_before_anything_is_written(
    repo: ab.Repository, provenance: Any, kind: type[Exception]
) -> None:
    before = repo.show()
    with pytest.raises(kind, match="provenance="), repo.commit("main", "m", provenance=provenance) as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
    with pytest.raises(kind, match="provenance="):
        repo.start("main", message="m", provenance=provenance)
    repo.branch("dev")
    put(repo, 3, branch="dev")
    with pytest.raises(kind, match="provenance="):
        repo.merge("dev", mode="squash", provenance=provenance)
    assert (repo.show(), repo.open_commits()) == (before, [])


def test_refs_commits_roles_other_repositories_and_sources_outside_are_named(three: dict[str, ab.Repository]) -> None:
    repo, inputs, raw = three["reports"], three["inputs"].show(), three["raw"].show()
    first = repo.show()
    outside = ab.external("s3://bucket/key@etag")
    made = put(repo, 2, ["main", "inputs@main", {"orders": raw}, raw.hash, outside, {"logs": outside}])
    source = "s3://bucket/key@etag"
    assert made.provenance == (first.hash, inputs.hash, raw.hash, raw.hash, source, source)
    assert asked(repo.origins([made, first])[made.hash]) == [
        (short("reports", first), None, 1),
        (short("inputs", inputs), None, 1),
        (short("raw", raw), "orders", 1),
        (short("raw", raw), None, 1),
        (source, None, 1),
        (source, "logs", 1),
    ]
    assert list(repo.origins([made, first])) == [made.hash]
    assert asked(repo.provenance()) == [
        (short("reports", first), None, 1),
        (short("inputs", inputs), None, 1),
        (short("raw", raw), "orders", 1),
        (source, "logs", 1),
    ]
    assert [e.via for e in repo.provenance()] == [(made.hash,)] * 4


def test_a_diamond_over_three_repositories_is_told_nearest_first_and_each_once(three: dict[str, ab.Repository]) -> None:
    raw, inputs, repo = three["raw"], three["inputs"], three["reports"]
    bottom = put(raw, 2, [ab.external("kafka://orders")])
    left = put(inputs, 2, [bottom.hash])
    right = put(inputs, 3, {"raw": "raw@main"})
    top = put(repo, 2, {"right": right, "left": left, "also": bottom.hash})
    up = [
        (short("inputs", right), "right", 1),
        (short("inputs", left), "left", 1),
        (short("raw", bottom), "also", 2),
        ("kafka://orders", None, 3),
    ]
    assert asked(repo.provenance()) == up
    assert set(repo.provenance()[2].via) == {top.hash, left.hash, right.hash}
    assert asked(repo.provenance(direct=True)) == [*up[:2], (short("raw", bottom), "also", 1)]
    down = raw.derived()
    assert [(str(e), e.depth) for e in down] == [
        (short("inputs", left), 1),
        (short("inputs", right), 1),
        (short("reports", top), 2),
    ]
    assert {e.hash for e in raw.derived(direct=True)} == {left.hash, right.hash, top.hash}
    assert repo.derived() == inputs.provenance("main~2") == []
    drawn = as_mermaid(repo.provenance(), top.hash).splitlines()
    assert len(drawn) == len(set(drawn)) == 2 + 4 + 6, drawn


def test_a_squash_is_made_from_its_sources_and_from_what_they_were_made_from(three: dict[str, ab.Repository]) -> None:
    repo, raw = three["reports"], three["raw"].show()
    repo.branch("dev")
    put(repo, 2, {"raw": "raw@main"}, branch="dev")
    head = put(repo, 3, ["inputs@main"], branch="dev")
    made = repo.merge("dev", mode="squash").commit
    assert made is not None
    inputs = three["inputs"].show()
    assert set(asked(repo.provenance(made.hash, direct=True))) == {
        (short("reports", head), None, 1),
        (short("raw", raw), "raw", 1),
        (short("inputs", inputs), None, 1),
    }
    repo.delete_branch("dev", force=True)
    repo.gc(grace=0, reflog=0)
    assert {str(e) for e in repo.provenance(made.hash)} == {
        f"{head.hash[:10]} (not here)",
        short("raw", raw),
        short("inputs", inputs),
    }


def test_a_pick_and_a_rebase_keep_what_their_commits_were_made_from(three: dict[str, ab.Repository]) -> None:
    repo, raw = three["reports"], three["raw"].show()
    repo.branch("dev")
    repo.branch("other")
    old = put(repo, 2, {"raw": "raw@main"}, branch="dev")
    put(repo, 3)
    put(repo, 4, branch="other")
    picked = repo.cherry_pick("dev", on="other")
    repo.rebase("dev", onto="main")
    assert picked is not None
    for ref in (picked.hash, "dev"):
        assert repo.show(ref).provenance == (old.hash, raw.hash)
        assert (short("raw", raw), "raw") in [e[:2] for e in asked(repo.provenance(ref))]


def test_a_merge_tells_what_it_brought_in_also_from_afar(three: dict[str, ab.Repository]) -> None:
    repo, raw = three["inputs"], three["raw"].show()
    repo.branch("dev")
    put(repo, 2, {"raw": "raw@main"}, branch="dev")
    put(repo, 3, [ab.external("known before")])
    merged = repo.merge("dev").commit
    assert merged is not None
    assert (len(merged.parents), merged.provenance) == (2, ())
    assert asked(repo.provenance()) == [(short("raw", raw), "raw", 1)]
    assert repo.provenance()[0].via == (merged.hash,)
    top = put(three["reports"], 2, ["inputs@main"])
    assert asked(three["reports"].provenance(top.hash)) == [
        (short("inputs", merged), None, 1),
        (short("raw", raw), "raw", 2),
    ]


def test_what_was_made_from_a_commit_is_told_with_the_merges_that_brought_it_in(
    three: dict[str, ab.Repository],
) -> None:
    repo = three["inputs"]
    for branch in ("dev", "far"):
        repo.branch(branch)
    made = put(repo, 2, {"raw": "raw@main"}, branch="dev")
    put(repo, 3, branch="far")
    put(repo, 4)
    near = repo.merge("dev", into="far").commit
    merged = repo.merge("far", into="main").commit
    put(repo, 5, branch="far")
    later = repo.merge("far", into="main").commit
    top = put(three["reports"], 2, {"made": "inputs@main~1"})
    assert near is not None
    assert merged is not None
    assert later is not None
    found = three["raw"].derived("main")
    assert {e.hash: e.depth for e in found} == {made.hash: 1, near.hash: 1, merged.hash: 1, top.hash: 2}
    assert all(three["raw"].show().hash in {o.hash for o in repo.provenance(e.hash)} for e in found if e.depth == 1)
    assert [e.hash for e in three["raw"].derived("main", direct=True)] == [e.hash for e in found if e.depth == 1]


def test_a_dropped_repository_leaves_hashes_that_are_told_as_not_here(
    three: dict[str, ab.Repository], place: Path
) -> None:
    repo, raw = three["reports"], three["raw"].show()
    put(repo, 2, {"orders": "raw@main"})
    three.pop("raw").close()
    ab.drop_repository(place, "raw")
    (entry,) = repo.provenance()
    assert (entry.hash, entry.repository, entry.role, entry.message) == (raw.hash, None, "orders", None)
    assert str(entry) == f"{raw.hash[:10]} (not here)"
    repo.verify().raise_damages()


def test_an_open_commit_keeps_its_provenance_over_the_process(three: dict[str, ab.Repository], place: Path) -> None:
    raw = three["raw"].show()
    given = [{"orders": "raw@main"}, ab.external("s3://b/k@1"), "main"]
    first = three["reports"].start("main", message="slowly", provenance=given)
    first.table("t").insert([{"id": 2, "v": 2}])
    put(three["raw"], 9)
    with ab.open(place, repository="reports", engine="duck") as again:
        again.verify().raise_damages()
        base = again.show()
        (opened,) = again.open_commits()
        made = opened.finish()
        told = [(e.hash or e.source, e.role) for e in again.provenance(made.hash)]
        assert told == [(raw.hash, "orders"), (base.hash, None), ("s3://b/k@1", None)]


def test_provenance_draws_itself_in_a_notebook(repo: ab.Repository) -> None:
    put(repo, 2, {"orders": "inputs@main", "logs": ab.external("<b>here</b>")})
    found = repo.provenance()
    assert isinstance(found, list)
    drawn = found._repr_html_()  # type: ignore[attr-defined]
    assert all(word in drawn for word in ("orders", "load inputs", "&lt;b&gt;here&lt;/b&gt;"))
