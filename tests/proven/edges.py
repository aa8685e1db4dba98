"""Values at the edges of every type, as rows: each column walks through its list at a pace of its own."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa

from anabranch.arrow.types import arrow_type
from anabranch.model.schema import make_schema, parse_columns

ROWS = 113
NAN, INF = float("nan"), float("inf")

_NUMBERS = [0.0, -0.0, 1.5, -1.5, 0.5, -0.5, 2.5, 0.1, 3.0, -7.25, 1e10, 123456.789, NAN, INF, -INF, None]
_DAYS = [
    *(dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29)),
    *(dt.date(2023, 2, 28), dt.date(2026, 1, 31), dt.date(2026, 3, 29), dt.date(2020, 12, 31), dt.date(2021, 1, 3)),
    *(dt.date(1582, 10, 10), dt.date(1900, 3, 1), dt.date(2000, 2, 29), dt.date(2026, 10, 25), None),
]
_TIMES = [
    *(dt.time(), dt.time(23, 59, 59, 999999), dt.time(2, 30), dt.time(12, 0, 0, 1), dt.time(1, 2, 3, 400000)),
    *(dt.time(13, 5, 59), dt.time(0, 0, 0, 100)),
]
_MOMENTS = [
    None if day is None else dt.datetime.combine(day, _TIMES[n % len(_TIMES)])
    for n, day in enumerate(_DAYS[2:] + _DAYS[:2] + _DAYS[:13])
]
_TEXTS = [
    *(
        "",
        "a",
        "A",
        "abc",
        "äb%_",
        " a b ",
        "\t x\n",
        "a,b,,c",
        "ß",
        "İıΣς",
        "e\u0301a",
        "🤦🏼‍♂️x",
        "日本語",
        "\U0001f600",
        "x\x00y",
    ),
    *("aaa", "%", "_", "\\", "it's", "\u00a0n\u00a0", "0", "b", "ab", "\ufb01", "zz top", "'", "\u0300", "ABC", None),
]
_WORDS = [
    *(
        "0",
        "1",
        "-1",
        "+7",
        " 12 ",
        "\t5\n",
        "1.5",
        "1e3",
        "",
        " ",
        "abc",
        "127",
        "128",
        "-128",
        "-129",
        "32768",
        "2147483647",
    ),
    *(
        "2147483648",
        "-2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "007",
        "--1",
        "+",
    ),
    *(
        "\u0661",
        "1_000",
        "0x10",
        "true",
        "FALSE",
        "t",
        "N",
        "yes",
        "No",
        "y",
        "on",
        "tru e",
        " TRUE ",
        "2024-02-29",
        "2023-02-29",
    ),
    *(
        "2024-2-9",
        "2024",
        "2024-06",
        "2024-13-01",
        "24-01-01",
        "2024-01-01T10:00",
        "2024-01-01 x",
        "2024-01-01x",
        "99999-01-01",
    ),
    *(
        "-2024-01-01",
        "0000-01-01",
        "2024-01-",
        "2024/01/01",
        " 2024-01-02 ",
        "20240102",
        "\u00a05",
        "5\x00",
        "\x7f5",
        "-0",
        None,
    ),
]
_COLUMNS: dict[str, tuple[str, int, list[Any]]] = {
    "t": ("tinyint", 1, [0, 1, -1, 2, -5, 7, 127, -128, 100, None]),
    "t2": ("tinyint", 3, [3, 0, -128, -1, 1, 127, None, 10]),
    "sm": ("smallint", 1, [0, 1, -1, 255, 32767, -32768, None, 12]),
    "i": ("int", 1, [0, 1, -1, 7, -7, 2**23, 2**31 - 1, -(2**31), 1000, None, 65, 99]),
    "i2": ("int", 5, [3, 0, -1, 2**31 - 1, 1, -(2**31), 2, None, 46341, -10, 10]),
    "big": ("bigint", 1, [0, 1, -1, 2**40, 2**63 - 1, -(2**63), -7, 12345678901, None, 2**53 + 1, 300]),
    "big2": ("bigint", 4, [2, -1, 0, 2**63 - 1, 7, None, -(2**63), 3037000500, 10**12]),
    "n": ("int", 7, [0, 1, 2, 3, -1, -2, -3, 5, 31, 32, 33, 63, 64, -40, 20, 21, None]),
    "d": (
        "decimal(12,2)",
        1,
        [
            *map(Decimal, ("0.00", "1.00", "-12.35", "9999999999.99", "-9999999999.99", "0.01", "2.50")),
            None,
            Decimal("-0.05"),
        ],
    ),
    "d2": ("decimal(7,3)", 2, [*map(Decimal, ("3.000", "0.000", "-0.007", "9999.999", "1.005", "-2.500")), None]),
    "wide": (
        "decimal(20,4)",
        3,
        [*map(Decimal, ("1.0000", "0.0001", "-3.5", "9999999999999999.9999", "0", "-170.25")), None],
    ),
    "f": ("float", 1, [*_NUMBERS, 3.4028234663852886e38, 1.401298464324817e-45, 16777216.0]),
    "f2": ("float", 5, [*_NUMBERS[3:], 0.0, 2.0]),
    "x": (
        "double",
        1,
        [
            *_NUMBERS,
            1.7976931348623157e308,
            5e-324,
            9.223372036854775807e18,
            -9.223372036854775808e18,
            2147483647.5,
            127.9,
            -128.9,
            3.4028235677973366e38,
            4503599627370497.5,
        ],
    ),
    "x2": ("double", 3, [2.0, 0.0, -0.0, NAN, INF, -3.5, 1e-3, 1e200, None, 7.0]),
    "s": ("string", 1, _TEXTS),
    "s2": ("string", 7, [*_TEXTS[1:], "b", "", ","]),
    "s3": ("string", 11, ["", "a", "xy", "🤦", "ab", "e", None]),
    "num": ("string", 1, _WORDS),
    "b": ("boolean", 1, [True, False, None]),
    "b2": ("boolean", 2, [False, False, True, None, True]),
    "day": ("date", 1, _DAYS),
    "day2": ("date", 4, _DAYS),
    "ts": ("timestamp", 1, [None if m is None else m.replace(tzinfo=dt.UTC) for m in _MOMENTS]),
    "ntz": ("timestamp_ntz", 1, _MOMENTS),
    "bin": ("binary", 1, [b"", b"a", b"\xff\x00", b"abc", "ä🤦".encode(), b"\xc3", None]),
    "bin2": ("binary", 2, [b"a", b"", b"bc", b"\xff", None]),
}
SCHEMA = make_schema(parse_columns({"id": "int", **{name: type_ for name, (type_, _, _) in _COLUMNS.items()}}), ["id"])


@cache
def edge_rows() -> pa.Table:
    """All rows; the numbers of rows and of values have no common divisor, so that columns meet in many ways."""
    columns = {"id": list(range(ROWS))}
    for name, (_, pace, values) in _COLUMNS.items():
        columns[name] = [values[(row * pace + row // len(values)) % len(values)] for row in range(ROWS)]
    return pa.table({c.name: pa.array(columns[c.name], arrow_type(c.type)) for c in SCHEMA})
