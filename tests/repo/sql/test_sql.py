"""SQL: what is read and written where, what a script leaves behind, and what is told when it goes wrong."""

# ruff: noqa: E501 -- statements are read whole

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.proven.spark_functions import NAMES

CREATE = "CREATE TABLE orders (id BIGINT PRIMARY KEY, status STRING DEFAULT 'new', qty INT NOT NULL DEFAULT 1)"


@pytest.fixture
def shop(repo: ab.Repository) -> ab.Repository:
    """Three orders on main."""
    repo.sql(f"{CREATE}; INSERT INTO orders VALUES (1, 'new', 2), (2, 'paid', 1), (3, 'new', 5)", message="load")
    return repo


@pytest.fixture
def small(duck: ab.Repository) -> ab.Repository:
    """The same without Spark."""
    duck.sql(f"{CREATE}; INSERT INTO orders VALUES (1, 'new', 2), (2, 'paid', 1), (3, 'new', 5)", message="load")
    return duck


def ids(repo: ab.Repository, at: str | None = None) -> list[int]:
    return [row["id"] for row in repo.sql("SELECT id FROM orders ORDER BY id", at=at).rows()]


# Commits


def test_the_writes_of_a_text_are_one_commit(shop: ab.Repository) -> None:
    done = shop.sql("UPDATE orders SET qty = qty + 1 WHERE id = 1; DELETE FROM orders WHERE id = 2", author="bob")
    assert done.commit is not None
    assert (done.commit.id, done.commit.author) == ("main/2", "bob")
    assert done.commit.message == "UPDATE orders SET qty = qty + 1 WHERE id = 1; DELETE FROM orders WHERE id = 2"
    assert done.counts == ab.Counts(deleted=1)
    assert shop.log(limit=1)[0].hash == done.commit.hash


def test_a_text_whose_last_statement_fails_writes_nothing(shop: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="id=1"):
        shop.sql("INSERT INTO orders (id) VALUES (9); CREATE NAMESPACE n; INSERT INTO orders (id) VALUES (1)")
    assert ids(shop) == [1, 2, 3]
    assert shop.namespaces() == []
    assert len(shop.log()) == 2


def test_statements_about_versions_part_a_text_and_a_failure_takes_back_its_own_part(small: ab.Repository) -> None:
    text = "DELETE FROM orders WHERE id = 1; CREATE TAG v1; DELETE FROM orders WHERE id = 2; SELECT * FROM nowhere"
    with pytest.raises(ab.NotFound) as caught:
        small.sql(text)
    (published,) = caught.value.facts["published"]
    assert published.hash == small.show("main").hash == small.show("v1").hash
    assert ids(small) == [2, 3]


def test_a_text_that_cannot_be_read_runs_none_of_it(small: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="line 2"):
        small.sql("INSERT INTO orders (id) VALUES (9);\nSELEC 1")
    assert ids(small) == [1, 2, 3]


def test_writes_go_to_the_branch_that_is_named(small: ab.Repository) -> None:
    small.sql("CREATE BRANCH dev")
    small.sql("INSERT INTO orders (id) VALUES (4)", on="dev", message="four")
    assert (ids(small), ids(small, at="dev")) == ([1, 2, 3], [1, 2, 3, 4])
    assert small.log("dev", limit=1)[0].message == "four"


def test_use_branch_lasts_for_the_text(small: ab.Repository) -> None:
    small.sql("CREATE BRANCH dev; USE BRANCH dev; INSERT INTO orders (id) VALUES (4)")
    assert (ids(small), ids(small, at="dev")) == ([1, 2, 3], [1, 2, 3, 4])


def test_a_text_with_commit_stages_what_follows(small: ab.Repository) -> None:
    done = small.sql("INSERT INTO orders (id) VALUES (4); COMMIT 'four'; INSERT INTO orders (id) VALUES (5)")
    assert done.counts == ab.Counts(inserted=1)
    assert ids(small) == [1, 2, 3, 4]
    assert small.log(limit=1)[0].message == "four"
    staged = small.working_set("main")
    assert staged is not None
    assert list(staged.status()) == ["orders"]
    assert ids(small) == [1, 2, 3, 4]
    small.sql("COMMIT 'five'")
    assert ids(small) == [1, 2, 3, 4, 5]


def test_a_staged_text_that_fails_leaves_what_was_staged_before(small: ab.Repository) -> None:
    session = small.sql_session()
    session.execute("INSERT INTO orders (id) VALUES (4)")
    with pytest.raises(ab.InvalidRequest):
        session.execute("INSERT INTO orders (id) VALUES (5); INSERT INTO orders (id) VALUES (4)")
    (rows,) = session.execute("SELECT count(*) AS n FROM orders")
    assert rows.rows() == [{"n": 4}]
    reopened = small.sql_session().execute("SELECT max(id) AS m FROM orders; ROLLBACK; SELECT max(id) AS m FROM orders")
    assert [r.rows() for r in reopened if "m" in r.columns] == [[{"m": 4}], [{"m": 3}]]


def test_commit_with_nothing_staged_is_told(small: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="nothing is staged"):
        small.sql("COMMIT 'x'")


def test_at_is_for_reading_only(small: ab.Repository) -> None:
    for text in ("DELETE FROM orders", "CREATE BRANCH dev"):
        with pytest.raises(ab.InvalidRequest, match="only read"):
            small.sql(text, at="main")


# Inside a commit


def test_a_transaction_reads_its_own_writes(shop: ab.Repository) -> None:
    with shop.commit("main", "work") as tx:
        assert tx.sql("INSERT INTO orders (id, qty) VALUES (:id, 7)", {"id": 4}).counts == ab.Counts(inserted=1)
        assert tx.sql("SELECT sum(qty) AS n FROM orders").rows() == [{"n": 15}]
        joined = "SELECT n.id FROM orders n LEFT ANTI JOIN orders VERSION AS OF main o ON n.id = o.id"
        assert tx.sql(joined).rows() == [{"id": 4}]
        tx.table("orders").delete("id = 4")
        assert tx.sql("SELECT max(id) AS id FROM orders").rows() == [{"id": 3}]
    assert tx.commit is None


def test_a_statement_that_fails_leaves_the_transaction_as_it_was(small: ab.Repository) -> None:
    with small.commit("main", "work") as tx:
        tx.sql("INSERT INTO orders (id) VALUES (4)")
        with pytest.raises(ab.InvalidRequest):
            tx.sql("CREATE TABLE other (a INT, CHECK (a > 0)); INSERT INTO other VALUES (1), (-1)")
        with pytest.raises(ab.NotFound, match="other"):
            tx.table("other")
    assert tx.commit is not None
    assert tx.commit.tables == ("orders",)


@pytest.mark.parametrize("text", ["CREATE BRANCH x", "COMMIT 'x'", "MERGE BRANCH x", "USE BRANCH x"])
def test_branches_are_no_matter_of_a_commit(small: ab.Repository, text: str) -> None:
    with small.commit("main", "work") as tx, pytest.raises(ab.InvalidRequest, match="can't be part of a commit"):
        tx.sql(text)


# Frames and parameters


def test_frames_of_any_kind_stand_in_braces(shop: ab.Repository) -> None:
    rows = [{"id": 1, "n": 10}, {"id": 9, "n": 90}]
    query = "SELECT o.id, f.n FROM orders o JOIN {f} f ON o.id = f.id"
    assert shop.sql(query, f=rows).rows() == [{"id": 1, "n": 10}]
    assert shop.sql(query, f=pa.Table.from_pylist(rows)).rows() == [{"id": 1, "n": 10}]
    pandas = pytest.importorskip("pandas")
    assert shop.sql(query, f=pandas.DataFrame(rows)).rows() == [{"id": 1, "n": 10}]
    assert shop.sql("SELECT id FROM {t} WHERE id > 2", t=shop.table("orders", at="main")).rows() == [{"id": 3}]


def test_a_spark_frame_is_read_by_spark(tmp_path: Any, spark: Any) -> None:
    with ab.init(tmp_path / "s", spark=spark) as repo:
        repo.sql(CREATE)
        frame = spark.createDataFrame([(7, 3)], "id bigint, qty int")
        done = repo.sql("INSERT INTO orders (id, qty) SELECT id, qty FROM {frame}", frame=frame)
        assert done.counts == ab.Counts(inserted=1)
        assert repo.sql("SELECT id FROM orders").spark().collect()[0].id == 7


def test_views_of_the_session_can_be_joined(tmp_path: Any, spark: Any) -> None:
    spark.range(5).createOrReplaceTempView("ana_test_numbers")
    try:
        with ab.init(tmp_path / "s", spark=spark) as repo:
            repo.sql(f"{CREATE}; INSERT INTO orders (id) VALUES (3), (30)")
            found = repo.sql("SELECT o.id FROM orders o JOIN ana_test_numbers n ON o.id = n.id")
            assert found.rows() == [{"id": 3}]
    finally:
        spark.catalog.dropTempView("ana_test_numbers")


def test_small_queries_need_no_session_and_an_open_one_is_used_for_what_only_spark_runs(
    small: ab.Repository, tmp_path: Any, spark: Any
) -> None:
    assert small.sql("SELECT 1 AS one").engine == "duck"
    with ab.init(tmp_path / "other", spark=spark) as repo:
        assert repo.sql("SELECT 1 AS one").engine == "duck"
        assert repo.sql("SELECT soundex('one') AS one").engine == "spark"


def test_values_are_never_pasted(small: ab.Repository) -> None:
    hostile = "x' OR '1' = '1"
    assert small.sql("SELECT id FROM orders WHERE status = :s", args={"s": hostile}).rows() == []
    small.sql("UPDATE orders SET status = :s WHERE id = 1", args={"s": hostile})
    assert small.table("orders").get(1)["status"] == hostile  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT :a", "no value for :a"),
        ("SELECT * FROM {f}", "no frame for {f}"),
        ("SELECT * FROM orders VERSION AS OF :v", "no value for :v"),
        ("UPDATE orders SET qty = :q", "no value for :q"),
    ],
)
def test_what_is_not_given_is_told(small: ab.Repository, text: str, told: str) -> None:
    with pytest.raises(ab.InvalidRequest, match=told):
        small.sql(text)


# States


def test_tables_are_read_at_any_state_in_one_query(shop: ab.Repository) -> None:
    shop.tag("v1")
    shop.branch("dev", at="main")
    with shop.commit("dev", "more") as tx:
        tx.sql("UPDATE orders SET qty = 100 WHERE id = 1")
    shop.sql("DELETE FROM orders WHERE id = 3")
    text = (
        "SELECT (SELECT count(*) FROM orders) AS now, (SELECT count(*) FROM orders VERSION AS OF 'v1') AS v1, "
        "(SELECT max(qty) FROM orders@dev) AS dev, (SELECT count(*) FROM orders@v1) AS first, "
        "(SELECT count(*) FROM `orders@v1`) AS tick, (SELECT count(*) FROM orders VERSION AS OF :ref) AS given, "
        "(SELECT count(*) FROM orders TIMESTAMP AS OF current_timestamp()) AS time"
    )
    (row,) = shop.sql(text, args={"ref": "main~1"}).rows()
    assert row == {"now": 2, "v1": 3, "dev": 100, "first": 3, "tick": 3, "given": 3, "time": 2}


def test_changes_include_both_ends_unless_told_otherwise(small: ab.Repository) -> None:
    small.sql("UPDATE orders SET qty = 9 WHERE id = 1")
    small.sql("INSERT INTO orders (id) VALUES (4)")

    def kinds(span: str) -> list[str]:
        found = small.sql(f"SELECT _change_type AS c FROM orders CHANGES FROM {span} ORDER BY c").rows()
        return [row["c"] for row in found]

    update = ["update_postimage", "update_preimage"]
    assert kinds("VERSION main~1 TO VERSION main") == ["insert", *update]
    assert kinds("VERSION main~1 EXCLUSIVE TO VERSION main") == ["insert"]
    assert kinds("VERSION 'main~1' TO VERSION 'main' EXCLUSIVE") == update
    assert kinds("VERSION 1") == [*["insert"] * 4, *update]


# Writing rows


def test_a_merge_does_what_the_first_clause_that_holds_says(shop: ab.Repository) -> None:
    rows = [{"id": 1, "qty": 0}, {"id": 2, "qty": 20}, {"id": 8, "qty": 80}, {"id": 9, "qty": 0}]
    done = shop.sql(
        "MERGE INTO orders t USING {s} s ON t.id = s.id "
        "WHEN MATCHED AND s.qty = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET t.qty = s.qty, status = DEFAULT "
        "WHEN NOT MATCHED AND s.qty > 0 THEN INSERT (id, qty) VALUES (s.id, s.qty + 1) "
        "WHEN NOT MATCHED BY SOURCE AND t.status = 'new' THEN UPDATE SET status = 'old'",
        s=rows,
    )
    assert done.counts == ab.Counts(inserted=1, updated=2, deleted=1)
    assert shop.table("orders").head() == [
        {"id": 2, "status": "new", "qty": 20},
        {"id": 3, "status": "old", "qty": 5},
        {"id": 8, "status": "new", "qty": 81},
    ]


def test_a_merge_that_matches_a_row_twice_is_refused(shop: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="several rows of the source match one row of the table: id=1"):
        shop.sql(
            "MERGE INTO orders t USING {s} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET qty = s.n",
            s=[{"id": 1, "n": 1}, {"id": 1, "n": 2}],
        )
    assert len(shop.log()) == 2


def test_a_merge_with_stars_takes_columns_by_name(shop: ab.Repository) -> None:
    source = "(SELECT 1 AS qty, id + 2 AS ID, 'x' AS status FROM orders WHERE id < 3)"
    done = shop.sql(
        f"MERGE INTO orders USING {source} s ON orders.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert done.counts == ab.Counts(inserted=1, updated=1)
    with pytest.raises(ab.InvalidRequest, match="the source has no column 'status'"):
        shop.sql("MERGE INTO orders USING {s} s ON true WHEN MATCHED THEN UPDATE SET *", s=[{"id": 1, "qty": 1}])


def test_an_update_may_look_at_other_tables_and_versions(shop: ab.Repository) -> None:
    shop.sql("UPDATE orders SET qty = 50")
    shop.sql(
        "UPDATE orders o SET qty = (SELECT max(v.qty) FROM orders VERSION AS OF main~1 v WHERE v.id = o.id) + 1 "
        "WHERE o.id IN (SELECT id FROM orders@v1 WHERE status = 'new')"
    )
    assert [r["qty"] for r in shop.table("orders").head()] == [3, 50, 6]


def test_rows_without_a_key_keep_their_identity(shop: ab.Repository) -> None:
    shop.sql("CREATE TABLE log (word STRING, n INT); INSERT INTO log VALUES ('a', 1), ('a', 1), ('b', 2)")
    done = shop.sql("UPDATE log SET n = n + (SELECT max(n) FROM log) WHERE word IN (SELECT word FROM log WHERE n = 1)")
    assert done.counts == ab.Counts(updated=2)
    assert shop.sql("DELETE FROM log l WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id = l.n)").counts == ab.Counts(
        deleted=3
    )
    merged = shop.sql(
        "MERGE INTO log USING (SELECT 'c' AS word, 7 AS n) s ON log.word = s.word WHEN NOT MATCHED THEN INSERT *"
    )
    assert merged.counts == ab.Counts(inserted=1)
    assert shop.sql("SELECT * FROM log").columns == ("word", "n")


def test_a_key_that_is_updated_moves_the_row(shop: ab.Repository) -> None:
    shop.sql("UPDATE orders SET id = (SELECT max(id) FROM orders) + id WHERE id < 3")
    assert ids(shop) == [3, 4, 5]
    with pytest.raises(ab.InvalidRequest, match="a key more than once"):
        shop.sql("UPDATE orders SET id = (SELECT 7)")


def test_keys_nulls_and_checks_hold_in_every_statement(shop: ab.Repository) -> None:
    shop.sql("ALTER TABLE orders ADD CONSTRAINT positive CHECK (qty > 0)")
    select = "(SELECT max(id) FROM orders)"
    for text, told in [
        (f"UPDATE orders SET qty = -{select}", "positive"),
        (f"UPDATE orders SET qty = nullif({select}, 3)", "may not be null"),
        ("MERGE INTO orders t USING orders s ON t.id = s.id WHEN MATCHED THEN UPDATE SET qty = 0", "positive"),
        ("MERGE INTO orders t USING orders s ON t.id = s.id + 9 WHEN NOT MATCHED THEN INSERT *", "these keys already"),
    ]:
        with pytest.raises(ab.InvalidRequest, match=told):
            shop.sql(text)
    assert [r["qty"] for r in shop.table("orders").head()] == [2, 1, 5]


def test_a_no_op_is_no_change(shop: ab.Repository) -> None:
    for text in (
        "UPDATE orders SET qty = qty + (SELECT 0)",
        "MERGE INTO orders t USING orders s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
        "INSERT OVERWRITE orders SELECT * FROM orders",
        "DELETE FROM orders WHERE id IN (SELECT 77)",
    ):
        assert shop.sql(text).commit is None, text


def test_only_what_differs_is_stored(small: ab.Repository) -> None:
    small.sql(
        "MERGE INTO orders t USING (SELECT id, 'paid' AS status, qty FROM orders) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET *"
    )
    assert [layer["rows"] for layer in small.table("orders").layout() if layer["kind"] == "update"] == [2]
    assert {cell["column"] for cell in small.diff("main~1", "main")["orders"].cells()} == {"status"}


def test_fields_of_structs_go_by_name(tmp_path: Path, spark: Any) -> None:
    with ab.init(tmp_path / "store", engine="spark", spark=spark) as spark_repo:
        swapped = "named_struct('b', 1, 'a', 2)"
        spark_repo.sql("CREATE TABLE t (id INT PRIMARY KEY, s STRUCT<a: INT, b: INT>, l ARRAY<STRUCT<a: INT, b: INT>>)")
        spark_repo.sql(f"INSERT INTO t VALUES (1, {swapped}, array({swapped})), (2, NULL, NULL)")
        spark_repo.sql(f"INSERT INTO t SELECT 3, named_struct('B', 1), array({swapped}, NULL)")
        assert spark_repo.table("t").head(3) == [
            {"id": 1, "s": {"a": 2, "b": 1}, "l": [{"a": 2, "b": 1}]},
            {"id": 2, "s": None, "l": None},
            {"id": 3, "s": {"a": None, "b": 1}, "l": [{"a": 2, "b": 1}, None]},
        ]


def test_values_are_cast_as_an_assignment_casts(shop: ab.Repository) -> None:
    shop.sql("CREATE TABLE t (a BIGINT, b DECIMAL(10,2), c DOUBLE, d STRING)")
    shop.sql("INSERT INTO t VALUES (1, 2, 3, 'x'), (CAST(2 AS TINYINT), 1.5, 2, NULL)")
    assert sorted(shop.sql("SELECT b FROM t").arrow().column(0).to_pylist()) == [Decimal("1.50"), Decimal("2.00")]
    for text in ("INSERT INTO t VALUES ('1', 2, 3, 'x')", "INSERT INTO t (a) VALUES (1.5)"):
        with pytest.raises(ab.InvalidRequest, match="column 'a' is bigint, the value is"):
            shop.sql(text)


def test_hostile_names_can_be_written_and_read(small: ab.Repository) -> None:
    small.sql("CREATE TABLE `se;lect` (`from` INT PRIMARY KEY, `a``b` STRING, `_change_type` INT, `c d` INT)")
    small.sql("INSERT INTO `se;lect` VALUES (1, 'x', 2, 3)")
    small.sql("UPDATE `se;lect` SET `a``b` = 'y', `c d` = (SELECT max(`from`) FROM `se;lect`)")
    small.sql(
        "MERGE INTO `se;lect` USING (SELECT 1 AS `from`) s ON `se;lect`.`from` = s.`from` WHEN MATCHED THEN UPDATE SET `_change_type` = 5"
    )
    assert small.sql("SELECT * FROM `se;lect`").rows() == [{"from": 1, "a`b": "y", "_change_type": 5, "c d": 1}]


# Results


def test_a_result_is_read_in_any_form(shop: ab.Repository) -> None:
    found = shop.sql("SELECT id, qty FROM orders WHERE id < 3 ORDER BY id")
    assert (found.columns, found.types) == (("id", "qty"), ("bigint", "int"))
    assert found.arrow().num_rows == found.count() == len(list(found)) == 2
    assert found.pandas()["qty"].tolist() == [2, 1]
    assert found.polars().shape == (2, 2)


def test_a_result_shows_the_state_of_its_time(small: ab.Repository) -> None:
    found = small.sql("SELECT count(*) AS n FROM orders")
    small.sql("DELETE FROM orders")
    assert found.rows() == [{"n": 3}]


def test_two_columns_of_one_name_do_not_fit_a_dict(small: ab.Repository) -> None:
    found = small.sql("SELECT a.id, b.id FROM orders a JOIN orders b ON a.id = b.id")
    assert found.arrow().num_columns == 2
    with pytest.raises(ab.InvalidRequest, match="two columns of the result are called 'id'"):
        found.rows()


def test_what_only_spark_runs_is_named_where_there_is_no_spark(small: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match=r"(?i)soundex.* runs on Spark only"):
        small.sql("SELECT soundex(status) FROM orders")
    with pytest.raises(ab.InvalidRequest, match="runs on Spark only"):
        small.sql("FROM orders |> WHERE id > 1")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "SELECT uper(status) AS s FROM orders",
            r"UPER, which is no function of Spark's own \(did you mean UPPER\?\), runs",
        ),
        ("SELECT frobnicate(1)", "FROBNICATE, which is no function of Spark's own, runs on Spark only"),
        ("DELETE FROM orders WHERE lenght(status) = 3", r"LENGHT, which is .*\(did you mean LENGTH\?\)"),
    ],
)
def test_a_function_that_nobody_knows_is_told_as_such(small: ab.Repository, text: str, told: str) -> None:
    with pytest.raises(ab.InvalidRequest, match=told):
        small.sql(text)


def test_the_names_of_sparks_functions_are_known(spark: Any) -> None:
    found = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert {name for name in found if name.isidentifier()} <= NAMES


def test_explain_tells_the_engine(shop: ab.Repository) -> None:
    (row,) = shop.sql("EXPLAIN SELECT * FROM orders").rows()
    assert row["engine"] == shop.sql("SELECT 1 AS a").engine
    assert row["plan"]


def test_an_error_is_told_once(shop: ab.Repository, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ab.NotFound, match="there is no column 'statsu'") as caught:
        shop.sql("SELECT statsu FROM orders")
    assert caught.value.hint == "did you mean 'status'?"
    assert capfd.readouterr().err == ""


def test_rows_that_are_written_out_need_no_spark_job(
    tmp_path: Any, spark: Any, caplog: pytest.LogCaptureFixture
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")  # So that it runs what reads tables.
    with ab.init(tmp_path / "s", spark=session) as repo, caplog.at_level("DEBUG", logger="anabranch.engines"):
        repo.sql(f"{CREATE}; INSERT INTO orders VALUES (1, 'new', 2), (2, DEFAULT, DEFAULT)")
        assert " on spark" not in caplog.text
        assert repo.sql("SELECT count(*) AS n FROM orders").rows() == [{"n": 2}]
        assert " on spark" in caplog.text


def test_a_notebook_shows_a_result_as_a_table(small: ab.Repository) -> None:
    shown = small.sql("SELECT id, status, '<b>' AS tag, NULL AS none FROM orders WHERE id = 2")._repr_html_()
    assert "paid" in shown
    assert "&lt;b&gt;" in shown
    assert "bigint" in shown
    assert "1 row" in shown
