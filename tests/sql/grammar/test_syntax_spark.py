"""Spark's own parser says the same of every text of the list."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.grammar.texts import EXPRESSIONS_REFUSED, EXPRESSIONS_TAKEN, ODD, REFUSED, TAKEN, TRAPS


def test_spark_takes_and_refuses_the_same_texts(spark: Any) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()
    queries = {**dict.fromkeys((*TAKEN, *ODD, *TRAPS), True), **dict.fromkeys(REFUSED, False)}
    assert len(queries) > 150
    wrong = [text for text, fine in queries.items() if _takes(parser.parsePlan, text) != fine]
    expressions = {**dict.fromkeys(EXPRESSIONS_TAKEN, True), **dict.fromkeys(EXPRESSIONS_REFUSED, False)}
    wrong += [text for text, fine in expressions.items() if _takes(parser.parseExpression, f"({text})") != fine]
    assert not wrong, "Spark's parser says otherwise of:\n" + "\n".join(wrong)


def test_spark_refuses_in_the_end_what_only_its_parser_takes(spark: Any) -> None:
    from pyspark.errors import AnalysisException

    for name in ("t", "u"):
        spark.sql("select 1 as a, 2 as b").createOrReplaceTempView(name)
    for text in TRAPS:
        with pytest.raises(AnalysisException):
            spark.sql(text)
    for name in ("t", "u"):
        spark.catalog.dropTempView(name)


def _takes(parse: Any, text: str) -> bool:
    from pyspark.errors import ParseException

    try:
        parse(text)
    except ParseException:
        return False
    return True
