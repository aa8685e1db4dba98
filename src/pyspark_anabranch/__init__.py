"""Tables of Anabranch as a data source of Spark: `spark.read.format("anabranch")`, and a sink for streams.

Spark finds `DefaultSource` by the name of this package; executors need the package, and see the store's folder."""

from pyspark_anabranch.sink import anabranch_sink
from pyspark_anabranch.source import DefaultSource

__all__ = ["DefaultSource", "anabranch_sink"]
