// Round trips through MCP over stdio, by the official client: mcp.mjs PLAN.json, prints lines "NAME NANOSECONDS".
//
// The servers are called in turn, one call at a time, so that whatever else the machine does meets all of them alike.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const server of plan.servers) {
  server.client = new Client({ name: "nacre-bench", version: "1.0.0" });
  await server.client.connect(new StdioClientTransport({ command: server.command, args: server.args, env: plan.env,
    cwd: plan.cwd, stderr: "ignore" }));
}
for (let round = -plan.warm; round < plan.rounds; round++)
  for (const server of plan.servers) {
    const begun = process.hrtime.bigint();
    const result = await server.client.callTool({ name: server.tool, arguments: server.arguments });
    const took = process.hrtime.bigint() - begun;
    if (result.isError) throw new Error(`${server.name}: ${JSON.stringify(result)}`);
    if (round >= 0) console.log(`${server.name} ${took}`);
  }
for (const server of plan.servers) await server.client.close();
