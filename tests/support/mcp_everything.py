"""The server that the official conformance suite wants to meet: `-m tests.support.mcp_everything [http]`.

Its tools, resources and prompts have the names and say the words that the suite's scenarios ask for.
"""

import asyncio
import sys
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
TEXT = {"type": "text", "text": "This is a simple text response for testing."}
IMAGE = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
PERSON = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
    "if": {"properties": {"name": {"const": "x"}}},
    "then": {"required": ["address"]},
    "else": {},
    "additionalProperties": False,
}


def embedded(uri: str, mime: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}}


CONTENTS: dict[str, list[dict[str, Any]]] = {
    "test_simple_text": [TEXT],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}],
    "test_embedded_resource": [embedded("test://embedded-resource", "text/plain", "An embedded resource.")],
    "test_multiple_content_types": [
        {"type": "text", "text": "Multiple content types test:"},
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "test_reconnection": [{"type": "text", "text": "Reconnection test completed"}],
    "json_schema_2020_12_tool": [TEXT],
    "test_x_mcp_header": [TEXT],
    "test_custom_headers": [TEXT],
    "test_logging_tool": [TEXT],
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "json_schema_2020_12_tool": PERSON,
    "test_x_mcp_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}},
}


def form(message: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sample(text: str) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 50}}


WORD, TRUTH = {"type": "string"}, {"type": "boolean"}
ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
#: Tool → what each round asks for.
ROUNDS: dict[str, list[dict[str, Any]]] = {
    "test_input_required_result_elicitation": [{"user_name": form("What is your name?", name=WORD)}],
    "test_input_required_result_sampling": [{"capital_question": sample("What is the capital of France?")}],
    "test_input_required_result_list_roots": [{"client_roots": ROOTS}],
    "test_input_required_result_request_state": [{"confirm": form("Please confirm", ok=TRUTH)}],
    "test_input_required_result_tampered_state": [{"confirm": form("Please confirm", ok=TRUTH)}],
    "test_input_required_result_multiple_inputs": [
        {
            "user_name": form("What is your name?", name=WORD),
            "greeting": sample("Generate a greeting"),
            "client_roots": ROOTS,
        }
    ],
    "test_input_required_result_multi_round": [
        {"step1": form("Step 1: What is your name?", name=WORD)},
        {"step2": form("Step 2: What is your favorite color?", color=WORD)},
    ],
    "test_input_required_result_capabilities": [{"confirm": form("Please confirm", ok=TRUTH)}],
}


def result(*content: dict[str, Any], is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult.model_validate({"content": list(content), "isError": is_error})


def said(text: str) -> types.CallToolResult:
    return result({"type": "text", "text": text})


async def log(ctx: Any, params: Any) -> Any:
    for step in ("started", "processing data", "completed"):
        await ctx.session.send_log_message(level="info", data=f"Tool {step}")
        await asyncio.sleep(0.05)
    return said("done")


async def progress(ctx: Any, params: Any) -> Any:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"step {done}")
        await asyncio.sleep(0.05)
    return said("done")


async def fail(ctx: Any, params: Any) -> Any:
    return result(
        {"type": "text", "text": "This tool intentionally returns an error for testing"}, is_error=True
    )


async def ask_model(ctx: Any, params: Any) -> Any:
    content = types.TextContent(type="text", text=params.arguments["prompt"])
    answer = await ctx.session.create_message(
        [types.SamplingMessage(role="user", content=content)], max_tokens=9
    )
    return said(f"LLM response: {answer.content.text}")


async def ask_user(ctx: Any, params: Any) -> Any:
    schema = {"type": "object", "properties": {"response": WORD}, "required": ["response"]}
    answer = await ctx.session.elicit_form(params.arguments["message"], schema)
    return said(f"User response: {answer.action} {answer.content}")


async def miss_capability(ctx: Any, params: Any) -> Any:
    data = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(code=-32021, message="Missing required client capability", data=data)


RUN = {
    "test_tool_with_logging": log,
    "test_tool_with_progress": progress,
    "test_error_handling": fail,
    "test_sampling": ask_model,
    "test_elicitation": ask_user,
    "test_missing_capability": miss_capability,
}


def in_rounds(rounds: list[dict[str, Any]], params: Any) -> Any:
    """The rounds so far are counted in the state, which the SDK seals."""
    number = int(params.request_state or 0)
    answers = params.input_responses or {}
    if number < len(rounds) and not all(name in answers for name in rounds[number]):
        return types.InputRequiredResult.model_validate(
            {"inputRequests": rounds[number], "requestState": str(number)}
        )
    if number + 1 < len(rounds):
        return types.InputRequiredResult.model_validate(
            {"inputRequests": rounds[number + 1], "requestState": str(number + 1)}
        )
    first = next(iter(answers.values()), None)
    content = getattr(first, "content", None)
    shown = content if isinstance(content, dict) else getattr(content, "text", "")
    return said(f"state-ok integrity-ok: {shown}")


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    names = [*CONTENTS, *RUN, *ROUNDS]
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, description=f"Tests {name}.", input_schema=SCHEMAS.get(name, NOTHING))
            for name in names
        ],
        ttl_ms=1000,
        cache_scope="private",
    )


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    if params.name in CONTENTS:
        return result(*CONTENTS[params.name])
    if params.name in ROUNDS:
        return in_rounds(ROUNDS[params.name], params)
    if params.name not in RUN:
        raise MCPError(code=-32602, message=f"Unknown tool: {params.name[:80]}")
    return await RUN[params.name](ctx, params)


async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    texts = types.Resource(uri="test://static-text", name="text", mime_type="text/plain")
    binary = types.Resource(uri="test://static-binary", name="binary", mime_type="image/png")
    return types.ListResourcesResult(resources=[texts, binary], ttl_ms=1000, cache_scope="private")


async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(uri_template="test://template/{id}/data", name="template")
    return types.ListResourceTemplatesResult(
        resource_templates=[template], ttl_ms=1000, cache_scope="private"
    )


async def read_resource(ctx: Any, params: Any) -> types.ReadResourceResult:
    uri = str(params.uri)
    contents: Any
    if uri == "test://static-binary":
        contents = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PICTURE)
    elif uri == "test://static-text":
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text="A static text resource.")
    elif uri.startswith("test://template/"):
        data = f'{{"id":"{uri.split("/")[3]}","templateTest":true}}'
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=data)
    else:
        raise MCPError(code=-32602, message="Resource not found", data={"uri": uri})
    return types.ReadResourceResult(contents=[contents], ttl_ms=1000, cache_scope="private")


def words(*names: str) -> list[types.PromptArgument]:
    return [types.PromptArgument(name=name, required=True) for name in names]


async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
    prompts = [
        types.Prompt(name="test_simple_prompt", description="A simple prompt"),
        types.Prompt(
            name="test_prompt_with_arguments", description="With words", arguments=words("arg1", "arg2")
        ),
        types.Prompt(
            name="test_prompt_with_embedded_resource",
            description="With a resource",
            arguments=words("resourceUri"),
        ),
        types.Prompt(name="test_prompt_with_image", description="With a picture"),
        types.Prompt(name="test_input_required_result_prompt", description="In rounds"),
    ]
    return types.ListPromptsResult(prompts=prompts, ttl_ms=1000, cache_scope="private")


async def get_prompt(ctx: Any, params: Any) -> Any:
    given = params.arguments or {}
    content: list[dict[str, Any]] = [{"type": "text", "text": "This is a simple prompt for testing."}]
    if params.name == "test_prompt_with_arguments":
        content = [{"type": "text", "text": f"arg1={given.get('arg1')!r}, arg2={given.get('arg2')!r}"}]
    elif params.name == "test_prompt_with_embedded_resource":
        content.insert(
            0, embedded(given.get("resourceUri", "test://x"), "text/plain", "An embedded resource.")
        )
    elif params.name == "test_prompt_with_image":
        content.insert(0, IMAGE)
    elif params.name == "test_input_required_result_prompt" and not params.input_responses:
        request = {"user_context": form("What context should the prompt use?", context=WORD)}
        return types.InputRequiredResult.model_validate({"inputRequests": request})
    return types.GetPromptResult.model_validate(
        {"messages": [{"role": "user", "content": part} for part in content]}
    )


async def complete(ctx: Any, params: Any) -> types.CompleteResult:
    return types.CompleteResult(
        completion=types.Completion(values=["paris", "park"], total=2, has_more=False)
    )


async def nothing(ctx: Any, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def build() -> Server[Any]:
    server: Server[Any] = Server(
        "everything",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=nothing,
        on_unsubscribe_resource=nothing,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=nothing,
    )
    security = RequestStateSecurity.ephemeral()
    server.middleware.append(RequestStateBoundary(security, default_audience="everything"))
    return server


async def over_stdio() -> None:
    server = build()
    async with stdio_server() as (read, write):
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        await server.run(read, write, options)


class Announcing(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        Announcing(uvicorn.Config(build().streamable_http_app(), port=0, log_level="error")).run()
    else:
        asyncio.run(over_stdio())
