"""Values as JSON: what it has no form for becomes text."""

from __future__ import annotations

from typing import Any

_INFINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def json_text(value: Any) -> str:
    """A value as one line of JSON."""
    import json

    return json.dumps(finite(value), ensure_ascii=False, default=plain)


def finite(value: Any) -> Any:
    """Replace NaN and the infinities, for which JSON has no numbers, with text."""
    if isinstance(value, dict):
        # The keys of a map may be anything; those of JSON are text.
        return {name if isinstance(name, str) else str(plain(name)): finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    return _INFINITE.get(str(value), value) if isinstance(value, float) else value


def plain(value: Any) -> Any:
    """Convert a value that JSON has no form for: times to ISO 8601, decimals to text, bytes to hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
