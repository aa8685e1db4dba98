"""A relation: anything with columns and rows. It is read as Arrow or on Spark; the other forms follow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any

from anabranch.errors import InvalidRequest

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from anabranch.engines.spark import DataFrame


class Relation(ABC):
    """Columns and rows, to be read in any form, as often as you like.

    Each relation defines what selects its rows (`key=`, `where=` …); every form takes the same."""

    @abstractmethod
    def arrow(self, *args: Any, **chosen: Any) -> pa.Table:
        """Read as an Arrow table."""

    @abstractmethod
    def spark(self, *args: Any, **chosen: Any) -> DataFrame:
        """Read as a Spark DataFrame; nothing runs yet."""

    def pandas(self, **chosen: Any) -> pandas.DataFrame:
        """Read as a pandas DataFrame; whole numbers with nulls among them get pandas' nullable types."""
        from anabranch.frames.output import to_pandas

        return to_pandas(self.arrow(**chosen))

    def polars(self, **chosen: Any) -> polars.DataFrame:
        """Read as a Polars DataFrame."""
        from anabranch.frames.output import to_polars

        return to_polars(self.arrow(**chosen))

    def rows(self, *args: Any, **chosen: Any) -> list[Any]:
        """Read as a list of dicts; structs and maps are dicts, too."""
        from anabranch.frames.output import to_dicts

        found = self.arrow(**chosen)
        duplicate = next((n for n, count in Counter(found.column_names).items() if count > 1), None)
        if duplicate is not None:
            message = f"two columns of the result are called {duplicate!r}, a dict holds one"
            hint = "name them with AS, or read with .arrow() or .spark()"
            raise InvalidRequest(message, hint=hint, column=duplicate)
        return to_dicts(found)

    def count(self, *args: Any, **chosen: Any) -> int:
        """Count the rows."""
        return int(self.arrow(**chosen).num_rows)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say what a habit of other libraries is called here."""
            known = f"; here it is {HABITS[name]}" if name in HABITS else ""
            raise AttributeError(f"{type(self).__name__!r} has no {name!r}{known}", name=name, obj=self)


HABITS = {
    **dict.fromkeys(("to_pandas", "toPandas", "to_df", "df", "fetchdf"), ".pandas()"),
    **dict.fromkeys(("to_polars", "pl"), ".polars()"),
    **dict.fromkeys(("to_arrow", "toArrow", "arrow_table", "fetch_arrow_table"), ".arrow()"),
    **dict.fromkeys(("to_spark", "toDF"), ".spark()"),
    **dict.fromkeys(("collect", "show", "to_dicts", "to_pylist", "fetchall"), ".rows()"),
    **dict.fromkeys(("filter", "where", "select"), "repo.table(name, where='…', columns=[…])"),
    **dict.fromkeys(
        ("insert", "upsert", "update", "delete", "overwrite"),
        "tx.table(name), in `with repo.commit(branch, message) as tx:`",
    ),
}
"""What other libraries call what is done with a relation, and what it is called here."""
