"""JSON of the older tools: the document, and its whole numbers."""

from typing import Any

from tracegen.contract import documents
from tracegen.contract.errors import TraceFormatError


def parse_json(name: str, data: bytes) -> Any:
    """A JSON document. Raises TraceFormatError with the place of the fault."""
    advice = "the file is cut or was changed"
    return documents.parse_json(data, name, TraceFormatError, advice, most_bytes=len(data), nan=True)


def is_whole(number: object, limit: int) -> bool:
    """Whether a value is a whole number from 0 to below `limit`."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < limit
