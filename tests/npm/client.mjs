// Drives a server with an official client, step by step: client.mjs PLAN.json, results as one JSON object on stdout.
//
// A plan: { "era": "legacy" | "modern", "stdio": {command, args, env, cwd} | "http": {url, headers, lossy}, "steps": [...] }.
// A step: { "do": "list" | "call" | "cancel" | "resources" | "read" | "ping" | "sleep", ... }; see the functions below. The
// answer to the questions of the server (elicitation) during a step is its member "answer": accept:DECISION, decline, cancel.
import { readFileSync } from "node:fs";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const modern = plan.era === "modern";
const sdk = modern
  ? { ...(await import("@modelcontextprotocol/client")), ...(await import("@modelcontextprotocol/client/stdio")) }
  : {
      ...(await import("@modelcontextprotocol/sdk/client/index.js")),
      ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
      ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
      ...(await import("@modelcontextprotocol/sdk/types.js")),
    };

const questions = [];
let answer = "cancel";

function onQuestion(request) {
  questions.push(request.params);
  if (answer.startsWith("accept:")) return { action: "accept", content: { decision: answer.slice(7) } };
  return { action: answer };
}

function makeClient() {
  const options = { capabilities: plan.elicitation === false ? {} : { elicitation: {} } };
  if (modern) options.versionNegotiation = { mode: { pin: "2026-07-28" } };
  const client = new sdk.Client({ name: "nacre-test", version: "1.0.0" }, options);
  if (plan.elicitation !== false)
    client.setRequestHandler(modern ? "elicitation/create" : sdk.ElicitRequestSchema, onQuestion);
  return client;
}

// Loses the connection of every POST that is answered with a stream, after its first piece.
async function lossyFetch(url, init) {
  const lost = new AbortController();
  init?.signal?.addEventListener("abort", () => lost.abort());
  const response = await fetch(url, { ...init, signal: lost.signal });
  if (init?.method !== "POST" || !response.headers.get("content-type")?.includes("event-stream")) return response;
  const reader = response.body.getReader();
  let pieces = 0;
  const body = new ReadableStream({
    async pull(controller) {
      if (pieces++) {
        lost.abort();
        return controller.error(new Error("the network is gone"));
      }
      controller.enqueue((await reader.read()).value);
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}

function makeTransport() {
  if (plan.stdio) return new sdk.StdioClientTransport({ ...plan.stdio, stderr: "inherit" });
  return new sdk.StreamableHTTPClientTransport(new URL(plan.http.url), {
    requestInit: { headers: plan.http.headers },
    fetch: plan.http.lossy ? lossyFetch : undefined,
    reconnectionOptions: { initialReconnectionDelay: 50, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 2, maxRetries: 3 },
  });
}

const callTool = (step, options) =>
  modern
    ? client.callTool({ name: step.name, arguments: step.arguments }, options)
    : client.callTool({ name: step.name, arguments: step.arguments }, undefined, options);

const actions = {
  list: async () => (await client.listTools()).tools,
  ping: async () => (modern ? {} : await client.ping()),
  resources: async () => (await client.listResources()).resources,
  templates: async () => (await client.listResourceTemplates()).resourceTemplates,
  read: async (step) => await client.readResource({ uri: step.uri }),
  // A call to its end, with the progress that came meanwhile. "{ID}" in arguments stands for what an earlier step found.
  call: async (step) => {
    const progress = [];
    const result = await callTool(step, { onprogress: (p) => progress.push(p), timeout: 60000, resetTimeoutOnProgress: true });
    return { ...result, progress };
  },
  // Begins a call, gives it up at its first progress message, and waits for the error that the client then raises.
  cancel: async (step) => {
    const abort = new AbortController();
    const begun = performance.now();
    try {
      await callTool(step, { signal: abort.signal, timeout: 60000, onprogress: () => abort.abort("enough") });
      return { cancelled: false };
    } catch (error) {
      return { cancelled: abort.signal.aborted, error: String(error), ms: performance.now() - begun };
    }
  },
};

// Calls that run at the same time: their answers may come in any order.
actions.together = async (step) => await Promise.all(step.steps.map((inner) => actions[inner.do](inner)));

const found = {};
function fill(value) {
  if (typeof value === "string") return value.replace(/\{(\w+)\}/g, (all, name) => found[name] ?? all);
  if (Array.isArray(value)) return value.map(fill);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fill(v)]));
  return value;
}

const client = makeClient();
const results = {};
await client.connect(makeTransport());
results.version = client.getServerVersion();
results.era = modern ? client.getProtocolEra() : "legacy";
for (const raw of plan.steps) {
  const step = { ...raw, arguments: fill(raw.arguments ?? {}), uri: fill(raw.uri) };
  answer = step.answer ?? "cancel";
  questions.length = 0;
  try {
    results[step.id] = { value: await actions[step.do](step), questions: [...questions] };
    for (const [name, pattern] of Object.entries(step.find ?? {}))
      found[name] = new RegExp(pattern).exec(JSON.stringify(results[step.id].value))?.[1];
  } catch (error) {
    results[step.id] = { error: String(error), code: error.code, data: error.data, questions: [...questions] };
  }
}
await client.close();
process.stdout.write(JSON.stringify(results) + "\n");
