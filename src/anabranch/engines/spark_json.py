"""What Spark's reader of JSON passes over: found in the text of the files, before they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.engines.spark_files import FILE, FileGroup, path_of, row_file, run
from anabranch.engines.spark_nested import CORRUPT, STRICT, count_values
from anabranch.plan.texts import TextOptions

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
    return JsonFacts(keys, {path_of(row[FILE]): row["count"] for row in rows if row["key"] is None})


def _first_places(records: DataFrame) -> DataFrame:
    """The keys of each file in their order; the key of rows that are strange is null."""
    keys = F.json_object_keys("text")
    twice = F.coalesce(F.size(keys) > F.size(F.array_distinct(keys)), F.lit(False))
    strange = F.col("strange") | twice | _has_half(F.col("text"))
    each = F.when(strange, F.array(F.lit(None).cast("string"))).otherwise(keys)
    found = records.select(FILE, "place", "element", F.posexplode(each).alias("nth", "key")).groupBy(FILE, "key")
    first = F.min(F.struct("place", "element", "nth")).alias("first")
    return found.agg(first, F.count(F.lit(1)).alias("count")).orderBy("first")


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
    corrupt = F.from_json(text, f"_ana_nothing string, {CORRUPT} string", STRICT)[CORRUPT]
    return F.when(alone, F.lit(False)).otherwise(text.rlike(r"^[ \t]*\[") | corrupt.isNull())


def _has_half(text: Column) -> Column:
    escapes = F.regexp_replace(F.regexp_replace(text, r"\\\\", " "), _PAIR, " ")
    return F.when(text.rlike(_HALF), escapes.rlike(_HALF)).otherwise(F.lit(False))
