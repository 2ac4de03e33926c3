/** Tools of LangChain and LangGraph JS: `new ToolNode(protect(gate, tools))`. */
import type { ToolGate } from "./gate.js";

/** What a tool really runs, after its input was parsed by its schema; LangChain keeps it protected. */
type Runs = { _call(...given: unknown[]): Promise<unknown> };

/** The same tools, each decided before it runs, with the arguments that its schema made of the input. */
export function protect<T extends { name: string }>(gate: ToolGate, tools: readonly T[]): T[] {
  return tools.map((tool) => {
    if (typeof (tool as unknown as Partial<Runs>)._call !== "function") {
      throw new TypeError(`'${tool.name}' is no tool of LangChain: nothing could be verified`);
    }
    const run = (input: unknown, ...rest: unknown[]) => {
      const given = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : { input };
      const back = (granted: Record<string, unknown>) => (given === input ? granted : granted["input"]);
      return gate.run(tool.name, given, (granted) => (tool as unknown as Runs)._call(back(granted), ...rest));
    };
    return new Proxy(tool, { get: (target, key) => (key === "_call" ? run : Reflect.get(target, key, target)) });
  });
}
