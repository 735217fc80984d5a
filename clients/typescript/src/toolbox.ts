// The tools of the server for a model, over MCP. Names, descriptions and schemas are the server's own, made from the profiles in
// force, so what the model reads is what holds.
import type { Address } from "./address.js";
import { ApiError, Unreachable } from "./errors.js";
import { events, one, open, text } from "./http.js";

const REVISION = "2025-11-25";

export interface Tool {
  name: string;
  description: string;
  inputSchema: { type: "object"; properties: Record<string, unknown>; required?: string[] };
}

export interface ToolAnswer {
  text: string;
  /** The command did not run, or it reached its time limit. */
  isError: boolean;
  /** Exit code, verdict, task and so on; see docs/mcp.md, `dev.nacre/run`. */
  facts: Record<string, unknown>;
}

/** A tool of the messages API. */
export function anthropicTool(tool: Tool) {
  return { name: tool.name, description: tool.description, input_schema: tool.inputSchema };
}

/** A tool of the chat completions API. */
export function openaiTool(tool: Tool) {
  return { type: "function" as const, function: { name: tool.name, description: tool.description, parameters: tool.inputSchema } };
}

/** The block that answers a tool use of the messages API. */
export function anthropicResult(id: string, answer: ToolAnswer) {
  return { type: "tool_result" as const, tool_use_id: id, content: answer.text, is_error: answer.isError };
}

/** The message that answers a tool call of the chat completions API. */
export function openaiResult(id: string, answer: ToolAnswer) {
  return { role: "tool" as const, tool_call_id: id, content: answer.text };
}

interface Message {
  result?: Record<string, unknown>;
  error?: { message: string };
}

interface CallResult {
  content?: { type: string; text?: string }[];
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

/** One MCP session: working directory and variables persist from call to call. Close it at the end. */
export class Toolbox {
  readonly #address: Address;
  #session: string | undefined;
  #count = 0;
  tools: Tool[] = [];
  instructions = "";

  private constructor(address: Address) {
    this.#address = address;
  }

  static async open(address: Address): Promise<Toolbox> {
    const box = new Toolbox(address);
    const hello = await box.#request("initialize", {
      protocolVersion: REVISION, capabilities: {}, clientInfo: { name: "nacre-typescript", version: "1" },
    });
    box.instructions = String(hello["instructions"] ?? "");
    await box.#send({ jsonrpc: "2.0", method: "notifications/initialized", params: {} });
    box.tools = (await box.#request("tools/list", {}))["tools"] as Tool[];
    return box;
  }

  async call(name: string, args: Readonly<Record<string, unknown>>, options: { signal?: AbortSignal } = {}): Promise<ToolAnswer> {
    const result = (await this.#request("tools/call", { name, arguments: args }, options.signal)) as CallResult;
    const texts = (result.content ?? []).filter((item) => item.type === "text").map((item) => item.text ?? "");
    return { text: texts.join("\n"), isError: result.isError ?? false, facts: (result._meta?.["dev.nacre/run"] ?? {}) as Record<string, unknown> };
  }

  async close(): Promise<void> {
    await text(await open(this.#address, { method: "DELETE", path: "/mcp", headers: { "Mcp-Session-Id": this.#session ?? "" } }));
  }

  async #request(method: string, params: unknown, signal?: AbortSignal): Promise<Record<string, unknown>> {
    const message = await this.#send({ jsonrpc: "2.0", id: ++this.#count, method, params }, signal);
    if (message?.error) throw new ApiError(200, "mcp", message.error.message);
    if (!message?.result) throw new Unreachable("the server did not answer a message");
    return message.result;
  }

  async #send(body: unknown, signal?: AbortSignal): Promise<Message | null> {
    const headers: Record<string, string> = { "MCP-Protocol-Version": REVISION };
    if (this.#session) headers["Mcp-Session-Id"] = this.#session;
    const answer = await open(this.#address, { method: "POST", path: "/mcp", body, headers, signal, accept: "application/json, text/event-stream" });
    this.#session = one(answer.headers["mcp-session-id"]) ?? this.#session;
    if (one(answer.headers["content-type"])?.startsWith("text/event-stream")) {
      for await (const { data } of events(answer)) {
        const message = data as Message;
        if (message.result || message.error) return message;
      }
      return null;
    }
    const all = await text(answer);
    return all ? (JSON.parse(all) as Message) : null;
  }
}
