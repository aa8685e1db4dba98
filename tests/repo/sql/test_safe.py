"""SQL of somebody else's with `safe=`: reads of tables and given frames, within limits that no text passes."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab

ROWS = 20_000


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("safe") / "shop"
    with ab.init(folder, engine="duck") as repo:
        with repo.commit("main", "rows") as tx:
            keys = pa.array(range(ROWS), pa.int32())
            texts = [f"{n:040d}" for n in range(ROWS)]
            tx.create_table("t", pa.table({"k": keys, "s": texts}), key="k")
            tx.create_table("few", [{"id": 1, "s": "a"}, {"id": 2, "s": "ß"}], key="id")
        with repo.commit("main", "a change") as tx:
            tx.sql("UPDATE t SET s = 'changed' WHERE k = 7")
        yield repo


def limits(**given: Any) -> ab.SafeSettings:
    return ab.SafeSettings(**{"seconds": 10, "memory_bytes": 128 << 20, **given})


ANSWERED = {
    "SELECT count(*) AS n FROM t": [{"n": ROWS}],
    "SELECT s FROM t WHERE k = 7": [{"s": "changed"}],
    "SELECT s FROM t VERSION AS OF 'main~1' WHERE k = 7": [{"s": f"{7:040d}"}],
    "WITH x AS (SELECT k % 3 AS r, count(*) AS n FROM t GROUP BY k % 3) SELECT n FROM x WHERE r = 0": [{"n": 6667}],
    "SELECT id, k FROM few JOIN t ON id = k ORDER BY id DESC": [{"id": 2, "k": 2}, {"id": 1, "k": 1}],
    "SELECT DATE '2020-02-29' AS d, 1.50 AS x, CAST(NULL AS STRING) AS z": None,
    "SELECT v FROM {frame} WHERE v > :least": [{"v": 3}],
    "VALUES (1), (2)": [{"col1": 1}, {"col1": 2}],
    "SELECT stddev(k) AS s, exp(1.0D) AS e FROM t WHERE k < 3": None,
}


@pytest.mark.parametrize("text", ANSWERED)
def test_it_answers_as_ever(shop: ab.Repository, text: str) -> None:
    given = {"args": {"least": 2}, "frame": [{"v": 1}, {"v": 3}]} if "{frame}" in text else {}
    found = shop.sql(text, safe=True, **given)
    assert found.rows() == shop.sql(text, **given).rows()
    assert found.types == shop.sql(text, **given).types
    assert ANSWERED[text] is None or found.rows() == ANSWERED[text]


REFUSED = [
    ("DELETE FROM few", "one query"),
    ("INSERT INTO few VALUES (3, 'c')", "one query"),
    ("DROP TABLE few", "one query"),
    ("CREATE TABLE x (id INT)", "one query"),
    ("USE BRANCH main", "one query"),
    ("CREATE BRANCH b", "one query"),
    ("COMMIT 'x'", "one query"),
    ("EXPLAIN SELECT * FROM t", "one query"),
    ("DESCRIBE t", "one query"),
    ("SHOW TABLES", "one query"),
    ("SELECT 1; SELECT 2", "one query"),
    ("SELECT 1; DROP TABLE few", "one query"),
    ("", "one query"),
    ("SELECT * FROM ana.objects", "only those are read"),
    ("SELECT * FROM ana.files", "only those are read"),
    ("SELECT * FROM ana.log", "only those are read"),
    ("SELECT * FROM ana.history('t')", "only those are read"),
    ("SELECT * FROM t CHANGES FROM VERSION 0 TO VERSION 1", "only those are read"),
    ("SELECT * FROM read_parquet('/etc/passwd')", ""),
    ("SELECT * FROM read_csv('/etc/passwd')", ""),
    ("SELECT * FROM '/etc/passwd'", ""),
    ("SELECT * FROM csv.`/etc/passwd`", ""),
    ("SELECT * FROM parquet.`/etc`", ""),
    ("SELECT * FROM duckdb_settings()", ""),
    ("SELECT * FROM information_schema.tables", ""),
    ("SELECT * FROM sqlite_master", ""),
    ("SELECT * FROM range(1000000000)", ""),
    ("SELECT * FROM generate_series(1, 1000000000)", ""),
    ("SELECT explode(sequence(1, 1000000000))", ""),
    ("SELECT getenv('HOME')", ""),
    ("SELECT current_setting('temp_directory')", ""),
    ("SELECT reflect('java.lang.System', 'exit', 1)", ""),
    ("SELECT java_method('java.lang.System', 'getenv', 'HOME')", ""),
    ("SELECT input_file_name() FROM t", ""),
    ("SELECT raise_error('x')", ""),
    ("SELECT TRANSFORM(k) USING 'cat' AS (x) FROM t", ""),
    ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r", ""),
    ("SELECT s RLIKE '(a*)*(a*)*b' FROM t", ""),
    ("SELECT upper(s) FROM few", "never"),
    ("SELECT {frame} AS x", ""),
    ("SELECT * FROM {other}", "no frame"),
    ("SELECT :nothing", "no value"),
    ("SELECT 1 AS ' || (SELECT 1) || '", ""),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_it_refuses_what_is_more_than_one_query_of_tables(shop: ab.Repository, text: str, message: str) -> None:
    head = shop.show("main").hash
    with pytest.raises((ab.InvalidRequest, ab.NotFound)) as refused:
        shop.sql(text, safe=limits()).arrow()
    assert message in str(refused.value)
    assert _tells_no_path(refused.value)
    assert shop.show("main").hash == head
    assert shop.working_set() is None


def _tells_no_path(error: ab.AnabranchError) -> bool:
    told = f"{error} {error.facts}"
    return not any(secret in told for secret in (os.path.expanduser("~") + "/", "/tmp", "/dev/shm", "objects/"))


GREEDY = {
    "a product": "SELECT count(*) AS n FROM t a, t b, t c WHERE a.k + b.k > c.k",
    "a product with texts": "SELECT max(length(concat(a.s, b.s))) AS n FROM t a, t b, t c",
    "a sorted product": "SELECT concat(a.s, b.s) AS x FROM t a, t b ORDER BY x",
    "a list of all": "SELECT stddev(a.k + b.k) AS x FROM t a, t b",
    "many rows": "SELECT a.k FROM t a, t b",
    "distinct": "SELECT count(DISTINCT concat(a.s, b.s)) AS n FROM t a, t b",
    "windows": "SELECT sum(a.k) OVER (ORDER BY a.k, b.k) AS n FROM t a, t b",
    "doubling": "SELECT length(s) AS n FROM " + "(SELECT concat(s, s) AS s FROM " * 40 + "few" + ")" * 40,
    "doubling in one list": "SELECT "
    + ", ".join(f"concat(a{n}, a{n}) AS a{n + 1}" for n in range(40)).replace("a0", "'abcdefgh'")
    + " FROM t",
    "wide rows": "SELECT " + ", ".join(f"concat(a.s, b.s) AS c{n}" for n in range(100)) + " FROM t a, few b, few c",
    "replaced": "SELECT length(" + "replace(" * 12 + "'a'" + ", 'a', 'aaaaaaaaaa')" * 12 + ") AS n FROM t",
    "repeated": "SELECT repeat(repeat(s, 1000000), 1000000) AS x FROM t",
    "padded": "SELECT lpad(s, 2147483647, 'x') AS x FROM t",
    "many groups": "SELECT a.k, b.k, count(*) AS n FROM t a, t b GROUP BY a.k, b.k",
    "many patterns": "SELECT count(*) AS n FROM t a, t b, t c"
    " WHERE concat(a.s, b.s, c.s) LIKE '%1%2%3%4%5%6%7%8%9%9%8%7%'",
}


@pytest.mark.parametrize("kind", GREEDY)
def test_what_takes_too_much_is_stopped_and_nothing_of_it_goes_on(shop: ab.Repository, kind: str) -> None:
    started = time.monotonic()
    with pytest.raises((ab.InvalidRequest, ab.NotFound)) as refused:
        found = shop.sql(GREEDY[kind], safe=limits(seconds=3)).arrow()
        raise AssertionError(f"{found.num_rows} rows, {found.nbytes} bytes")
    assert time.monotonic() - started < 15
    assert _tells_no_path(refused.value)
    assert _children() == []


def _children() -> list[str]:
    """The processes that this one started and that are still there."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[1]) == os.getpid() and "duck_child" in (place.parent / "cmdline").read_text():
            found.append(place.parent.name)
    return found


DEEP = {
    "brackets": "SELECT " + "(" * 4900 + "1" + ")" * 4900,
    "subqueries": "SELECT * FROM " + "(SELECT * FROM " * 500 + "t" + ")" * 500,
    "sums": "SELECT " + "+".join(["1"] * 4900),
    "sums beside each other": "SELECT " + ", ".join("+".join(["1"] * 200) for _ in range(24)),
    "ands": "SELECT k FROM t WHERE " + " AND ".join(["k > 1"] * 900),
    "ors": "SELECT k FROM t WHERE " + " OR ".join(["k > 1 AND k < 5"] * 500),
    "cases": "SELECT " + "CASE WHEN true THEN " * 400 + "1" + " END" * 400,
    "nots": "SELECT " + "NOT " * 2400 + "true",
    "minuses": "SELECT " + "- " * 4900 + "1",
    "unions": " UNION ALL ".join(["SELECT 1 AS a"] * 400),
    "joins": "SELECT count(*) AS n FROM few a0 " + " ".join(f"JOIN few a{n} ON a{n}.id = a0.id" for n in range(1, 300)),
    "with": "WITH w0 AS (SELECT * FROM few), "
    + ", ".join(f"w{n} AS (SELECT x.* FROM w{n - 1} x, w{n - 1} y)" for n in range(1, 200))
    + " SELECT 1 AS one FROM w199",
    "arrays": "SELECT " + "array(" * 1400 + "1" + ")" * 1400,
    "columns": "SELECT " + ", ".join(["k"] * 3200) + " FROM t LIMIT 1",
    "texts": "SELECT '" + "x" * 9900 + "' AS x FROM t",
    "comments": "SELECT 1 " + "/*" * 4900,
    "types": "SELECT CAST(NULL AS " + "array<" * 1400 + "int" + ">" * 1400 + ")",
    "too long": "SELECT '" + "x" * 100_000 + "' AS x",
}


@pytest.mark.parametrize("kind", DEEP)
def test_a_text_of_any_form_ends_in_an_answer_or_our_error(shop: ab.Repository, kind: str) -> None:
    started = time.monotonic()
    refused: ab.AnabranchError | None = None
    try:
        shop.sql(DEEP[kind], safe=limits(seconds=5)).arrow()
    except (ab.InvalidRequest, ab.NotFound) as error:
        refused = error
    assert refused is None or _tells_no_path(refused)
    assert time.monotonic() - started < 30


def test_rows_up_to_the_limit_are_given_and_more_are_refused(shop: ab.Repository) -> None:
    assert shop.sql("SELECT k FROM t WHERE k < 500", safe=limits(row_limit=500)).arrow().num_rows == 500
    with pytest.raises(ab.InvalidRequest, match="more than 499 rows") as refused:
        shop.sql("SELECT k FROM t WHERE k < 500", safe=limits(row_limit=499)).arrow()
    assert refused.value.limit == "rows"


def test_the_settings_of_a_repository_hold_where_none_are_given(tmp_path: Path) -> None:
    settings = ab.Settings(safe=limits(row_limit=1))
    with (
        ab.init(tmp_path / "store", engine="duck", settings=settings) as repo,
        pytest.raises(ab.InvalidRequest, match="more than 1 rows"),
    ):
        repo.sql("VALUES (1), (2)", safe=True).arrow()


def test_what_a_text_says_beside_it_is_checked(shop: ab.Repository) -> None:
    for more in ({"message": "m"}, {"on": "main"}, {"author": "a"}):
        with pytest.raises(ab.InvalidRequest, match="only reads"):
            shop.sql("SELECT 1 AS a", safe=True, **more)
    with pytest.raises(ab.InvalidRequest, match=r"True or ab\.SafeSettings"):
        shop.sql("SELECT 1 AS a", safe=[{"id": 1}])


def test_spark_is_never_asked(tmp_path: Path, spark: Any) -> None:
    with ab.init(tmp_path / "store", spark=spark) as repo:
        repo.sql("CREATE TABLE t (id INT, s STRING)")
        spark.range(3).createOrReplaceTempView("safe_of_spark")
        for text in (
            "SELECT * FROM safe_of_spark",
            "SELECT upper('ß') AS u",
            "SELECT uuid() AS u",
            "SELECT * FROM {f}",
        ):
            with pytest.raises((ab.InvalidRequest, ab.NotFound)) as refused:
                repo.sql(text, safe=True, f=spark.range(2)).arrow()
            assert "session" not in str(refused.value)
        found = repo.sql("SELECT id FROM t", safe=True)
        assert found.rows() == []
        with pytest.raises(ab.InvalidRequest, match="Spark never runs"):
            found.spark()


def test_the_process_that_runs_it_has_no_secrets_and_cannot_write(shop: ab.Repository, tmp_path: Path) -> None:
    from anabranch.engines.duck_apart import Apart, ApartQuery, fetch_apart

    allowed = Apart(seconds=10, memory_bytes=128 << 20, row_limit=10)
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for text in (
        f"SELECT * FROM read_csv('{tmp_path}/secret.csv')",
        f"COPY (SELECT 1) TO '{tmp_path}/made.csv'",
        "SET enable_external_access = true",
        "SET memory_limit = '9GB'",
        f"ATTACH '{tmp_path}/made.db'",
        "INSTALL httpfs",
        "SELECT content FROM read_text('/proc/self/environ')",
    ):
        with pytest.raises(Exception, match=r".") as refused:
            fetch_apart(ApartQuery(text, {}, {}, []), allowed, lambda error: error)
        assert type(refused.value).__module__ != "builtins", text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.csv"]


def test_a_damaged_file_is_told_without_its_place(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0), damage=ab.DamageSettings(hashes=False))
    folder = tmp_path / "store"
    with ab.init(folder, engine="duck", settings=settings) as repo:
        with repo.commit("main", "rows") as tx:
            tx.create_table("t", pa.table({"k": list(range(50_000))}), key="k")
        for path in folder.rglob("*.parquet"):
            content = bytearray(path.read_bytes())
            content[100:-100] = b"x" * (len(content) - 200)
            path.write_bytes(content)
        for text in ("SELECT sum(k) AS s FROM t", "SELECT count(*) AS n FROM t WHERE k > 7"):
            with pytest.raises(ab.Unavailable, match="what the query reads cannot be read") as refused:
                repo.sql(text, safe=True).arrow()
            assert str(tmp_path) not in f"{refused.value} {refused.value.facts}"
    assert any(".parquet" in line for line in caplog.messages)


def test_many_at_a_time_each_have_their_own_process(shop: ab.Repository) -> None:
    texts = [f"SELECT count(*) AS n FROM t WHERE k < {n}" for n in range(6)]
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda text: shop.sql(text, safe=limits()).rows(), texts))
    assert found == [[{"n": n}] for n in range(6)]
    assert _children() == []
