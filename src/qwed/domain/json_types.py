"""The one name for what a JSON document holds."""

from typing import Any, TypeAlias

#: Read from a document, or to be written as one; whoever needs more than that parses it into a type.
Json: TypeAlias = Any
