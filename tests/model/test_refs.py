"""Refs as text: what each form means, and that any other text is refused in our own words."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidRequest
from anabranch.model.refs import Back, Parent, Ref, Shown, parse_ref, parse_time

NOON = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "name", "steps"),
    [
        ("main", "main", ()),
        ("feature/login", "feature/login", ()),
        ("v1.0", "v1.0", ()),
        ("été", "été", ()),
        ("a@b", "a@b", ()),
        ("HEAD", "HEAD", ()),
        ("main~", "main", (Back(1),)),
        ("main~0", "main", (Back(0),)),
        ("main~3", "main", (Back(3),)),
        ("main~~", "main", (Back(1), Back(1))),
        ("main^", "main", (Parent(1),)),
        ("main^0", "main", (Parent(0),)),
        ("main^2", "main", (Parent(2),)),
        ("main^^", "main", (Parent(1), Parent(1))),
        ("main^2~3^", "main", (Parent(2), Back(3), Parent(1))),
        ("main~2^2~1", "main", (Back(2), Parent(2), Back(1))),
        ("main@{0}", "main", (Shown(None, 0),)),
        ("main@{now}", "main", (Shown(None, 0),)),
        ("main@{ 2 }", "main", (Shown(None, 2),)),
        ("main@{2026-11-01T12:00:00Z}", "main", (Shown(NOON),)),
        ("main@{2026-11-01T12:00:00}", "main", (Shown(NOON),)),
        ("main@{2026-11-01 12:00}", "main", (Shown(NOON),)),
        ("main@{2026-11-01T13:00:00+01:00}", "main", (Shown(NOON),)),
        ("main@{2026-11-01}", "main", (Shown(NOON.replace(hour=0)),)),
        ("main@{2026-11-01}~2", "main", (Shown(NOON.replace(hour=0)), Back(2))),
        ("main/7", "main/7", ()),
        ("main/7~2", "main/7", (Back(2),)),
        ("0123abc^2", "0123abc", (Parent(2),)),
        ("~1", "HEAD", (Back(1),)),
        ("^2", "HEAD", (Parent(2),)),
        ("@{1}", "HEAD", (Shown(None, 1),)),
    ],
)
def test_a_ref_is_a_name_and_the_steps_that_lead_on(text: str, name: str, steps: tuple[object, ...]) -> None:
    assert parse_ref(text) == Ref(text, name, steps)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("main/7", ("main", 7)),
        ("feature/x/0", ("feature/x", 0)),
        ("dev.2/12", ("dev.2", 12)),
        ("main/7~1", ("main", 7)),
        ("main", None),
        ("main/", None),
        ("main/x", None),
        ("/7", None),
        ("main/7x", None),
        ("main/-7", None),
    ],
)
def test_a_line_and_an_index_name_a_commit(text: str, position: tuple[str, int] | None) -> None:
    assert parse_ref(text).position == position


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("abcdef", "abcdef"),
        ("ABCDEF0", "abcdef0"),
        ("0" * 64, "0" * 64),
        ("abcdef~2", "abcdef"),
        ("abcde", None),
        ("0" * 65, None),
        ("abcdeg", None),
        ("main", None),
    ],
)
def test_six_or_more_digits_may_be_a_hash(text: str, prefix: str | None) -> None:
    assert parse_ref(text).hash_prefix == prefix


@pytest.mark.parametrize("text", ["a..b", "a...b", "..b", "a..", "main~1..dev", "..", "main@{1}..dev@{2}"])
def test_a_range_is_refused_where_one_commit_is_expected(text: str) -> None:
    with pytest.raises(InvalidRequest, match="range") as caught:
        parse_ref(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "",
        None,
        7,
        b"main",
        "main~x",
        "main~-1",
        "main~1x",
        "main^-1",
        "main^{tree}",
        "main^x",
        "main@{",
        "main@{1",
        "main@{}",
        "main@{yesterday}",
        "main@{2026-13-01}",
        "main@{2026-02-30}",
        "main@{-1}",
        "main@{1.5}",
        "main~1 2",
        "main~1/7",
    ],
)
def test_what_is_not_a_ref_is_refused_with_a_hint(text: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_ref(text)  # type: ignore[arg-type]
    assert caught.value.hint


@pytest.mark.parametrize("text", [f"main~{'9' * 5000}", f"main^{'9' * 5000}", f"main@{{{'9' * 5000}}}"])
def test_a_number_that_no_history_can_have_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_ref(text)


@pytest.mark.parametrize("text", ["main@{²}", "main@{①}", "main@{3²}"])
def test_digits_that_are_no_number_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_ref(text)


@given(st.text(max_size=30))
def test_any_text_is_a_ref_or_is_refused(text: str) -> None:
    try:
        ref = parse_ref(text)
    except InvalidRequest:
        return
    assert ref.text == text
    assert ref.position is None or ref.position[1] >= 0


@given(st.text(alphabet="ma/7~^@{}.²9-:T Z", max_size=14))
def test_any_text_made_of_what_refs_are_made_of_is_a_ref_or_is_refused(text: str) -> None:
    try:
        ref = parse_ref(text)
    except InvalidRequest:
        return
    _ = ref.position, ref.hash_prefix


@given(
    st.sampled_from(["main", "v1", "feature/x"]),
    st.lists(st.tuples(st.sampled_from("~^"), st.integers(0, 10**6)), max_size=6),
)
def test_steps_are_taken_in_the_order_they_are_written(name: str, steps: list[tuple[str, int]]) -> None:
    text = name + "".join(f"{kind}{number}" for kind, number in steps)
    expected = tuple(Back(n) if kind == "~" else Parent(n) for kind, n in steps)
    assert parse_ref(text) == Ref(text, name, expected)


@pytest.mark.parametrize(
    ("given_time", "expected"),
    [
        ("2026-11-01T12:00:00Z", NOON),
        ("2026-11-01T12:00:00", NOON),
        ("2026-11-01T07:00:00-05:00", NOON),
        ("20261101T120000Z", NOON),
        (NOON, NOON),
        (NOON.replace(tzinfo=None), NOON),
        (dt.datetime(2026, 11, 1, 13, tzinfo=dt.timezone(dt.timedelta(hours=1))), NOON),
    ],
)
def test_a_time_without_a_zone_is_utc(given_time: str | dt.datetime, expected: dt.datetime) -> None:
    found = parse_time(given_time, "log")
    assert found == expected
    assert found.tzinfo is not None


@pytest.mark.parametrize("given_time", ["", "soon", "12:00", "2026-11-31", None, 7, 1.5, b"2026-11-01"])
def test_what_is_not_a_time_is_refused(given_time: object) -> None:
    with pytest.raises(InvalidRequest, match="log") as caught:
        parse_time(given_time, "log")  # type: ignore[arg-type]
    assert "ISO 8601" in str(caught.value.hint)
