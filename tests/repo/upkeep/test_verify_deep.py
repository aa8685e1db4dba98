"""What only reading the rows can tell: a view that shows another state than its commit."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select, update

import anabranch as ab
from anabranch.catalog import tables as t


def test_a_view_of_another_state_is_found_by_reading_its_rows(tmp_path: Path) -> None:
    with ab.init(
        tmp_path / "s", engine="duck", settings=ab.Settings(folding=ab.FoldingSettings(commit_limit=0))
    ) as repo:
        with repo.commit("main", "make") as tx:
            tx.create_table("t", [{"id": n, "v": 1} for n in range(3)], key="id")
        with repo.commit("main", "change all") as tx:
            tx.table("t").update({"v": 2})
        repo.optimize("t")
        assert repo.verify(deep=True).damages == ()
        with repo._ctx.catalog.write() as cx:
            first, second = cx.execute(select(t.views.c.id).order_by(t.views.c.commit_index)).scalars()
            c = t.view_objects.c
            old = select(c.object_id).where(c.view_id == first).scalar_subquery()
            cx.execute(update(t.view_objects).where(c.view_id == second).values(object_id=old))
    with ab.open(tmp_path / "s", engine="duck") as repo:  # nothing is remembered
        assert repo.verify().damages == ()
        (damage,) = repo.verify(deep=True).damages
        assert "what its views show is not what the state before and the change make" in str(damage)


def test_tables_that_were_dropped_with_their_namespace_are_sound(tmp_path: Path) -> None:
    with ab.init(tmp_path / "s", engine="duck") as repo:
        with repo.commit("main", "make") as tx:
            tx.create_namespace("s")
            tx.create_namespace("s.u")
            for name in ("s.t", "s.u.t"):
                tx.create_table(name, [{"id": 1}], key="id")
        repo.branch("dev")
        with repo.commit("main", "drop") as tx:
            tx.drop_namespace("s", cascade=True)
        repo.verify(deep=True).raise_damages()
        repo.revert("main")
        assert [t.name for t in repo.tables()] == ["s.t", "s.u.t"]
        with repo.commit("main", "drop again") as tx:
            tx.table("s.t").insert([{"id": 2}])
            tx.drop_namespace("s", cascade=True)
        repo.merge("main", into="dev")
        assert repo.tables(at="dev") == []
        repo.verify(deep=True).raise_damages()
