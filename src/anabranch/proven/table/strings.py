"""Functions of strings and bytes. Those that depend on letter case are for ASCII: the engines' Unicode tables
differ."""

from __future__ import annotations

from anabranch.proven.table.row import proof


def _strict(count: int, text: str) -> str:
    """Make a text null where any of its arguments is."""
    known = " AND ".join(f"${n} IS NOT NULL" for n in range(1, count + 1))
    return f"CASE WHEN {known} THEN {text} END"


_SUBSTRING = (
    "CASE WHEN $3 <= 0 THEN '' WHEN $2 > 0 THEN substring($1, $2, $3) WHEN $2 = 0 THEN substring($1, 1, $3)"
    " WHEN $2 + length($1) >= 0 THEN substring($1, $2 + length($1) + 1, $3)"
    " ELSE substring($1, 1, greatest(0, CAST($3 AS BIGINT) + $2 + length($1))) END"
)
_PAD = "CASE WHEN $2 <= 0 THEN '' WHEN length($1) >= $2 OR length($3) = 0 THEN left($1, $2) ELSE {}pad($1, $2, $3) END"
_LOCATE = (
    "CASE WHEN $3 IS NULL THEN 0 WHEN $1 IS NULL OR $2 IS NULL THEN NULL WHEN $3 <= 0 THEN 0 WHEN $1 = '' THEN 1"
    " WHEN instr(substring($2, $3), $1) = 0 THEN 0 ELSE CAST(instr(substring($2, $3), $1) + $3 - 1 AS INTEGER) END"
)
_OVERLAY = "left($1, $3 - 1) || $2 || substring($1, $3 + $4)"

_ASCII = "CASE WHEN strlen($1) = length($1) THEN {} WHEN $1 IS NOT NULL THEN $only_spark END"
"""For what is proven for ASCII only, which has as many bytes as characters."""
_BEYOND = "the case of letters beyond ASCII"
_TITLE = (
    "array_to_string(list_transform(string_split(lower($1), ' '), lambda x: upper(left(x, 1)) || substring(x, 2)), ' ')"
)
_TEXTS = ("string", "binary")

CASES = [
    proof("upper ucase", "string", "string", _ASCII.format("upper($1)"), guard=_BEYOND),
    proof("lower lcase", "string", "string", _ASCII.format("lower($1)"), guard=_BEYOND),
    proof("initcap", "string", "string", _ASCII.format(_TITLE), guard=_BEYOND),
    proof("ilike", "string, ascii", "boolean", _ASCII.format("lower($1) LIKE lower($2)"), guard=_BEYOND),
]

LENGTHS = [
    proof("length len char_length character_length", "string", "int", "CAST(length($1) AS INTEGER)"),
    proof("length len char_length character_length", "binary", "int", "CAST(octet_length($1) AS INTEGER)"),
    proof("octet_length", "string", "int", "CAST(strlen($1) AS INTEGER)"),
    proof("octet_length", "binary", "int", "CAST(octet_length($1) AS INTEGER)"),
    proof("bit_length", "string", "int", "CAST(strlen($1) * 8 AS INTEGER)"),
    proof("bit_length", "binary", "int", "CAST(octet_length($1) * 8 AS INTEGER)"),
]

PARTS = [
    proof("substring substr", "string, int", "string", _strict(2, _SUBSTRING.replace("$3", "2147483647"))),
    proof("substring substr", "string, int, int", "string", _strict(3, _SUBSTRING)),
    proof("left", "string, int", "string", _strict(2, "CASE WHEN $2 <= 0 THEN '' ELSE left($1, $2) END")),
    proof("right", "string, int", "string", _strict(2, "CASE WHEN $2 <= 0 THEN '' ELSE right($1, $2) END")),
    proof("trim btrim", "string", "string", "trim($1, ' ')"),
    proof("ltrim", "string", "string", "ltrim($1, ' ')"),
    proof("rtrim", "string", "string", "rtrim($1, ' ')"),
    proof("btrim trim_of", "string, string", "string", "trim($1, $2)"),
    proof("ltrim_of", "string, string", "string", "ltrim($1, $2)"),
    proof("rtrim_of", "string, string", "string", "rtrim($1, $2)"),
    proof(
        "split_part",
        "string, string, int",
        "string",
        _strict(
            3,
            "CASE WHEN $3 = 0 THEN CAST(CAST('the part 0 of a string' AS INTEGER) AS VARCHAR)"
            " WHEN $2 = '' THEN CASE WHEN $3 IN (1, -1) THEN $1 ELSE '' END ELSE split_part($1, $2, $3) END",
        ),
        may_fail=True,
    ),
    proof(
        "substring_index",
        "string, character, int",
        "string",
        _strict(
            3,
            "CASE WHEN $2 = '' OR $3 = 0 THEN '' WHEN $3 > 0 THEN array_to_string(string_split($1, $2)[1:$3], $2)"
            " ELSE array_to_string(string_split($1, $2)[$3:], $2) END",
        ),
    ),
]

SEARCHES = [
    proof("instr", "string, string", "int", "CAST(instr($1, $2) AS INTEGER)"),
    proof("position locate", "string, string", "int", "CAST(instr($2, $1) AS INTEGER)"),
    proof("position locate", "string, string, int", "int", _LOCATE),
    proof("startswith", "string, string", "boolean", "starts_with($1, $2)"),
    proof("endswith", "string, string", "boolean", "ends_with($1, $2)"),
    proof("contains", "string, string", "boolean", "contains($1, $2)"),
    proof(
        "find_in_set",
        "string, string",
        "int",
        _strict(
            2,
            "CASE WHEN contains($1, ',') THEN 0"
            " ELSE coalesce(CAST(list_position(string_split($2, ','), $1) AS INTEGER), 0) END",
        ),
    ),
    proof("ascii", "string", "int", "CASE WHEN $1 = '' THEN 0 ELSE CAST(ascii($1) AS INTEGER) END"),
]

MADE = [
    proof("concat ||", "string, string*", "string", "$|"),
    proof("concat_ws", "string, string, string*", "string", "concat_ws($*)"),
    proof("replace", "string, string", "string", "replace($1, $2, '')"),
    proof(
        "replace",
        "string, string, string",
        "string",
        _strict(3, "CASE WHEN $2 = '' THEN $1 ELSE replace($1, $2, $3) END"),
    ),
    proof("translate", "string, string, string", "string", "translate($1, $2, $3)"),
    proof("reverse", "string", "string", "coalesce(array_to_string(list_reverse(string_split($1, '')), ''), $1)"),
    proof("repeat", "string, int", "string", _strict(2, "repeat($1, greatest($2, 0))")),
    proof("space", "int", "string", "CASE WHEN $1 IS NOT NULL THEN repeat(' ', greatest($1, 0)) END"),
    proof("lpad", "string, int, string", "string", _strict(3, _PAD.format("l"))),
    proof("rpad", "string, int, string", "string", _strict(3, _PAD.format("r"))),
    proof("lpad", "string, int", "string", _strict(2, _PAD.format("l").replace("$3", "' '"))),
    proof("rpad", "string, int", "string", _strict(2, _PAD.format("r").replace("$3", "' '"))),
    proof("chr char", "bigint", "string", "CASE WHEN $1 < 0 THEN '' ELSE chr(CAST($1 & 255 AS INTEGER)) END"),
    proof("overlay", "string, string, count, count", "string", _OVERLAY),
    proof("overlay", "string, string, count", "string", _OVERLAY.replace("$4", "length($2)")),
]

BYTES = [
    *[proof("hex", kind, "string", "hex($1)") for kind in _TEXTS],
    proof("unhex", "string", "binary", "CASE WHEN regexp_full_match($1, '[0-9a-fA-F]*') THEN unhex($1) END"),
    *[proof("md5", kind, "string", "md5($1)") for kind in _TEXTS],
    *[proof("sha1 sha", kind, "string", "sha1($1)") for kind in _TEXTS],
    *[proof("sha2", f"{kind}, '256|0'", "string", "sha256($1)") for kind in _TEXTS],
    proof("encode", "string, 'utf-8'", "binary", "encode($1)"),
    proof("decode", "binary, 'utf-8'", "string", "decode($1)", may_fail=True),
    proof("to_binary", "string, 'utf-8|utf8'", "binary", "encode($1)"),
    proof("concat ||", "binary, binary", "binary", "$1 || $2"),
    proof("startswith", "binary, binary", "boolean", "starts_with(hex($1), hex($2))"),
    proof("endswith", "binary, binary", "boolean", "ends_with(hex($1), hex($2))"),
]

STRINGS = [*CASES, *LENGTHS, *PARTS, *SEARCHES, *MADE, *BYTES]
