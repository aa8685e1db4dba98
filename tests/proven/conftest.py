"""How Spark runs what it is compared in: as for users with `--all`, as `make prove` has it; else without compiling."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from tests.connect import QUICK, set_in


@pytest.fixture(scope="module")
def spark(spark: Any, pytestconfig: pytest.Config) -> Iterator[Any]:
    """The session; to compile each plan takes longer than to run it."""
    with nullcontext() if pytestconfig.getoption("--all") else set_in(spark, QUICK):
        yield spark
