/** Tools of the Vercel AI SDK: `tools: protect(gate, { lookup: tool({…}) })`. */
import type { ToolGate } from "./gate.js";

interface VercelTool {
  execute?: ((...given: any[]) => any) | undefined;
}

/** The same tools, each decided before it runs, with the permit in its options where there is one. One that the SDK cannot run itself is refused. */
export function protect<T extends Record<string, VercelTool>>(gate: ToolGate, tools: T): T {
  const guarded: Record<string, VercelTool> = {};
  for (const [name, tool] of Object.entries(tools)) {
    const execute = tool.execute;
    if (execute === undefined) throw new TypeError(`the tool '${name}' has no execute: nothing could be verified here`);
    const run = (input: unknown, options: unknown) =>
      gate.run(name, (input ?? {}) as Record<string, unknown>, (granted, permit) =>
        execute.call(tool, granted, permit === undefined ? options : { ...(options as object), permit }),
      );
    guarded[name] = { ...tool, execute: run };
  }
  return guarded as T;
}
