"""The data source that Spark registers: tables at a ref, and change feeds; writes are commits."""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, DataSourceWriter
from pyspark.sql.types import StructType

from anabranch import InvalidRequest
from anabranch.engines.spark import data_type
from pyspark_anabranch.options import SourceOptions
from pyspark_anabranch.reading import NamedColumn, TableReader, columns_of_changes, columns_of_table, ddl_of
from pyspark_anabranch.streaming import ChangesReader, ChangeStream
from pyspark_anabranch.writing import CommitWriter


class DefaultSource(DataSource):
    """`format("anabranch")`. A DataFrame shows the commit that its ref named when it was made."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._asked = SourceOptions.of(options)
        self._commit: str | None = None

    @classmethod
    def name(cls) -> str:
        return "anabranch"

    def schema(self) -> str:
        """The columns, from the catalogue; reads no rows."""
        return ddl_of(self._columns())

    def _columns(self) -> list[NamedColumn]:
        with self._asked.opened() as repo:
            self._commit = repo.show(self._asked.at).hash
            find = columns_of_changes if self._asked.changes else columns_of_table
            return find(repo, self._asked, self._commit)

    def reader(self, schema: StructType) -> DataSourceReader:
        self._refuse_other(schema)
        assert self._commit is not None
        return (ChangesReader if self._asked.changes else TableReader)(self._asked, self._commit, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if not self._asked.changes:
            hint = "say .option('changes', 'true'): a stream follows the changes of a branch"
            raise InvalidRequest("a table at a ref is no stream", hint=hint)
        self._refuse_other(schema)
        return ChangeStream(self._asked, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return CommitWriter(self._asked, schema, overwrite)

    def _refuse_other(self, schema: StructType) -> None:
        """Refuse a schema given by the user if it differs from the table's; otherwise it is ours."""
        if self._commit is not None:
            return
        own = [(name, type_) for name, type_, _ in self._columns()]
        given = [(field.name, str(data_type(field.dataType))) for field in schema.fields]
        if own != given:
            message = f"{self._asked.table!r} has the columns {own}, asked for {given}"
            raise InvalidRequest(message, hint="leave .schema(…) out; .option('columns', 'a, b') chooses columns")
