"""Plain Parquet, Iceberg and Delta on Spark; what they lack (diff, merge, conflicts) as people write it by hand."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.peers.spark_session import open_session, revenue
from benchmarks.peers.walk import main
from benchmarks.peers.work import COLUMNS, Work

VALUES = COLUMNS[1:]
JARS = Path(__file__).parents[2] / ".venv-peers" / "jars"
"""Where `scripts/make_peers` puts them."""


def classpath(name: str) -> str:
    """The jars of a system, as Spark is told of them."""
    return ",".join(sorted(map(str, (JARS / name).glob("*.jar"))))


class ByHand:
    """What all three share: states are read as DataFrames, and compared and merged by outer joins."""

    settings: Mapping[str, str] = MappingProxyType({})

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spark = open_session(folder, self.settings)

    def prepare(self, work: Work) -> None:
        self._work = work
        files = sorted(path.stem for path in work.folder.glob("*.parquet"))
        self._given = {name: self._spark.read.parquet(work.path(name)) for name in files}

    def change_dev(self) -> None:
        self._change("dev", self._given["dev_updates"], self._given["dev_inserts"], self._given["dev_deletes"])

    def change_main(self) -> None:
        self._change("main", self._given["main_updates"], self._given["main_inserts"], None)

    def diff(self) -> dict[str, int]:
        from pyspark.sql import functions as F

        both = self._beside(main=self._state("main"), dev=self._state("dev"))
        kind = (
            F.when(F.col("main").isNull(), "inserted")
            .when(F.col("dev").isNull(), "deleted")
            .when(~F.col("main").eqNullSafe(F.col("dev")), "updated")
        )
        rows = both.select(kind.alias("kind")).where("kind IS NOT NULL").groupBy("kind").count().collect()
        return {row["kind"]: row["count"] for row in rows}

    def merge(self) -> None:
        """Put on main what dev changed since the first state, cell by cell."""
        self._put("main", self._merged(self._first_state(), self._state("main"), self._state("dev")))

    def totals(self) -> list[str]:
        row = self._state("main").selectExpr("count(*)", "sum(price)", "sum(quantity)").collect()[0]
        return [str(value) for value in row]

    def prepare_conflicts(self) -> None:
        for side in ("ours", "theirs"):
            self._make_branch(side)
            self._change(side, self._given[f"conflict_{side}"], None, None)

    def conflicts(self) -> int:
        from pyspark.sql import functions as F

        states = {"base": self._state("main"), "ours": self._state("ours"), "theirs": self._state("theirs")}
        rows = self._beside(**states)
        met = [
            ~F.col(f"base.{c}").eqNullSafe(F.col(f"ours.{c}"))
            & ~F.col(f"base.{c}").eqNullSafe(F.col(f"theirs.{c}"))
            & ~F.col(f"ours.{c}").eqNullSafe(F.col(f"theirs.{c}"))
            for c in VALUES
        ]
        any_met = met[0]
        for one in met[1:]:
            any_met = any_met | one
        return len(rows.where(any_met).collect())

    def leave_conflicts(self) -> None:
        """Nothing is open."""

    def branch(self) -> None:
        self._make_branch("dev")

    def scan(self, first: bool = False) -> dict[str, str]:
        return revenue(self._first_state() if first else self._state("main"))

    def small_commit(self, name: str) -> None:
        self._change("main", self._given[name], None, None)

    def close(self) -> None:
        """The session ends with the process."""

    def _beside(self, **states: Any) -> Any:
        from pyspark.sql import functions as F

        whole = None
        for name, state in states.items():
            part = state.select("id", F.struct(*VALUES).alias(name))
            whole = part if whole is None else whole.join(part, "id", "full_outer")
        return whole

    def _merged(self, base: Any, ours: Any, theirs: Any) -> Any:
        """Rows that dev changed, as they are to be; `gone` where it deleted them."""
        from pyspark.sql import functions as F

        rows = self._beside(base=base, ours=ours, theirs=theirs)
        old, mine, yours = (F.col(n) for n in ("base", "ours", "theirs"))

        def cell(name: str) -> Any:
            taken = F.when(old[name].eqNullSafe(mine[name]), yours[name]).otherwise(mine[name])
            return F.when(old.isNull(), F.coalesce(mine[name], yours[name])).otherwise(taken).alias(name)

        gone = (old.isNotNull() & yours.isNull()).alias("gone")
        return rows.where(~old.eqNullSafe(yours)).select("id", *(cell(c) for c in VALUES), gone)

    # What each has of its own

    def load(self) -> None:
        raise NotImplementedError

    def compact(self) -> None:
        raise NotImplementedError

    def _make_branch(self, name: str) -> None:
        raise NotImplementedError

    def _state(self, branch: str) -> Any:
        raise NotImplementedError

    def _first_state(self) -> Any:
        raise NotImplementedError

    def _change(self, branch: str, updates: Any, inserts: Any, deletes: Any) -> None:
        raise NotImplementedError

    def _put(self, branch: str, rows: Any) -> None:
        raise NotImplementedError


class Raw(ByHand):
    """Folders of Parquet files; a commit writes the table anew."""

    def load(self) -> None:
        self._heads, self._count = {"main": self._write(self._given["orders"])}, 0
        self._first = self._heads["main"]

    def _write(self, rows: Any) -> str:
        path = str(self._folder / f"state-{len(list(self._folder.iterdir()))}")
        rows.write.parquet(path)
        return path

    def _make_branch(self, name: str) -> None:
        copy = str(self._folder / f"branch-{name}")
        shutil.copytree(self._heads["main"], copy)
        self._heads[name] = copy

    def _state(self, branch: str) -> Any:
        return self._spark.read.parquet(self._heads[branch])

    def _first_state(self) -> Any:
        return self._spark.read.parquet(self._first)

    def _change(self, branch: str, updates: Any, inserts: Any, deletes: Any) -> None:
        from pyspark.sql import functions as F

        column = updates.columns[1]
        rows = self._state(branch).join(F.broadcast(updates.withColumnRenamed(column, "new")), "id", "left")
        rows = rows.withColumn(column, F.coalesce("new", column)).select(*COLUMNS)
        if deletes is not None:
            rows = rows.join(F.broadcast(deletes), "id", "left_anti")
        self._heads[branch] = self._write(rows if inserts is None else rows.unionByName(inserts))

    def _put(self, branch: str, rows: Any) -> None:
        rest = self._state(branch).join(rows.select("id"), "id", "left_anti")
        self._heads[branch] = self._write(rest.unionByName(rows.where("NOT gone").drop("gone")))

    def compact(self) -> None:
        """There is nothing to compact."""


class WithMerge(ByHand):
    """Iceberg and Delta: MERGE INTO a table, which may be a branch."""

    def _target(self, branch: str) -> str:
        raise NotImplementedError

    def _change(self, branch: str, updates: Any, inserts: Any, deletes: Any) -> None:
        from pyspark.sql import functions as F

        column = updates.columns[1]
        rows = updates.withColumn("what", F.lit("u"))
        if inserts is not None:
            rows = rows.unionByName(inserts.withColumn("what", F.lit("i")), allowMissingColumns=True)
        if deletes is not None:
            rows = rows.unionByName(deletes.withColumn("what", F.lit("d")), allowMissingColumns=True)
        listed = ", ".join(COLUMNS)
        insert = f"WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({', '.join(f's.{c}' for c in COLUMNS)})"
        self._merge_into(
            branch,
            rows,
            ("WHEN MATCHED AND s.what = 'd' THEN DELETE " if deletes is not None else "")
            + f"WHEN MATCHED THEN UPDATE SET t.{column} = s.{column} "
            + (insert if inserts is not None else ""),
        )

    def _put(self, branch: str, rows: Any) -> None:
        listed, given = ", ".join(COLUMNS), ", ".join(f"s.{c}" for c in COLUMNS)
        self._merge_into(
            branch,
            rows,
            "WHEN MATCHED AND s.gone THEN DELETE WHEN MATCHED THEN UPDATE SET "
            + ", ".join(f"t.{c} = s.{c}" for c in VALUES)
            + f" WHEN NOT MATCHED AND NOT s.gone THEN INSERT ({listed}) VALUES ({given})",
        )

    def _merge_into(self, branch: str, rows: Any, clauses: str) -> None:
        rows.createOrReplaceTempView("given")
        self._spark.sql(f"MERGE INTO {self._target(branch)} t USING given s ON t.id = s.id {clauses}").collect()


class Iceberg(WithMerge):
    """Format 3, merge on read, branches of a table."""

    def __init__(self, folder: Path) -> None:
        self.settings = {
            "spark.jars": classpath("iceberg"),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hadoop",
            "spark.sql.catalog.ice.warehouse": str(folder.parent),
        }
        super().__init__(folder)
        self._table = f"ice.{folder.name}.orders"

    def load(self) -> None:
        writer = self._given["orders"].writeTo(self._table).tableProperty("format-version", "3")
        for verb in ("update", "delete", "merge"):
            writer = writer.tableProperty(f"write.{verb}.mode", "merge-on-read")
        writer.create()
        self._first = self._spark.sql(f"SELECT snapshot_id FROM {self._table}.snapshots").collect()[0][0]

    def _make_branch(self, name: str) -> None:
        self._spark.sql(f"ALTER TABLE {self._table} CREATE BRANCH {name}")

    def _target(self, branch: str) -> str:
        return f"{self._table}.branch_{branch}"

    def _state(self, branch: str) -> Any:
        return self._spark.sql(f"SELECT * FROM {self._table} VERSION AS OF '{branch}'")

    def _first_state(self) -> Any:
        return self._spark.sql(f"SELECT * FROM {self._table} VERSION AS OF {self._first}")

    def compact(self) -> None:
        name = self._table.removeprefix("ice.")
        options = "options => map('rewrite-all', 'true')"
        self._spark.sql(f"CALL ice.system.rewrite_data_files(table => '{name}', {options})").collect()


class Delta(WithMerge):
    """Deletion vectors; a branch is a shallow clone."""

    settings = MappingProxyType(
        {
            "spark.jars": classpath("delta"),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.properties.defaults.enableDeletionVectors": "true",
        }
    )

    def load(self) -> None:
        self._given["orders"].write.format("delta").save(self._path("main"))

    def _path(self, branch: str) -> str:
        return str(self._folder / branch)

    def _make_branch(self, name: str) -> None:
        source = f"delta.`{self._path('main')}`"
        self._spark.sql(f"CREATE TABLE delta.`{self._path(name)}` SHALLOW CLONE {source}")

    def _target(self, branch: str) -> str:
        return f"delta.`{self._path(branch)}`"

    def _state(self, branch: str) -> Any:
        return self._spark.read.format("delta").load(self._path(branch))

    def _first_state(self) -> Any:
        return self._spark.read.format("delta").option("versionAsOf", 0).load(self._path("main"))

    def compact(self) -> None:
        self._spark.sql(f"OPTIMIZE {self._target('main')}").collect()


SYSTEMS = {"raw": Raw, "iceberg": Iceberg, "delta": Delta}

if __name__ == "__main__":
    main(SYSTEMS[sys.argv[4]])
