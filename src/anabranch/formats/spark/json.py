"""What Spark's reader of JSON passes over: found in the text of the files, before they are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.errors import InvalidRequest
from anabranch.formats.rules.json_shapes import (
    ARRAY,
    BEYOND,
    BEYOND_FROM,
    FRACTION,
    LONG,
    NULL,
    OBJECT,
    TEXT,
    TRUTH,
    WHOLE,
    Kinds,
)
from anabranch.formats.rules.text import LONG_FROM, TextOptions
from anabranch.formats.spark.nested import CORRUPT, STRICT, count_values, variant_of
from anabranch.formats.spark.text import FILE, FileGroup, json_variants, path_of, row_file, run

_CHARSETS = {"latin-1": "ISO-8859-1", "utf-16": "UTF-16"}
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF = r"\\u[dD][89a-fA-F]"
"""Escapes of characters beyond 16 bits come in pairs; half of one is no text."""


@dataclass(frozen=True)
class JsonFacts:
    """What the text of JSON files tells: their keys in the order of their first appearance, and what is strange."""

    keys: Mapping[str, tuple[str, ...]]
    strange: Mapping[str, int]
    """By file, how many rows Spark would read, but not as they are written."""
    empty: tuple[str, ...]
    """Files with objects that have no keys."""


def json_facts(session: SparkSession, group: FileGroup, options: TextOptions) -> JsonFacts:
    """Look through files for their keys, and for rows with a key twice, half a character, or text after them."""
    texts = session.read.options(__globPaths__="false").text(list(group.paths), wholetext=group.is_whole)
    # Within a piece of a file, rows are numbered in their order.
    place = F.struct(F.col("_metadata.file_block_start").alias("piece"), F.monotonically_increasing_id().alias("row"))
    whole = texts.select(_decoded(options).alias("text"), place.alias("place"), row_file())
    whole = whole.where(F.col("text").rlike(r"[^ \t\r\n]"))
    rows = run(lambda: _first_places(_elements(whole) if group.is_whole else _lines(whole)).collect())
    keys: dict[str, tuple[str, ...]] = {}
    for row in [row for row in rows if row["key"] is not None]:
        path = path_of(row[FILE])
        keys[path] = (*keys.get(path, ()), row["key"])
    strange = {path_of(row[FILE]): row["count"] for row in rows if row["strange"]}
    return JsonFacts(keys, strange, tuple(path_of(row[FILE]) for row in rows if row["empty"]))


def _first_places(records: DataFrame) -> DataFrame:
    """The keys of each file in their order; rows that are strange, or empty, have none."""
    keys = F.json_object_keys("text")
    twice = F.when(variant_of(F.col("text")).isNull(), ~_is_corrupt(F.col("text"))).otherwise(F.lit(False))
    strange = (F.col("strange") | twice | _has_half(F.col("text"))).alias("strange")
    empty = F.coalesce(F.size(keys) == 0, F.lit(False)).alias("empty")
    told = records.select(FILE, "place", "element", keys.alias("keys"), strange, empty)
    each = F.when(~F.col("strange"), F.col("keys"))
    apart = told.select(FILE, "place", "element", "strange", "empty", F.posexplode_outer(each).alias("nth", "key"))
    first = F.min(F.struct("place", "element", "nth")).alias("first")
    found = apart.groupBy(FILE, "key", "strange", "empty").agg(first, F.count(F.lit(1)).alias("count"))
    return found.where("strange or empty or key is not null").orderBy("first")


_MOST_KINDS = 100_000


def json_kinds(session: SparkSession, group: FileGroup, options: TextOptions, declared: Collection[str]) -> Kinds:
    """Find what stands where in files, one level after the other; of declared columns only that they are there."""
    level = json_variants(session, group, options).select(F.expr("cast(array() as array<string>)").alias("place"), "v")
    found: Kinds = set()
    while True:
        level = _inside(level)
        rows = run(level.select("place", _kind()).distinct().limit(_MOST_KINDS).collect)
        if len(rows) >= _MOST_KINDS:
            message = f"the files have more than {_MOST_KINDS:,} different keys"
            raise InvalidRequest(message, hint="declare columns with many keys as map<string,...>")
        found |= {(tuple(row["place"]), row["kind"]) for row in rows}
        if all(row["kind"] not in (OBJECT, ARRAY) or row["place"][0] in declared for row in rows):
            return found
        level = level.where(~F.col("place")[0].isin(*declared)) if declared else level


def _inside(level: DataFrame) -> DataFrame:
    """The fields and elements of values, each with its place."""
    fields = F.map_entries(F.try_variant_get("v", "$", "map<string,variant>"))
    elements = F.try_variant_get("v", "$", "array<variant>")
    nameless = F.transform(elements, lambda e: F.struct(F.lit(None).cast("string").alias("key"), e.alias("value")))
    each = level.select("place", F.explode(F.coalesce(fields, nameless)).alias("e"))
    return each.select(F.concat("place", F.array("e.key")).alias("place"), F.col("e.value").alias("v"))


def _kind() -> Column:
    type_ = F.coalesce(F.schema_of_variant("v"), F.lit("VOID"))
    number = F.try_variant_get("v", "$", "double")
    is_long = F.abs(number) >= LONG_FROM
    is_beyond = F.when(type_ == "DOUBLE", (F.abs(number) >= BEYOND_FROM) & ~F.isnan(number)).otherwise(is_long)
    whole = F.when(is_long, LONG).otherwise(WHOLE)
    kind = F.when(type_ == "BIGINT", whole).when(type_ == "STRING", TEXT).when(type_ == "BOOLEAN", TRUTH)
    kind = kind.when(type_.startswith("OBJECT"), OBJECT).when(type_.startswith("ARRAY"), ARRAY)
    kind = kind.when(type_ == "VOID", NULL).when(is_beyond, BEYOND).otherwise(FRACTION)
    return kind.alias("kind")


def _lines(lines: DataFrame) -> DataFrame:
    text = F.col("text")
    return lines.select(FILE, "place", F.lit(0).alias("element"), text, _is_strange_line(text).alias("strange"))


def _decoded(options: TextOptions) -> Column:
    text = F.col("value")
    charset = _CHARSETS.get(options.encoding)
    return F.regexp_replace(F.decode(text.cast("binary"), charset) if charset else text, "^\ufeff", "")


def _elements(files: DataFrame) -> DataFrame:
    """The elements of arrays; what is not an array of objects, and no object either, is strange."""
    text = F.col("text")
    alone = F.rlike(text, F.lit(r"^[ \t\r\n]*\{"))
    array = F.when(alone, F.concat(F.lit("["), text, F.lit("]"))).otherwise(text)
    parsed = F.from_json(array, "array<string>", STRICT)
    broken = (count_values(text) != 1) | _has_half(text)
    each = files.select(FILE, "place", F.when(~broken, parsed).alias("parsed"))
    nothing = F.array(F.lit(None).cast("string"))
    apart = each.select(FILE, "place", F.posexplode(F.coalesce("parsed", nothing)).alias("element", "text"))
    return apart.withColumn("strange", F.coalesce(~F.col("text").startswith("{"), F.lit(True)))


def _is_strange_line(text: Column) -> Column:
    """Whether Spark reads a line that is not just one object: it stops after the first, and takes arrays apart."""
    alone = text.rlike(r"^[ \t]*\{") & (count_values(text) == 1)
    return F.when(alone, F.lit(False)).otherwise(text.rlike(r"^[ \t]*\[") | ~_is_corrupt(text))


def _is_corrupt(text: Column) -> Column:
    """Whether Spark itself takes a line for no JSON."""
    return F.from_json(text, f"_ana_nothing string, {CORRUPT} string", STRICT)[CORRUPT].isNotNull()


def _has_half(text: Column) -> Column:
    escapes = F.regexp_replace(F.regexp_replace(text, r"\\\\", " "), _PAIR, " ")
    return F.when(text.rlike(_HALF), escapes.rlike(_HALF)).otherwise(F.lit(False))
