"""When to fold and what to rewrite: tables of cases over layers that no object stands behind."""

from __future__ import annotations

import random

import pytest

from anabranch.model.ids import ObjectId, SchemaId, new_id
from anabranch.model.objects import KeyRange, Layer, ObjectKind, StoredObject, ViewKind
from anabranch.plan.folding import (
    Limits,
    bite,
    groups,
    is_due,
    joining,
    kept_layers,
    neighbours,
    outgrown,
    runs,
    small,
    thick,
)

LIMITS = Limits(fold_rows=1000, file_rows=400, rewrite_rows=300, share=0.05, turns=4)


def layer(turn: int, kind: ObjectKind, rows: int, low: int = 0, high: int = 999, view: ViewKind | None = None) -> Layer:
    stored = StoredObject(
        ObjectId(new_id("o")), kind, "", rows, rows, SchemaId("s"), KeyRange((low,), (high,)), (), "inline", None
    )
    return Layer(turn, stored, view)


def overlay(*sizes: int, loose: int = 0) -> list[Layer]:
    """A snapshot, folds of these sizes, and loose changes of ten rows."""
    found = [layer(0, "rows", 10_000, view="snapshot")]
    found += [layer(n, "update", size, view="fold") for n, size in enumerate(sizes, 1)]
    return found + [layer(len(sizes) + n, "update", 10) for n in range(1, loose + 1)]


def sizes_of(layers: list[Layer], limits: Limits = LIMITS) -> list[list[int]]:
    return [[run.row_count for run in group] for group in groups(runs(layers), limits)]


@pytest.mark.parametrize(
    ("loose", "limit", "due"), [(0, 3, False), (2, 3, False), (3, 3, True), (9, 3, True), (9, 0, False)]
)
def test_folding_is_due_when_the_loose_commits_reach_the_limit(loose: int, limit: int, due: bool) -> None:
    assert is_due(overlay(50, loose=loose), limit) == due
    if loose:
        assert is_due(overlay(50, loose=loose - 1), limit, pending=1) == due


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        (overlay(), []),
        (overlay(loose=3), [[10, 10, 10]]),
        (overlay(240, loose=3), [[240, 10, 10, 10]]),
        (overlay(241, loose=3), [[241], [10, 10, 10]]),
        (overlay(700, 30, loose=3), [[700], [30, 10, 10, 10]]),
        (overlay(480, 30, loose=3), [[480, 30, 10, 10, 10]]),
        (overlay(990, loose=3), [[990], [10, 10, 10]]),
        (overlay(600, 500, 30, loose=3), [[600], [500], [30, 10, 10, 10]]),
    ],
)
def test_a_fold_joins_those_above_it_when_they_have_an_eighth_of_its_rows(
    layers: list[Layer], expected: list[list[int]]
) -> None:
    assert sizes_of(layers) == expected


def test_no_fold_exceeds_its_limit() -> None:
    assert sizes_of(overlay(600, 300, 100, loose=20)) == [[600], [300, 100, *[10] * 20]]


def test_rows_in_files_of_proper_size_are_never_folded_and_nothing_is_folded_across_them() -> None:
    layers = [*overlay(30), layer(2, "update", 10), layer(3, "rows", 100), layer(4, "update", 10), layer(5, "rows", 9)]
    assert sizes_of(layers) == [[30, 10], [100], [10, 9]]


def test_tiers_stay_few_and_each_row_is_folded_few_times() -> None:
    folds: list[int] = []
    written = 0
    for _ in range(1000):
        layers = overlay(*folds, loose=16)
        found = sizes_of(layers, Limits(None, 400, None, 0.05, 4))
        written += sum(sum(group) for group in found if len(group) > 1)
        folds = [sum(group) for group in found]
    assert sum(folds) == 160_000
    assert len(folds) <= 4
    assert written <= 160_000 * 20


def test_a_snapshot_keeps_other_files_and_only_changes_that_may_act_on_them() -> None:
    first, second = layer(0, "rows", 100, 0, 9), layer(0, "rows", 100, 10, 19)
    left, right, both = layer(1, "update", 5, 0, 9), layer(2, "delete", 5, 12, 15), layer(3, "update", 5, 0, 19)
    late = layer(4, "rows", 100, 0, 9)
    layers = [first, second, left, right, both, late]
    assert kept_layers(layers, [first]) == (second, right, both, late)
    assert kept_layers(layers, [second]) == (first, left, both, late)
    assert kept_layers(layers, [first, second]) == (late,)


def test_files_with_a_kept_one_between_them_are_not_put_together() -> None:
    one, two, three, four = (layer(0, "rows", 9, low, low + 8) for low in (0, 10, 20, 30))
    assert neighbours([four, one, two], [three]) == ((one, two), (four,))
    assert neighbours([one, two, three], [four]) == ((one, two, three),)
    assert neighbours([one, four], [layer(0, "rows", 99, 0, 99)]) == ((one, four),)
    assert neighbours([], [one]) == ()


def test_files_are_rewritten_where_the_overlay_is_thick() -> None:
    thin, other = layer(0, "rows", 200, 0, 99), layer(0, "rows", 200, 100, 199)
    layers = [thin, other, layer(1, "update", 3, 0, 99), layer(1, "update", 15, 100, 199)]
    assert thick(layers, LIMITS) == (other,)
    assert bite(layers, LIMITS) == (other,)


def test_a_change_is_spread_over_the_files_that_it_meets() -> None:
    files = [layer(0, "rows", 200, n * 100, n * 100 + 99) for n in range(10)]
    assert thick([*files, layer(1, "update", 99)], LIMITS) == ()
    assert set(thick([*files, layer(1, "update", 100)], LIMITS)) == set(files)


def test_many_thin_turns_are_thick_too() -> None:
    file = layer(0, "rows", 100_000)
    assert thick([file, *(layer(n, "update", 1) for n in range(1, 5))], LIMITS) == ()
    assert thick([file, *(layer(n, "update", 1) for n in range(1, 6))], LIMITS) == (file,)


def test_a_commit_rewrites_no_more_than_its_limit_and_the_thickest_first() -> None:
    big = layer(0, "rows", 301, 0, 9)
    files = [layer(0, "rows", 70, n * 10, n * 10 + 9) for n in range(1, 5)]
    changes = [layer(1, "update", 10 + n, n * 10, n * 10 + 9) for n in range(5)]
    assert bite([big, *files, *changes], LIMITS) == (files[3], files[2]), "several fill half of the limit at most"
    one = layer(0, "rows", 300, 50, 59)
    thickest = layer(1, "update", 250, 50, 59)
    assert bite([big, *files, *changes, one, thickest], LIMITS) == (one,), "one alone may fill all of it"


def test_a_commit_rewrites_nothing_if_many_turns_would_be_left_for_others() -> None:
    small_file, big = layer(0, "rows", 100, 0, 9), layer(0, "rows", 310, 0, 999)
    some = [layer(n, "update", 10, 0, 9) for n in range(1, 5)]
    assert bite([small_file, big, *some], LIMITS) == (small_file,)
    assert bite([small_file, big, *some, layer(5, "update", 10, 0, 9)], LIMITS) == ()


def test_small_files_go_along_with_one_that_is_rewritten() -> None:
    file, change = layer(0, "rows", 200, 0, 99), layer(1, "update", 15, 0, 99)
    crumbs = [layer(2, "rows", 10, 100 + n, 100 + n) for n in range(9)]
    assert bite([file, change, *crumbs], LIMITS) == (file, *crumbs)
    assert bite([file, change, *crumbs[6:]], LIMITS) == (file, *crumbs[6:]), "few add little"
    assert bite([file, change, *crumbs[1:]], LIMITS) == (file, *crumbs[1:6]), "eight are few: a quarter at most"
    assert bite([file, change, crumbs[0]], LIMITS) == (file,), "one alone has nothing to go with"
    assert bite([file, *crumbs], LIMITS) == (), "nothing is thick: no snapshot is written for them alone"
    wide = [layer(2, "rows", 30, 100 + n, 100 + n) for n in range(9)]
    assert bite([file, change, *wide], LIMITS) == (file, *wide[:3]), "as far as the limit reaches"


def test_small_files_are_put_together_if_there_are_several() -> None:
    proper, one, two = layer(0, "rows", 100), layer(0, "rows", 99), layer(1, "rows", 1)
    assert small([proper, one], LIMITS) == ()
    assert small([proper, one, two], LIMITS) == (one, two)


def test_small_files_with_a_kept_one_between_them_are_not_written_again() -> None:
    low, proper, high = layer(0, "rows", 5, 0, 9), layer(0, "rows", 400, 10, 19), layer(0, "rows", 5, 20, 29)
    assert joining([low, proper, high], [], [low, high]) == []
    beside = layer(0, "rows", 5, 30, 39)
    assert joining([low, proper, high, beside], [], [low, high, beside]) == [high, beside]
    assert joining([low, proper, high], [proper], [low, high]) == [low, high]


def test_an_overlay_of_more_objects_than_the_snapshot_becomes_one() -> None:
    few = [layer(0, "rows", 500, view="snapshot")]
    appended = [layer(n, "rows", 500, view="fold") for n in range(1, 66)]
    assert not outgrown([*few, *appended[:64]], LIMITS)
    assert outgrown([*few, *appended], LIMITS)
    assert not outgrown([*few * 70, *appended], LIMITS)
    changes = [layer(n, "update", 1) for n in range(70, 75)]
    assert not outgrown([*few, *appended, *changes], LIMITS)


def test_groups_keep_every_run_once_and_in_order() -> None:
    chance = random.Random(1)
    for _ in range(200):
        layers = overlay(*(chance.randrange(1, 900) for _ in range(chance.randrange(6))), loose=chance.randrange(9))
        found = groups(runs(layers), LIMITS)
        assert tuple(run for group in found for run in group) == runs(layers)
        assert all(sum(r.row_count for r in g) <= 1000 for g in found if len(g) > 1)
