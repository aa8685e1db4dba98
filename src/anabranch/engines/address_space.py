"""Room in the address space, where the system limits it: DuckDB ends the process when it finds none."""

from __future__ import annotations

from pathlib import Path

from anabranch.errors import Unavailable
from anabranch.settings import DUCK_ADDRESS_SPACE_BYTES

_MB = 1 << 20


def check_room() -> None:
    """Refuse to begin what needs DuckDB where the address space has no room for it."""
    free_bytes = free_address_space()
    if free_bytes is not None and free_bytes < DUCK_ADDRESS_SPACE_BYTES:
        message = (
            f"this process may take {free_bytes // _MB} MB more of address space, "
            f"and DuckDB needs {DUCK_ADDRESS_SPACE_BYTES // _MB} MB to begin"
        )
        raise Unavailable(message, hint="raise the limit (ulimit -v, RLIMIT_AS), or limit memory instead")


def free_address_space() -> int | None:
    """How many bytes of address space this process may still take; None where that is not limited, or not known."""
    try:
        import resource
    except ImportError:  # no such limits on Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return max(0, limit - pages * resource.getpagesize())
