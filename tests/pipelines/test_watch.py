"""Watching runs a pipeline when an input moved, asks no engine before, and lets one runner work at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch import pipelines as dp
from anabranch.pipelines.run import RunResult
from anabranch.repo.context.context import Engines

Rows = list[dict[str, Any]]


@dp.materialized_view(key="n", frames="rows", version="1")
def counted(orders: Rows) -> Rows:
    return [{"n": len(orders)}]


def test_no_engine_is_asked_until_an_input_moved_and_several_commits_are_one_run(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("orders", [{"id": 1}], key="id")
    pipeline, turns, told = dp.pipeline("sales", counted), [0], list[RunResult | ab.AnabranchError]()
    dp.run(duck, pipeline)
    asked: list[str] = []
    for name in ("spark", "duck"):
        plain = getattr(Engines, name)
        monkeypatch.setattr(
            Engines, name, lambda self, *given, _plain=plain, _name=name: (asked.append(_name), _plain(self, *given))[1]
        )

    def stop() -> bool:
        turns[0] += 1
        if turns[0] == 4:
            assert asked == []
            for n in (2, 3):
                with duck.commit("main", "more") as tx:
                    tx.table("orders").insert([{"id": n}])
        return bool(told) and turns[0] > 6

    dp.watch(duck, pipeline, every_seconds=0.01, stop=stop, notify=told.append)
    (done,) = told
    assert isinstance(done, RunResult)
    assert duck.table("counted").rows() == [{"n": 3}]
    assert "spark" not in asked


def test_a_second_runner_is_refused_while_the_first_one_watches(duck: ab.Repository, tmp_path: Path) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("orders", [{"id": 1}], key="id")
    pipeline, refused = dp.pipeline("sales", counted), []

    def stop() -> bool:
        with ab.open(tmp_path / "store", engine="duck") as other:
            for again in (lambda: dp.run(other, pipeline), lambda: dp.watch(other, pipeline)):
                with pytest.raises(ab.Unavailable, match="pipeline sales is run by") as caught:
                    again()
                refused.append(caught.value)
        return True

    dp.watch(duck, pipeline, stop=stop)
    assert len(refused) == 2
    assert duck.runs() == [], "neither ran"


def test_after_a_failure_nothing_is_tried_until_an_input_moves(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("orders", [{"id": 1}], key="id")
    turns, told = [0], list[Any]()

    @dp.materialized_view(key="n", frames="rows", version="1")
    def fragile(orders: Rows) -> Rows:
        if len(orders) == 1:
            raise ValueError("too few")
        return [{"n": len(orders)}]

    def stop() -> bool:
        turns[0] += 1
        if turns[0] == 6:
            assert len(told) == 1
            with duck.commit("main", "more") as tx:
                tx.table("orders").insert([{"id": 2}])
        return len(told) == 2

    dp.watch(duck, dp.pipeline("sales", fragile), every_seconds=0.01, stop=stop, notify=told.append)
    assert isinstance(told[0], ab.RunFailed)
    assert duck.table("fragile").rows() == [{"n": 2}]


def test_a_run_that_met_rows_of_others_is_made_again(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("orders", [{"id": 1}], key="id")
    dp.run(duck, dp.pipeline("sales", counted))
    turns, told, ran = [0], list[Any](), list[int]()

    @dp.materialized_view(key="n", name="counted", frames="rows", version="2")
    def again(orders: Rows) -> Rows:
        ran.append(len(orders))
        if len(ran) == 1:
            duck.sql("UPDATE counted SET n = 100")
        return [{"n": len(orders) + 1}]

    def stop() -> bool:
        turns[0] += 1
        return len(told) == 2 or turns[0] > 100

    dp.watch(duck, dp.pipeline("sales", again), every_seconds=0.01, stop=stop, notify=told.append)
    assert [type(each) for each in told] == [ab.MergeConflict, RunResult]
    assert duck.table("counted").rows() == [{"n": 2}]


def test_after_a_failure_files_of_another_repository_count_as_inputs(duck: ab.Repository, tmp_path: Path) -> None:
    turns, told = [0], list[Any]()

    @dp.job(inputs={"raw": dp.files("raw/*", repository="lake")}, key="path", shards=1, local=True, version="1")
    def listed(shard: Any) -> Any:
        found = [{"path": file.path} for file in shard.files("raw")]
        if len(found) == 1:
            raise ValueError("too few")
        return found

    with ab.init(tmp_path / "store", repository="lake", engine="duck") as lake:
        with lake.commit("main", "raw") as tx:
            tx.files.put("raw/a", "a")

        def stop() -> bool:
            turns[0] += 1
            if turns[0] == 6:
                assert len(told) == 1
                with lake.commit("main", "more") as tx:
                    tx.files.put("raw/b", "b")
            return len(told) == 2 or turns[0] > 50

        dp.watch(duck, dp.pipeline("files", listed), every_seconds=0.01, stop=stop, notify=told.append)
    assert isinstance(told[0], ab.RunFailed)
    assert duck.table("listed").rows() == [{"path": "raw/a"}, {"path": "raw/b"}]
