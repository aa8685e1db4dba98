"""Whatever the splicer passes on, Spark parses as it would have parsed the original."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from anabranch.sql.references import find_references, splice
from tests.sql.queries import Writer
from tests.sql.test_references import CASES

ADDED, SOURCE = "_ana_added_", "_ana_source_"
_PREFIX = re.compile(r"^((?:[:|] {2}| {3})*(?:[:+]- )?)(.*)$")


@pytest.fixture(scope="module")
def parse(spark: Any) -> Any:
    parser = spark._jsparkSession.sessionState().sqlParser()
    return lambda text: parser.parsePlan(text).toString()


def tree(plan: str) -> list[tuple[int, str]]:
    """The nodes of a plan with their depths, without those that only say which state or alias is meant."""
    nodes: list[tuple[int, str]] = []
    dropped: list[int] = []
    for line in plan.splitlines():
        found = _PREFIX.match(line)
        assert found is not None
        depth, text = len(found[1]) // 3, _plain(found[2])
        dropped = [d for d in dropped if d < depth]
        if text.startswith(f"'SubqueryAlias {ADDED}"):
            dropped.append(depth)
        elif text:
            nodes.append((depth - len(dropped), text))
    return nodes


def _plain(text: str) -> str:
    text = re.sub(r"'RelationTimeTravel ('UnresolvedRelation \[[^\]]*\], \[[^\]]*\], false), .*", r"\1", text)
    text = re.sub(r"#\d+L?", "#", text)
    return re.sub(r"'UnresolvedRelation \[[^\]]*\]", "'UnresolvedRelation [_]", text)


def compare(parse: Any, text: str) -> bool:
    """Compare how Spark parses a text and what the splicer makes of it; False if Spark takes the text for no query."""
    from pyspark.errors import PySparkException

    try:
        original = parse(text)
    except PySparkException:
        return False
    found = find_references(text)
    marked = [replace(r, parts=(*r.parts[:-1], ADDED)) if r.alias_at is not None else r for r in found]
    # Names of columns that are qualified in full change with the alias: those are other tests' matter.
    spliced = splice(
        text, [replace(r, parts=r.parts[-1:]) for r in marked], [f"{SOURCE}{i}" for i in range(len(found))]
    )
    assert tree(parse(spliced)) == tree(original), f"{text}\n{spliced}"
    return True


@pytest.mark.parametrize("text", [text for text, _ in CASES if "{" not in text and "where s.t.a" not in text])
def test_every_known_form_is_parsed_alike(parse: Any, text: str) -> None:
    assert compare(parse, text)


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.more) for n in (500, 1000))])
def test_random_queries_are_parsed_alike(parse: Any, first: int) -> None:
    read = [compare(parse, Writer(seed).whole()) for seed in range(first, first + 500)]
    assert sum(read) > 460, f"Spark took only {sum(read)} of {len(read)} for queries"
