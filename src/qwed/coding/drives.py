"""The agents that run offline: how each is started, and the protocol that its model speaks."""

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from qwed.coding.scripted_model import Drive
from qwed.coding.surroundings import inherit_without

Calls = Sequence[Mapping[str, Any]] | None
_PROMPT: Final = "go on"
_numbers = itertools.count(1)


def _event(kind: str, **members: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


def _bash(name: str) -> Any:
    return lambda command: {"name": name, "input": {"command": command, "description": "scripted"}}


# -- Anthropic's messages -----------------------------------------------------------------------------------


def _stream_messages(calls: Calls) -> bytes:
    message: dict[str, Any] = {
        "id": f"msg_{next(_numbers)}",
        "type": "message",
        "role": "assistant",
        "model": "claude-scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    parts = [_event("message_start", message=message)]
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = (
        [({"type": "text", "text": ""}, {"type": "text_delta", "text": "done"})]
        if calls is None
        else [_tool_block(call) for call in calls]
    )
    for index, (block, delta) in enumerate(blocks):
        parts.append(_event("content_block_start", index=index, content_block=block))
        parts.append(_event("content_block_delta", index=index, delta=delta))
        parts.append(_event("content_block_stop", index=index))
    ended = {"stop_reason": "end_turn" if calls is None else "tool_use", "stop_sequence": None}
    parts.append(_event("message_delta", delta=ended, usage={"output_tokens": 1}))
    parts.append(_event("message_stop"))
    return b"".join(parts)


def _tool_block(call: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    block = {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": call["name"], "input": {}}
    return block, {"type": "input_json_delta", "partial_json": json.dumps(call["input"])}


def _results_of_messages(asked: Any) -> list[str]:
    contents = [message.get("content") for message in asked.get("messages", [])]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [
        json.dumps(part.get("content"))
        for part in parts
        if isinstance(part, dict) and part.get("type") == "tool_result"
    ]


def _claude_environment(port: int, folder: Path) -> dict[str, str]:
    return {
        **inherit_without("ANTHROPIC_", "CLAUDE_"),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _copilot_environment(port: int, folder: Path) -> dict[str, str]:
    return {
        **inherit_without("COPILOT_", "GH_", "GITHUB_"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{port}",
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_API_KEY": "scripted",
        "COPILOT_MODEL": "claude-sonnet-4",
    }


# -- OpenAI's responses -------------------------------------------------------------------------------------


def _stream_responses(calls: Calls) -> bytes:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    items = [said] if calls is None else [_function_call(call) for call in calls]
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    parts = [_event("response.created", response={"id": "scripted"})]
    parts += [
        _event("response.output_item.done", output_index=index, item=item) for index, item in enumerate(items)
    ]
    parts.append(_event("response.completed", response={"id": "scripted", "usage": usage}))
    return b"".join(parts)


def _function_call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(call["input"])
    return {
        "type": "function_call",
        "call_id": f"call_{next(_numbers)}",
        "name": call["name"],
        "arguments": arguments,
        **({"namespace": call["namespace"]} if "namespace" in call else {}),
    }


def _results_of_responses(asked: Any) -> list[str]:
    items = asked.get("input", [])
    return [json.dumps(item.get("output")) for item in items if item.get("type") == "function_call_output"]


def _codex_command(program: str, port: int) -> list[str]:
    """Nothing of its own stands in the way: only the hook does."""
    provider = f'{{name="scripted",base_url="http://127.0.0.1:{port}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}}'
    options = ["-c", f"model_providers.scripted={provider}", "-c", "model_provider=scripted"]
    free = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return [program, "exec", *free, *options, "-m", "scripted", _PROMPT]


# -- Gemini's generateContent -------------------------------------------------------------------------------


def _stream_contents(calls: Calls) -> bytes:
    parts: list[dict[str, Any]] = (
        [{"text": "done"}]
        if calls is None
        else [{"functionCall": {"name": call["name"], "args": call["input"]}} for call in calls]
    )
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': usage})}\n\n".encode()


def _results_of_contents(asked: Any) -> list[str]:
    parts = [part for content in asked.get("contents", []) for part in content.get("parts", [])]
    return [json.dumps(part["functionResponse"]) for part in parts if "functionResponse" in part]


def _gemini_environment(port: int, folder: Path) -> dict[str, str]:
    """Settings of the system lie over the person's own: whoever logs in otherwise is not asked to.

    Gemini leaves such a file out where others may write to a folder above it, as in /tmp; the variables say
    the same, and hold wherever the person chose nothing.
    """
    settings = folder / "gemini-system.json"
    settings.write_text(json.dumps({"security": {"auth": {"selectedType": "vertex-ai"}}}), "utf-8")
    return {
        **inherit_without("GEMINI_", "GOOGLE_"),
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_API_KEY": "scripted",
        "GOOGLE_VERTEX_BASE_URL": f"http://127.0.0.1:{port}",
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(settings),
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
    }


DRIVES: Final[Mapping[str, Drive]] = {
    "claude-code": Drive(
        lambda program, port: [program, "-p", _PROMPT, "--allowedTools", "Bash,Write,Edit,Read"],
        _claude_environment,
        _stream_messages,
        _results_of_messages,
        _bash("Bash"),
    ),
    "codex": Drive(
        _codex_command,
        lambda port, folder: {
            **inherit_without("OPENAI_"),
            "OPENAI_API_KEY": "scripted",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}",
        },
        _stream_responses,
        _results_of_responses,
        lambda command: {"name": "exec_command", "input": {"cmd": command}},
    ),
    "gemini": Drive(
        lambda program, port: [program, "-p", _PROMPT, "--yolo", "-m", "gemini-2.5-flash"],
        _gemini_environment,
        _stream_contents,
        _results_of_contents,
        _bash("run_shell_command"),
    ),
    "copilot": Drive(
        lambda program, port: [program, "-p", _PROMPT, "--allow-all-tools", "--allow-all-paths"],
        _copilot_environment,
        _stream_messages,
        _results_of_messages,
        _bash("bash"),
    ),
}
