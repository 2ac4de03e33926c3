/** Function tools of the OpenAI Agents SDK: `new Agent({ tools: protect(gate, tools) })`. */
import type { ToolGate } from "./gate.js";

interface FunctionTool {
  type?: string;
  name: string;
  invoke?: ((context: any, input: string, ...rest: any[]) => Promise<any>) | undefined;
}

/** The same tools, each decided before it runs. One that OpenAI runs itself cannot be verified, and is refused. */
export function protect<T extends FunctionTool>(gate: ToolGate, tools: readonly T[]): T[] {
  return tools.map((tool) => {
    const invoke = tool.invoke;
    if (invoke === undefined) throw new TypeError(`the tool '${tool.name}' is not run here: nothing could be verified`);
    const run = (context: unknown, input: string, ...rest: unknown[]) =>
      gate.run(tool.name, parsed(input), (granted) => invoke.call(tool, context, JSON.stringify(granted), ...rest));
    return { ...tool, invoke: run };
  });
}

function parsed(input: string): Record<string, unknown> {
  const value: unknown = input.trim() ? JSON.parse(input) : {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError("arguments are an object");
  return value as Record<string, unknown>;
}
