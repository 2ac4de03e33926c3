// Renders the OpenAPI document with the DOM alone: nothing is fetched from elsewhere, nothing is HTML from text.
const make = (tag, text, className) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
};
const block = (text) => {
  const node = make("pre", text);
  node.tabIndex = 0;
  return node;
};

const api = await (await fetch("/openapi.json")).json();
document.getElementById("summary").textContent = `${api.info.summary} Version ${api.info.version}.`;

const DEEPEST = 6;
const named = (schema) => (schema?.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema) ?? {};

/** One line for each field, those of objects within indented by their path. */
const rowsOf = (schema, path = "", depth = 0) => {
  const found = named(schema);
  const choices = found.anyOf ?? found.oneOf;
  if (choices) return choices.filter((one) => named(one).type !== "null").flatMap((one) => rowsOf(one, path, depth));
  if (depth >= DEEPEST || !found.properties) return [];
  return Object.entries(found.properties).flatMap(([name, inner]) => [
    [path + name, typeOf(inner), (found.required ?? []).includes(name) ? "required" : `default ${JSON.stringify(named(inner).default ?? inner.default ?? null)}`, named(inner).description ?? inner.description ?? ""],
    ...rowsOf(inner, `${path}${name}.`, depth + 1),
  ]);
};

const typeOf = (schema) => {
  const found = named(schema);
  if (found.enum) return found.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (found.const !== undefined) return JSON.stringify(found.const);
  const choices = found.anyOf ?? found.oneOf;
  if (choices) return [...new Set(choices.map(typeOf))].join(" | ");
  if (found.type === "array") return `list of ${typeOf(found.items ?? {})}`;
  return [found.type ?? "any"].flat().join(" | ");
};

const TEXTS = { type: "execute_sql", query: "SELECT name FROM users", conversation_id: "conv_1", principal_id: "user_123", name: "DataAnalyst", url: "https://hooks.example.com/qwed", api_key: "qwed_live_…", reason: "why", note: "why", user_intent: "the weekly report", tool_name: "lookup_order" };

/** A body that has every required field, and the optional ones that people use most. */
const exampleOf = (schema, name = "", depth = 0) => {
  const found = named(schema);
  if (found.default !== undefined && found.default !== null && typeof found.default !== "object") return found.default;
  if (found.enum) return found.enum[0];
  if (found.const !== undefined) return found.const;
  const choices = (found.anyOf ?? found.oneOf)?.filter((one) => named(one).type !== "null");
  if (choices?.length) return exampleOf(choices[0], name, depth);
  const type = [found.type].flat()[0];
  if (type === "array") return depth >= DEEPEST ? [] : [exampleOf(found.items ?? {}, name.replace(/s$/, ""), depth + 1)].filter((one) => one !== null);
  if (type === "object" || found.properties) {
    if (depth >= DEEPEST || !found.properties) return {};
    const wanted = Object.keys(found.properties).filter((one) => (found.required ?? []).includes(one) || (one in TEXTS && depth > 0));
    return Object.fromEntries(wanted.map((one) => [one, exampleOf(found.properties[one], one, depth + 1)]));
  }
  if (type === "integer" || type === "number") return Math.max(found.minimum ?? 1, 1);
  if (type === "boolean") return true;
  return TEXTS[name] ?? (type === "string" ? "…" : null);
};

// What people ask for most, as they would ask for it.
const EXAMPLES = {
  verify: { action: { type: "execute_sql", query: "DROP TABLE users" }, context: { conversation_id: "conv_1", step_number: 1 } },
  verify_tool: { parameters: { order: 7 }, context: { conversation_id: "conv_1", step_number: 2 } },
  register: { name: "DataAnalyst", type: "supervised", principal_id: "user_123", permissions: { allowed_engines: ["math", "sql"] } },
};

const curl = (method, path, body, isOpen) => [
  `curl -s${method === "get" ? "" : ` -X ${method.toUpperCase()}`} ${location.origin}${path}`,
  isOpen ? null : '-H "Authorization: Bearer $QWED_API_KEY"',
  body === null ? null : `-d '${JSON.stringify(body)}'`,
].filter(Boolean).join(" \\\n  ");

const table = (names, rows) => {
  const body = make("tbody");
  for (const row of rows) {
    const line = make("tr");
    row.forEach((text, at) => {
      const cell = make("td");
      cell.append(at === 0 ? make("code", text) : text);
      line.append(cell);
    });
    body.append(line);
  }
  const head = make("thead");
  const line = make("tr");
  for (const name of names) {
    const cell = make("th", name);
    cell.scope = "col";
    line.append(cell);
  }
  head.append(line);
  const whole = make("table");
  whole.append(head, body);
  return whole;
};

const bodyOf = (operation) => operation.requestBody?.content["application/json"].schema;

const describe = (method, path, operation) => {
  const parts = [];
  if (operation.parameters.length) {
    parts.push(make("h3", "Parameters"), table(["Name", "Where", "Type", "Meaning"], operation.parameters.map((one) => [one.name, one.in, typeOf(one.schema), one.description ?? (one.required ? "required" : "optional")])));
  }
  const body = bodyOf(operation);
  if (body) {
    const rows = rowsOf(body);
    parts.push(make("h3", operation.requestBody.required ? "Body" : "Body (optional)"));
    if (rows.length) parts.push(table(["Field", "Type", "Required", "Meaning"], rows));
  }
  parts.push(make("h3", "Example"), block(curl(method, path, body ? EXAMPLES[operation.operationId] ?? exampleOf(body) : null, operation.security?.length === 0)));
  parts.push(make("h3", "Answers"), table(["Status", "Meaning"], Object.entries(operation.responses).map(([status, one]) => [status, one.description])));
  const answer = Object.entries(operation.responses).find(([status]) => status.startsWith("2"))?.[1].content?.["application/json"]?.schema;
  const rows = answer ? rowsOf(answer) : [];
  if (rows.length) parts.push(make("h3", "Fields of the answer"), table(["Field", "Type", "Required", "Meaning"], rows));
  return parts;
};

const groups = new Map();
for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const tag = operation.tags[0];
    if (!groups.has(tag)) groups.set(tag, []);
    groups.get(tag).push([method, path, operation]);
  }
}

const target = document.getElementById("operations");
for (const [tag, operations] of groups) {
  target.append(make("h2", tag));
  for (const [method, path, operation] of operations) {
    const details = make("details", undefined, "op");
    details.id = operation.operationId;
    const line = make("summary");
    line.append(make("span", method.toUpperCase(), "method"), make("code", path), make("span", operation.summary, "dim"));
    details.append(line);
    // Most are never opened: what is in them is made when they are.
    details.addEventListener("toggle", () => details.open && details.childElementCount === 1 && details.append(...describe(method, path, operation)));
    target.append(details);
  }
}
const chosen = document.getElementById(location.hash.slice(1));
if (chosen) {
  chosen.open = true;
  chosen.scrollIntoView();
}
