"""The types of items, parts and stream events that are understood, and what each can carry.

Whatever is not in a table here is not known to be harmless: it is verified as a call if it can be read as
one, and refused if not.
"""

from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.json_types import Json

# Items that hold a call: of the caller's tools, or of tools that the provider or its client runs.
CALLS: Final = frozenset(
    {
        "function_call", "tool_call", "custom_tool_call", "tool_use", "server_tool_use", "mcp_tool_use",
        "function", "tool-call", "tool_call_delta", "mcp_call", "mcp_approval_request", "local_shell_call",
        "shell_call", "apply_patch_call", "computer_call", "code_interpreter_call", "web_search_call",
        "file_search_call", "image_generation_call", "tool_search_call", "multi_agent_call", "program",
    }
)  # fmt: skip
# The tool that an item calls where the item does not name it; others are their type without `_call`.
TOOL_OF: Final = {"program": "run_program"}
# Items that say something and call nothing.
HARMLESS_ITEMS: Final = frozenset(
    {
        "message", "agent_message", "reasoning", "compaction", "item_reference", "system_intervention",
        "configuration_update", "additional_tools",
        "function_call_output", "tool_result", "custom_tool_call_output", "computer_call_output",
        "local_shell_call_output", "shell_call_output", "apply_patch_call_output", "program_output",
        "tool_search_output", "multi_agent_call_output", "mcp_list_tools", "mcp_approval_response",
    }
)  # fmt: skip
# Parts of messages: what people read, see and hear.
PARTS: Final = frozenset(
    {
        "text", "input_text", "output_text", "refusal", "reasoning_text", "summary_text", "thinking",
        "redacted_thinking", "input_image", "output_image", "image", "image_url", "input_audio",
        "output_audio", "audio", "input_file", "file", "document",
    }
)  # fmt: skip
# Events that tell a text, or how far something is.
HARMLESS_EVENTS: Final = frozenset(
    {
        "error", "ping", "keepalive",
        "response.output_text.delta", "response.output_text.done", "response.output_text.annotation.added",
        "response.refusal.delta", "response.refusal.done",
        "response.reasoning.delta", "response.reasoning.done",
        "response.reasoning_text.delta", "response.reasoning_text.done",
        "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.added", "response.reasoning_summary_part.done",
        "response.audio.delta", "response.audio.done",
        "response.audio.transcript.delta", "response.audio.transcript.done",
        "response.compaction.compacting",
        "response.shell_call_output_content.delta", "response.shell_call_output_content.done",
        "response.image_generation_call.partial_image",
        *(
            f"response.{call}.{state}"
            for call in ("code_interpreter_call", "file_search_call", "web_search_call",
                         "image_generation_call", "mcp_call", "mcp_list_tools")
            for state in ("in_progress", "completed", "failed", "searching", "interpreting", "generating")
        ),
    }
)  # fmt: skip
# Events that hold a whole response.
WHOLE_EVENTS: Final = frozenset(
    f"response.{state}"
    for state in ("created", "queued", "in_progress", "completed", "incomplete", "failed", "cancelled")
)
ITEM_ADDED: Final = "response.output_item.added"
ITEM_DONE: Final = "response.output_item.done"
PART_EVENTS: Final = frozenset({"response.content_part.added", "response.content_part.done"})
# Events that hold a piece of a call.
CALL_EVENTS: Final = frozenset(
    f"response.{piece}"
    for piece in (
        "function_call_arguments.delta", "function_call_arguments.done", "tool_call_arguments.delta",
        "tool_call_arguments.done", "mcp_call_arguments.delta", "mcp_call_arguments.done",
        "custom_tool_call_input.delta", "custom_tool_call_input.done", "code_interpreter_call_code.delta",
        "code_interpreter_call_code.done", "shell_call_command.added", "shell_call_command.delta",
        "shell_call_command.done",
    )
)  # fmt: skip
# Members of an item of any type that only number, date or tell.
_PLAIN_MEMBERS: Final = frozenset(
    {
        "type", "id", "item_id", "response_id", "index", "output_index", "content_index", "sequence_number",
        "status", "role", "object", "model", "created", "created_at", "timestamp", "text", "content", "delta",
        "message", "refusal", "level",
    }
)  # fmt: skip


def is_call_type(kind: Any) -> bool:
    return isinstance(kind, str) and (kind in CALLS or kind.endswith("_call"))


def is_harmless_type(kind: Any) -> bool:
    return isinstance(kind, str) and (kind in HARMLESS_ITEMS or kind in PARTS)


def only_tells(item: Mapping[str, Json]) -> bool:
    """Whether an item of a type that nobody knows holds texts and numbers alone, so that it calls nothing."""
    return _PLAIN_MEMBERS.issuperset(item) and not any(
        isinstance(value, Mapping | list | tuple) for value in item.values()
    )
