/** A client of the MCP SDK: every tool call is decided before the server hears of it.
 *
 * This guards the calls of one client object. Where the agent could reach the server another way, put
 * `qwed mcp proxy` in front of the server instead. */
import { ToolRefused } from "./errors.js";
import type { ToolGate } from "./gate.js";

interface McpClient {
  callTool(params: any, ...rest: any[]): Promise<any>;
}

/** Where a server that verifies permits looks for one. */
const carried = (meta: Record<string, unknown> | undefined, permit: string | undefined) =>
  permit === undefined ? {} : { _meta: { ...meta, "qwed/permit": permit } };

/** The same client. A refused call is a tool error that a model can read. */
export function protect<T extends McpClient>(gate: ToolGate, client: T): T {
  const callTool = async (params: { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> }, ...rest: unknown[]) => {
    try {
      return await gate.run(params.name, params.arguments ?? {}, (granted, permit) =>
        client.callTool({ ...params, arguments: granted, ...carried(params._meta, permit) }, ...rest),
      );
    } catch (error) {
      if (!(error instanceof ToolRefused)) throw error;
      return { content: [{ type: "text", text: error.message }], isError: true };
    }
  };
  return new Proxy(client, {
    get: (target, key) => {
      if (key === "callTool") return callTool;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
