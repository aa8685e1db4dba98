"""Which tests run, and in which order: `make quick`, `make test` and `make test-all` differ in nothing else.

What uses Spark goes to one worker, so that only one JVM is warm; the other workers share the rest, file by file."""

from __future__ import annotations

from zlib import crc32

import pytest

from tests.proven import stamp

SPARK_SHARE = 40
"""One of so many tests that run on both engines runs on Spark, too, unless it is marked `contract`, or `--all` asks:
on Spark, a commit takes a second. The names choose, so that it is always the same."""

POSTGRES_SHARE = 3
"""One of so many tests of whole verbs that run on both catalogues runs on PostgreSQL, too, unless `--all` asks."""

QUICK_SHARE = 6
"""One of so many tests of whole verbs runs with `--quick`."""

SERVERS = {"postgres", "s3_server", "s3proxy", "versitygw", "hdfs"}
"""Fixtures and parameters that start a server."""

WHOLE_VERBS = tuple(f"tests/{room}/" for room in ("cli", "formats", "jobs", "pipelines", "repo"))

LIGHT = tuple(f"tests/{room}/" for room in ("arrow", "frames", "model", "plan", "proven", "queries", "sql"))
"""Rooms whose files take seconds. They come last, so that no worker is left with a long file when others are done."""


def select(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Keep what the options ask for, what uses a JVM first: that takes longest, and one worker has to do it all."""
    for item in items:
        if _uses_spark(item):
            item.add_marker(pytest.mark.jvm)
    kept = [item for item in items if _is_wanted(config, item)]
    for item in kept:
        item.add_marker(pytest.mark.xdist_group(_group(item)))
    return sorted(kept, key=lambda item: (not is_jvm(item), item.nodeid.startswith(LIGHT)))


def _group(item: pytest.Item) -> str:
    """Name what one worker runs: all that shares a JVM, the far stores, or the fixtures of a file."""
    if is_jvm(item):
        return "jvm"
    is_far = _uses_server(item) and "postgres" not in getattr(item, "fixturenames", ())
    return "servers" if is_far else item.path.stem


def is_jvm(item: pytest.Item) -> bool:
    """Tell whether a test starts a JVM, or uses the one that is there."""
    return item.get_closest_marker("jvm") is not None


def _is_wanted(config: pytest.Config, item: pytest.Item) -> bool:
    if config.getoption("--connect") and not _uses_spark(item):
        return False
    if config.getoption("--far") and not {"engine", "repo"}.issubset(getattr(item, "fixturenames", ())):
        return False
    if config.getoption("--quick"):
        return _is_quick(item)
    # Who names a test, or a word of its name, gets it in any case.
    is_named = config.option.keyword or any("::" in a for a in config.args)
    return bool(config.getoption("--all") or is_named) or not _is_spared(config, item)


def _is_spared(config: pytest.Config, item: pytest.Item) -> bool:
    """Tell whether `make test` leaves a test out: a proof of what has not changed, a long one or a twin on Spark."""
    if _has_mark(item, "proof"):
        return stamp.is_current()
    if _has_mark(item, "more") or (_has_mark(item, "long") and (_uses_spark(item) or _uses_postgres(item))):
        return True
    if _has_mark(item, "contract"):
        return False
    if _is_twin(item):
        return not config.getoption("--connect") and _number(item) % SPARK_SHARE != 0
    is_postgres_twin = "postgresql" in _parameters(item).values() and item.nodeid.startswith(WHOLE_VERBS)
    return is_postgres_twin and _number(item) % POSTGRES_SHARE != 0


def _is_quick(item: pytest.Item) -> bool:
    """Tell whether a test needs neither a JVM nor a server and, if it is one of a whole verb, is one of those drawn."""
    needs_server = "postgresql" in _parameters(item).values() or _uses_server(item)
    is_checked = item.path.stem == "test_architecture"  # by `make check`
    if is_jvm(item) or _has_mark(item, "long") or _has_mark(item, "more") or needs_server or is_checked:
        return False
    return not item.nodeid.startswith(WHOLE_VERBS) or _number(item) % QUICK_SHARE == 0


def _uses_server(item: pytest.Item) -> bool:
    found = {*getattr(item, "fixturenames", ()), *(v for v in _parameters(item).values() if isinstance(v, str))}
    return not found.isdisjoint(SERVERS)


def _uses_spark(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return "spark" in fixtures or ("engine" in fixtures and _parameters(item).get("engine") != "duck")


def _uses_postgres(item: pytest.Item) -> bool:
    return "postgresql" in _parameters(item).values() or "postgres" in getattr(item, "fixturenames", ())


def _is_twin(item: pytest.Item) -> bool:
    """Tell whether this is the variant on Spark of a test that also runs on DuckDB."""
    return _parameters(item).get("engine") in ("spark", "connect")


def _parameters(item: pytest.Item) -> dict[str, object]:
    found = getattr(item, "callspec", None)
    return {} if found is None else found.params


def _has_mark(item: pytest.Item, name: str) -> bool:
    return item.get_closest_marker(name) is not None


def _number(item: pytest.Item) -> int:
    """A number that a test keeps as long as its name."""
    return crc32(item.nodeid.encode())
