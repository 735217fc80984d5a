// An agent over MCP is answered by the page: the click reaches it within a second.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { api, assert, given, inside, noViolations, open, say, scenarios } from "./lib.mjs";

/** A client of `nacre mcp` whose own person never answers: it shows the form, and waits. */
function agent() {
  const child = spawn(given.nacre, ["mcp", "--profile", "workspace", "--workspace", given.workspace], { stdio: ["pipe", "pipe", "ignore"], cwd: given.workspace });
  const waiting = new Map();
  let id = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const m = JSON.parse(line);
    if (m.id !== undefined && waiting.has(m.id) && !m.method) waiting.get(m.id)(m);
  });
  const send = (m) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
  return {
    notify: (method, params) => send({ method, params }),
    call: (method, params) => new Promise((resolve) => {
      waiting.set(++id, resolve);
      send({ id, method, params });
    }),
    end: () => child.stdin.end(),
  };
}

async function asked(page, command, description) {
  const a = agent();
  const hello = await a.call("initialize", { protocolVersion: "2025-06-18", capabilities: { elicitation: {} }, clientInfo: { name: "claude-code", version: "1" } });
  assert(hello.result, JSON.stringify(hello));
  a.notify("notifications/initialized", {});
  const tools = (await a.call("tools/list", {})).result.tools;
  const tool = tools.find((t) => t.name === "shell");
  const argument = { command: tool.inputSchema.properties.command.type === "array" ? command.split(" ") : command };
  const began = Date.now();
  const answer = a.call("tools/call", { name: tool.name, arguments: { ...argument, ...(tool.inputSchema.properties.description ? { description } : {}) } });
  await page.waitForFunction((t) => document.querySelector(".sheet .cmd")?.textContent.includes(t), command.split(" ").at(-1));
  say(`the question was on the page after ${Date.now() - began} ms`);
  await page.waitForFunction(() => document.querySelector(".acts:not(.early)") && !document.querySelector(".acts .yes").disabled);
  return { a, answer, took: Date.now() - began };
}

scenarios({
  "approved by a click": async () => {
    const page = await inside(await open(), "#/approvals");
    const { a, answer } = await asked(page, "touch asked-over-mcp", "Make a file");
    await page.click(".acts .yes");
    const at = Date.now();
    const m = await answer;
    const ms = Date.now() - at;
    say(`the agent had its result ${ms} ms after the click`);
    assert(ms < 1000 * given.slack, `${ms}`);
    assert.equal(m.result.isError ?? false, false, JSON.stringify(m));
    a.end();
    await noViolations(page);
    await page.context().close();
  },

  "denied from a phone, with a reason that the agent reads": async () => {
    const page = await inside(await open({ width: 390, height: 844, phone: true }), "#/approvals");
    const { a, answer } = await asked(page, "touch denied-over-mcp", "Make another file");
    await page.tap(".acts .no");
    await page.fill("#reason", "use src instead");
    await page.waitForFunction(() => !document.querySelector(".acts.early"));
    await page.tap(".acts .no");
    const m = await answer;
    assert.match(JSON.stringify(m), /use src instead/);
    a.end();
    assert.equal((await api("GET", "/v1/approvals")).approvals.length, 0);
    await page.context().close();
  },
});
