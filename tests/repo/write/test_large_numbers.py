"""Numbers with more digits than bigint has, from Python."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import anabranch as ab


@pytest.mark.parametrize(
    ("type_", "given", "stored"),
    [
        ("decimal(38,0)", [2**63, -(10**37), 1, None], [Decimal(2**63), Decimal(-(10**37)), Decimal(1), None]),
        ("double", [2**63, 10**300, 1, None], [2.0**63, 1e300, 1.0, None]),
        ("double", [2**64, 1.5], [2.0**64, 1.5]),
        ("array<decimal(38,0)>", [[2**64, 1]], [[Decimal(2**64), Decimal(1)]]),
        ("map<string,double>", [{"a": 2**64}], [{"a": 2.0**64}]),
        ("struct<a:decimal(38,2)>", [{"a": 2**64}], [{"a": Decimal(2**64)}]),
        (None, [2**63, 1], [Decimal(2**63), Decimal(1)]),
        ("decimal(38,18)", [Decimal("9" * 20), Decimal(f"0.{'1' * 17}{'0' * 70}")], None),
        ("decimal(38,5)", [Decimal("9" * 33), Decimal(f"1.{'0' * 10}"), 7], None),
    ],
)
def test_large_numbers_are_taken_where_they_fit(
    duck: ab.Repository, type_: str | None, given: list[Any], stored: list[Any] | None
) -> None:
    schema = {"id": "int", "v": type_} if type_ else None
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": n, "v": v} for n, v in enumerate(given)], schema=schema, key="id")
    assert [row["v"] for row in duck.table("t").rows()] == (stored or given)


@pytest.mark.parametrize(
    ("type_", "given", "problem"),
    [
        ("bigint", [1, 2**63], "a value of column 'v' does not fit bigint: 9223372036854775808 is too large"),
        ("decimal(38,0)", [10**38], r"does not fit decimal\(38,0\): all of them together need 39 digits"),
        ("decimal(20,0)", [10**20], r"does not fit decimal\(20,0\)"),
        ("float", [10**39], "a number is too large for float"),
        ("string", [2**63], r"column 'v' is string, decimal\(38,0\) was given"),
    ],
)
def test_large_numbers_are_refused_where_they_do_not_fit(
    duck: ab.Repository, type_: str, given: list[Any], problem: str
) -> None:
    with pytest.raises(ab.InvalidRequest, match=problem), duck.commit("main", "load") as tx:
        rows = [{"id": n, "v": v} for n, v in enumerate(given)]
        tx.create_table("t", rows, schema={"id": "int", "v": type_}, key="id")
