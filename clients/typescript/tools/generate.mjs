// Writes the types of the interface from the OpenAPI document: node tools/generate.mjs [DOCUMENT] > src/api.ts
//
// DOCUMENT is a file; without it the server is asked whose socket NACRE_SOCKET names. tools/update-clients of the repository does that.
import { readFileSync } from "node:fs";
import { request } from "node:http";

const document = process.argv[2] ? JSON.parse(readFileSync(process.argv[2], "utf8")) : await fetchDocument();
const simple = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null", object: "{ [name: string]: unknown }" };

function fetchDocument() {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: process.env.NACRE_SOCKET, path: "/v1/openapi.json", headers: { Host: "localhost" } }, async (answer) => {
      let text = "";
      for await (const piece of answer.setEncoding("utf8")) text += piece;
      resolve(JSON.parse(text));
    });
    asked.on("error", reject).end();
  });
}

function type(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map(type).join(" | ");
  if (schema.type === "array") return /^\w+$/.test(type(schema.items)) ? `${type(schema.items)}[]` : `(${type(schema.items)})[]`;
  if (schema.type === "object" && schema.properties) {
    return `{ ${Object.entries(schema.properties).map((pair) => member(schema, pair)).join("; ")} }`;
  }
  if (schema.type === "object" && typeof schema.additionalProperties === "object") return `{ [name: string]: ${type(schema.additionalProperties)} }`;
  return simple[schema.type] ?? "unknown";
}

function member(schema, [name, part]) {
  return `${name}${(schema.required ?? []).includes(name) ? "" : "?"}: ${type(part)}`;
}

function shape(name, schema) {
  const lines = [`export interface ${name} {`];
  for (const [key, part] of Object.entries(schema.properties ?? {})) {
    if (part.description) lines.push(`  /** ${part.description} */`);
    lines.push(`  ${member(schema, [key, part])};`);
  }
  if (schema.additionalProperties !== false) lines.push("  [more: string]: unknown;");
  return [...lines, "}", ""].join("\n");
}

// "/v1/tasks/{id}/stop" has the body StopRequest and the events StopEvent.
function named(path, suffix) {
  const word = path.split("/").filter((part) => part && !part.startsWith("{")).pop();
  return word[0].toUpperCase() + word.slice(1) + suffix;
}

const parts = ["// Made from the OpenAPI document by tools/generate.mjs. Do not edit it: run tools/update-clients.", ""];
for (const [name, schema] of Object.entries(document.components.schemas)) parts.push(shape(name, schema));
for (const [path, methods] of Object.entries(document.paths)) {
  for (const operation of Object.values(methods)) {
    const body = operation.requestBody?.content?.["application/json"]?.schema;
    const events = operation.responses?.["200"]?.content?.["text/event-stream"]?.["x-events"];
    if (path === "/mcp") continue;
    if (body) parts.push(`/** ${operation.summary} */\n${shape(named(path, "Request"), body)}`);
    if (events) {
      const arms = Object.entries(events).map(([name, schema]) => `  | { event: ${JSON.stringify(name)}; data: ${type(schema)} }`);
      parts.push(`export type ${named(path, "Event")} =\n${arms.join("\n")};\n`);
    }
  }
}
process.stdout.write(parts.join("\n"));
