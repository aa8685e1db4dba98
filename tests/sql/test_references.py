"""References: tables are found wherever a query reads them, and nowhere else; the rest of the text stays as it is."""

# ruff: noqa: E501 -- a query and what it becomes are read side by side

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.sql.moments import Moment, Span
from anabranch.sql.references import Reference, find_references, splice
from anabranch.sql.version_statements import Argument


def spliced(text: str) -> str:
    found = find_references(text)
    return splice(text, found, [f"<{r.name}>" for r in found])


CASES = [
    ("select * from t", "select * from <t> AS `t`"),
    ("select * from t x", "select * from <t> x"),
    ("select * from t as x, u", "select * from <t> as x, <u> AS `u`"),
    ("select t.a from s.t where s.t.a = 1", "select t.a from <s.t> AS `t` where t.a = 1"),
    ("select s.t.a from s.t x", "select s.t.a from <s.t> x"),
    ("select * from `a b`.`t``x`", "select * from <a b.t`x> AS `t``x`"),
    ("with a as (select * from t) select * from a, A x, t", "with a as (select * from <t> AS `t`) select * from a, A x, <t> AS `t`"),
    ("with a (x) as (select 1), b as (select * from a) select * from b", "with a (x) as (select 1), b as (select * from a) select * from b"),
    ("select * from (with a as (select 1) select * from a) q, a", "select * from (with a as (select 1) select * from a) q, <a> AS `a`"),
    ("with recursive a as (select 1 union all select * from a) select * from a", "with recursive a as (select 1 union all select * from a) select * from a"),
    ("select * from (t join u on t.a = u.a)", "select * from (<t> AS `t` join <u> AS `u` on t.a = u.a)"),
    ("select * from ((select * from t)) x", "select * from ((select * from <t> AS `t`)) x"),
    ("from t |> where a |> union all table u |> join v using (a)", "from <t> AS `t` |> where a |> union all table <u> |> join <v> AS `v` using (a)"),
    ("table t", "table <t>"),
    ("select * from f(table(t))", "select * from f(table(<t>))"),
    ("select * from t lateral view explode(a) e as x, y", "select * from <t> AS `t` lateral view explode(a) e as x, y"),
    ("select * from values (1), (2) as v(a), t", "select * from values (1), (2) as v(a), <t> AS `t`"),
    ("select * from t tablesample (10 percent) repeatable (3), u", "select * from <t> tablesample (10 percent) repeatable (3) AS `t`, <u> AS `u`"),
    ("select extract(year from d), trim(both 'x' from y), a is distinct from b from t", "select extract(year from d), trim(both 'x' from y), a is distinct from b from <t> AS `t`"),
    ("select * from range(3) r join t on true", "select * from range(3) r join <t> AS `t` on true"),
    ("select (select max(a) from u) from t where a in (select 1 from v)", "select (select max(a) from <u> AS `u`) from <t> AS `t` where a in (select 1 from <v> AS `v`)"),
    ("select * from t pivot (sum(a) for b in (1, 2)) p", "select * from <t> AS `t` pivot (sum(a) for b in (1, 2)) p"),
    ("select * from t order by a", "select * from <t> AS `t` order by a"),
    ("select * from t order", "select * from <t> order"),
    ("select * from t where where where.a", "select * from <t> where where where.a"),
    ("select 'from x', \"from y\", `from z` -- from c\nfrom t", "select 'from x', \"from y\", `from z` -- from c\nfrom <t> AS `t`"),
    ("select t.from from t", "select t.from from <t> AS `t`"),
    ("select * from a natural join b left anti join c on true cross join d", "select * from <a> AS `a` natural join <b> AS `b` left anti join <c> AS `c` on true cross join <d> AS `d`"),
    ("select * from t group by a with rollup", "select * from <t> AS `t` group by a with rollup"),
    ("select * from parquet.`/data/x`", "select * from parquet.`/data/x`"),
    ("select * from {df} join {df} x", "select * from <df> AS `df` join <df> x"),
    ("select * from t join lateral (select * from u) v", "select * from <t> AS `t` join lateral (select * from <u> AS `u`) v"),
    ("select * except (a) from t except select * from u", "select * except (a) from <t> AS `t` except select * from <u> AS `u`"),
    ("select first(a) over (partition by b order by c) from t window w as (order by a)", "select first(a) over (partition by b order by c) from <t> AS `t` window w as (order by a)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_only_references_to_tables_change(text: str, expected: str) -> None:
    assert spliced(text) == expected


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("t VERSION AS OF 'v1'", Moment("version", "v1")),
        ("t version as of main~2", Moment("version", "main~2")),
        ("t FOR VERSION AS OF 7", Moment("version", "7", "number")),
        ("t FOR SYSTEM_VERSION AS OF 'v1'", Moment("version", "v1")),
        ("t SYSTEM_VERSION AS OF :v", Moment("version", "v", "parameter")),
        ("t TIMESTAMP AS OF '2026-01-01'", Moment("timestamp", "2026-01-01")),
        ("t FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 10:00:00'", Moment("timestamp", "2026-01-01 10:00:00")),
        ("t TIMESTAMP AS OF now() - INTERVAL 1 DAY", Moment("timestamp", "now() - INTERVAL 1 DAY", "expression")),
        ("t@v3", Moment("version", "3", "number")),
        ("t@v'main~2'", Moment("version", "main~2")),
        ("t@dev", Moment("version", "dev")),
        ("t@20260102030405678", Moment("timestamp", "2026-01-02T03:04:05.678")),
    ],
)
@pytest.mark.parametrize("rest", ["", " x", " AS x", " WHERE a = 1", ", u"])
def test_a_table_may_be_read_at_another_state(written: str, moment: Moment, rest: str) -> None:
    text = f"SELECT * FROM {written}{rest}"
    first = find_references(text)[0]
    assert (first.parts, first.moment) == (("t",), moment)
    assert text[first.start : first.end] == written
    assert (first.alias_at is None) == (rest in (" x", " AS x"))


@pytest.mark.parametrize(
    ("written", "span"),
    [
        ("CHANGES FROM VERSION 'a' TO VERSION 'b'", Span(Moment("version", "a"), Moment("version", "b"))),
        ("CHANGES FROM VERSION a EXCLUSIVE", Span(Moment("version", "a"), None, from_inclusive=False)),
        (
            "changes from timestamp '2026-01-01' to version main exclusive",
            Span(Moment("timestamp", "2026-01-01"), Moment("version", "main"), to_inclusive=False),
        ),
    ],
)
def test_changes_of_a_table_may_be_read(written: str, span: Span) -> None:
    (found,) = find_references(f"SELECT * FROM t {written}")
    assert found.changes == span


def test_system_tables_may_be_called() -> None:
    (found,) = find_references("SELECT * FROM ana.diff('t', main~1, :b, null, -3) d")
    forms = [("t", "text"), ("main~1", "text"), ("b", "parameter"), ("", "null"), ("-3", "number")]
    assert found.arguments == tuple(Argument(v, f) for v, f in forms)  # type: ignore[arg-type]


def test_names_may_be_given_as_text_or_parameter() -> None:
    text, parameter = find_references("SELECT * FROM IDENTIFIER('s.t') a, IDENTIFIER(:name) b")
    assert (text.parts, text.parameter) == (("s", "t"), False)
    assert (parameter.parts, parameter.parameter) == (("name",), True)


def test_a_stream_is_refused() -> None:
    with pytest.raises(ab.InvalidRequest, match="no stream"):
        find_references("SELECT * FROM STREAM t")


def test_what_is_left_alone_stays_as_it_is() -> None:
    text = "SELECT s.v.a FROM s.v, t"
    found = find_references(text)
    assert splice(text, found, [None, "<t>"]) == "SELECT s.v.a FROM s.v, <t> AS `t`"
    assert isinstance(found[0], Reference)
