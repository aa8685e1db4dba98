"""Functions of dates and of timestamps without a zone; with one, Spark's answer depends on the session's time zone."""

from __future__ import annotations

from anabranch.proven.table.row import proof

_EPOCH = "DATE '1970-01-01'"
_WEEKDAYS = (
    "mo|mon|monday",
    "tu|tue|tuesday",
    "we|wed|wednesday",
    "th|thu|thursday",
    "fr|fri|friday",
    "sa|sat|saturday",
    "su|sun|sunday",
)
_FLOORED = "CAST(($1 - (($1 % {0}) + {0}) % {0}) // {0} AS BIGINT)"


def _parts(kind: str) -> list[tuple[str, str]]:
    """Spark's functions for the parts of a date, with DuckDB's equivalents."""
    return [
        ("year", "year($1)"),
        ("quarter", "quarter($1)"),
        ("month", "month($1)"),
        ("day dayofmonth", "day($1)"),
        ("dayofweek", "dayofweek($1) + 1"),
        ("weekday", "isodow($1) - 1"),
        ("dayofyear", "dayofyear($1)"),
        ("weekofyear", "weekofyear($1)"),
        ("extract_yearofweek", "isoyear($1)"),
        ("extract_dow_iso", "isodow($1)"),
    ]


DATES = [
    *[
        proof(names, kind, "int", f"CAST({duck} AS INTEGER)")
        for kind in ("date", "timestamp_ntz")
        for names, duck in _parts(kind)
    ],
    proof("hour", "timestamp_ntz", "int", "CAST(hour($1) AS INTEGER)"),
    proof("minute", "timestamp_ntz", "int", "CAST(minute($1) AS INTEGER)"),
    proof("second", "timestamp_ntz", "int", "CAST(second($1) AS INTEGER)"),
    proof("extract_second", "timestamp_ntz", "decimal(8,6)", "CAST(microsecond($1) || 'e-6' AS DECIMAL(18, 6))"),
    proof("dayname", "date", "string", "strftime($1, '%a')"),
    proof("monthname", "date", "string", "strftime($1, '%b')"),
    proof("date_add dateadd", "date, int", "date", "$1 + $2", may_fail=True),
    proof("date_sub", "date, int", "date", "$1 - $2", may_fail=True),
    proof("datediff date_diff", "date, date", "int", "CAST($1 - $2 AS INTEGER)"),
    proof("add_months", "date, int", "date", "CAST($1 + to_months($2) AS DATE)", may_fail=True),
    proof("last_day", "date", "date", "last_day($1)"),
    *[
        proof("next_day", f"date, '{names}'", "date", f"$1 + CAST(({n} - isodow($1) + 6) % 7 + 1 AS INTEGER)")
        for n, names in enumerate(_WEEKDAYS, 1)
    ],
    proof("trunc", "date, 'year|yyyy|yy'", "date", "CAST(date_trunc('year', $1) AS DATE)"),
    proof("trunc", "date, 'quarter'", "date", "CAST(date_trunc('quarter', $1) AS DATE)"),
    proof("trunc", "date, 'month|mon|mm'", "date", "CAST(date_trunc('month', $1) AS DATE)"),
    proof("trunc", "date, 'week'", "date", "CAST(date_trunc('week', $1) AS DATE)"),
    proof("make_date", "int, int, int", "date", "make_date($1, $2, $3)", may_fail=True),
    proof("unix_date", "date", "int", f"CAST($1 - {_EPOCH} AS INTEGER)"),
    proof("date_from_unix_date", "int", "date", f"{_EPOCH} + $1", may_fail=True),
    proof("unix_micros", "timestamp", "bigint", "epoch_us($1)"),
    proof("unix_millis", "timestamp", "bigint", _FLOORED.format(1000).replace("$1", "epoch_us($1)")),
    proof("unix_seconds", "timestamp", "bigint", _FLOORED.format(1000000).replace("$1", "epoch_us($1)")),
    proof("timestamp_micros", "bigint", "timestamp", "CAST(make_timestamp($1) AS TIMESTAMPTZ)", may_fail=True),
    proof("timestamp_millis", "bigint", "timestamp", "CAST(make_timestamp($1 * 1000) AS TIMESTAMPTZ)", may_fail=True),
    proof(
        "timestamp_seconds", "bigint", "timestamp", "CAST(make_timestamp($1 * 1000000) AS TIMESTAMPTZ)", may_fail=True
    ),
]

INTERVALS = [
    proof("interval_year", "date, int", "date", "CAST($1 + to_years($2) AS DATE)", may_fail=True),
    proof("interval_month", "date, int", "date", "CAST($1 + to_months($2) AS DATE)", may_fail=True),
    proof("interval_week", "date, int", "date", "$1 + $2 * 7", may_fail=True),
    proof("interval_day", "date, int", "date", "$1 + $2", may_fail=True),
    proof("interval_year", "timestamp_ntz, int", "timestamp_ntz", "$1 + to_years($2)", may_fail=True),
    proof("interval_month", "timestamp_ntz, int", "timestamp_ntz", "$1 + to_months($2)", may_fail=True),
    proof("interval_week", "timestamp_ntz, int", "timestamp_ntz", "$1 + to_days($2 * 7)", may_fail=True),
    proof("interval_day", "timestamp_ntz, int", "timestamp_ntz", "$1 + to_days($2)", may_fail=True),
    proof("interval_hour", "timestamp_ntz, int", "timestamp_ntz", "$1 + to_hours($2)", may_fail=True),
    proof("interval_minute", "timestamp_ntz, int", "timestamp_ntz", "$1 + to_minutes($2)", may_fail=True),
    proof("interval_second", "timestamp_ntz, int", "timestamp_ntz", "$1 + to_seconds($2)", may_fail=True),
]
