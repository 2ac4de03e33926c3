// Renders the OpenAPI document with the DOM alone: nothing is fetched from elsewhere, nothing is HTML from text.
const make = (tag, text, className) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
};

const api = await (await fetch("/openapi.json")).json();
document.getElementById("summary").textContent = `${api.info.summary} Version ${api.info.version}.`;

const groups = new Map();
for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const tag = operation.tags[0];
    if (!groups.has(tag)) groups.set(tag, []);
    groups.get(tag).push([method, path, operation]);
  }
}

const resolve = (schema) => schema?.$ref
  ? api.components.schemas[schema.$ref.split("/").pop()]
  : schema?.anyOf ? { anyOf: schema.anyOf.map(resolve) } : schema;

const target = document.getElementById("operations");
for (const [tag, operations] of groups) {
  target.append(make("h2", tag));
  for (const [method, path, operation] of operations) {
    const details = make("details", undefined, "op");
    const line = make("summary");
    line.append(make("span", method.toUpperCase(), "method"), make("code", path), make("span", operation.summary, "dim"));
    details.append(line);
    if (operation.parameters.length) {
      details.append(make("p", "Parameters: " + operation.parameters.map((p) => `${p.name} (${p.in})`).join(", ")));
    }
    const body = operation.requestBody?.content["application/json"].schema;
    if (body) details.append(make("pre", JSON.stringify(resolve(body), null, 2)));
    const answers = Object.entries(operation.responses).map(([status, r]) => `${status} ${r.description}`);
    details.append(make("p", "Answers: " + answers.join(" · ")));
    target.append(details);
  }
}
