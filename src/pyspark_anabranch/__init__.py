"""Tables of Anabranch as a data source of Spark: `spark.read.format("anabranch")`, and a sink for streams.

Spark finds `DefaultSource` by this package's name; executors need the package, and access to the store's folder.
"""

from pyspark_anabranch.sink import anabranch_sink
from pyspark_anabranch.source import DefaultSource

__all__ = ["DefaultSource", "anabranch_sink"]
