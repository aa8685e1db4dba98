"""Choose which engine runs a piece of work, from what the catalogue knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from anabranch.errors import InvalidRequest, install_hint

EngineName = Literal["spark", "duck"]
EngineSetting = Literal["auto", "spark", "duck"]


@dataclass(frozen=True)
class Work:
    """What the choice depends on."""

    size_bytes: int = 0
    """How much may have to be read."""
    spark_frame: bool = False
    """Whether a Spark DataFrame comes in or goes out."""
    unproven: str | None = None
    """What in a user's expression is not proven equal on DuckDB."""
    not_in_duck: str | None = None
    """Which column DuckDB can't hold."""


def choose(setting: EngineSetting, work: Work, threshold_bytes: int, has_spark: bool) -> tuple[EngineName, str]:
    """Choose the engine and say why."""
    if setting == "spark":
        return "spark", "it was asked for"
    if work.unproven or work.not_in_duck:
        if setting == "duck" or not has_spark:
            why = "engine='duck' was asked for" if setting == "duck" else "PySpark is not installed"
            hint = "use engine='auto' or 'spark'" if setting == "duck" else install_hint("spark")
            what = f"{work.unproven} runs on Spark only" if work.unproven else str(work.not_in_duck)
            raise InvalidRequest(f"{what}, and {why}", hint=hint)
        return "spark", f"{work.unproven} is not proven equal on DuckDB" if work.unproven else str(work.not_in_duck)
    if setting == "duck":
        return "duck", "it was asked for"
    if work.spark_frame:
        return "spark", "a Spark DataFrame comes in or goes out"
    if work.size_bytes > threshold_bytes and has_spark:
        return "spark", f"{work.size_bytes} bytes may be read, more than {threshold_bytes}"
    return "duck", f"{work.size_bytes} bytes may be read, no more than {threshold_bytes}"
