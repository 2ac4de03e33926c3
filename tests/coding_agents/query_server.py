"""An MCP server with one tool, which writes down the statements that it is really given.

python query_server.py FILE
"""

import json
import sys
from pathlib import Path

TOOL = {
    "name": "query",
    "description": "Asks the shop's database.",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}


def answer(method, given):
    match method:
        case "initialize":
            server = {"name": "shop", "version": "1"}
            capabilities = {"tools": {}}
            version = given.get("protocolVersion", "2025-06-18")
            return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
                file.write(given["arguments"]["query"] + "\n")
            return {"content": [{"type": "text", "text": "no rows"}]}
    return {}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked and "method" in asked:
        result = answer(asked["method"], asked.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
