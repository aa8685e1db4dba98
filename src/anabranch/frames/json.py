"""Values as JSON tells them: what it has no form for becomes text."""

from __future__ import annotations

from typing import Any

_INFINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def json_text(value: Any) -> str:
    """A value as one line of JSON."""
    import json

    return json.dumps(finite(value), ensure_ascii=False, default=plain)


def finite(value: Any) -> Any:
    """JSON has no number for NaN and the infinities: they become text."""
    if isinstance(value, dict):
        # The keys of a map may be anything; those of JSON are text.
        return {name if isinstance(name, str) else str(plain(name)): finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    return _INFINITE.get(str(value), value) if isinstance(value, float) else value


def plain(value: Any) -> Any:
    """A value that JSON has no form for: times as ISO 8601, decimals as text, bytes as hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
