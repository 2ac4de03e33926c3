"""Refuses what a JSON Schema refuses, every error with its JSON pointer."""

from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.json_types import Json
from qwed.domain.secrets import mask
from qwed_open_responses.guards.base import BaseGuard, Context
from qwed_open_responses.libraries import library
from qwed_open_responses.outputs import Output, normalise, normalise_structured
from qwed_open_responses.results import GuardResult

_VALIDATORS: Final = {
    "2020-12": "Draft202012Validator",
    "2019-09": "Draft201909Validator",
    "7": "Draft7Validator",
    "6": "Draft6Validator",
    "4": "Draft4Validator",
}
_MAX_ERRORS: Final = 100
_MAX_MESSAGE: Final = 300
_PATTERN_SIZE: Final = 1 << 20
_BACKTRACKS: Final = 10_000


class SchemaGuard(BaseGuard):
    """Validates the structured output and the arguments of each tool call.

    `references` maps addresses to schemas that `$ref` may name: nothing is ever fetched. As the standard
    says, `format` only annotates unless `validate_formats` is set. A schema that is not one is a
    `ValueError` here, not a failure later.
    """

    def __init__(
        self,
        schema: Mapping[str, Json] | bool,
        draft: str = "2020-12",
        *,
        validate_formats: bool = False,
        references: Mapping[str, Json] | None = None,
    ) -> None:
        if draft not in _VALIDATORS:
            raise ValueError(f"draft is one of {', '.join(_VALIDATORS)}, not {draft!r}")
        self._validator = compiled(schema, draft, validate_formats, references or {})

    def check(self, response: Any, context: Context | None = None) -> GuardResult:
        view = response if isinstance(response, Output) else _as_instance(response)
        instances = _instances(view)
        if not instances:
            return self.fail_result("the output is text, not the JSON that the schema describes")
        errors = [error for path, value in instances for error in self._errors(path, value)]
        if not errors:
            return self.pass_result("the output follows the schema")
        shown = "; ".join(f"{error['pointer'] or 'the value'}: {error['message']}" for error in errors[:3])
        more = f" (and {len(errors) - 3} more)" if len(errors) > 3 else ""
        return self.fail_result(f"the output breaks the schema: {shown}{more}", {"errors": errors})

    def _errors(self, path: str, value: Any) -> list[dict[str, str]]:
        if self._validator.is_valid(value):
            return []
        errors = []
        for error in self._validator.iter_errors(value):
            message = mask(str(error.message))
            shown = message if len(message) <= _MAX_MESSAGE else message[:_MAX_MESSAGE] + "…"
            errors.append({"path": path, "pointer": _pointer(error.instance_path), "message": shown})
            if len(errors) == _MAX_ERRORS:
                break
        return errors


def compiled(schema: Any, draft: str, validate_formats: bool, references: Mapping[str, Json]) -> Any:
    """A validator that fetches nothing and whose patterns can't run away."""
    rs: Any = library("jsonschema_rs")
    if isinstance(schema, Mapping):
        schema = dict(schema)
    elif not isinstance(schema, bool):
        raise ValueError(f"a schema is an object or a boolean, not {type(schema).__name__}")
    make = getattr(rs, _VALIDATORS[draft])
    options: dict[str, Json] = {"offline": True, "validate_formats": validate_formats}
    try:
        if references:
            options["registry"] = rs.Registry(list(references.items()))
        linear = rs.RegexOptions(size_limit=_PATTERN_SIZE)
        try:
            return make(schema, pattern_options=linear, **options)
        except (ValueError, rs.ReferencingError):
            # Lookaround needs the backtracking engine, which stops at its limit.
            bounded = rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=_PATTERN_SIZE)
            return make(schema, pattern_options=bounded, **options)
    except (ValueError, TypeError, rs.ReferencingError, RecursionError) as error:
        raise ValueError(f"the schema is not valid: {error}") from None


def _as_instance(value: Any) -> Output:
    """Called without a verifier, a JSON value is the instance itself, whatever it looks like."""
    is_json = value is None or isinstance(value, str | int | float | dict | list)
    return normalise_structured(value) if is_json else normalise(value)


def _instances(view: Output) -> list[tuple[str, Any]]:
    found = [(call.path, call.arguments) for call in view.tool_calls if not call.nested]
    if view.has_structured:
        found.append(("", view.structured))
    return found


def _pointer(path: list[str | int]) -> str:
    """RFC 6901."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
