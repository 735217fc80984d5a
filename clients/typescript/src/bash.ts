// A Bash tool for an agent, in the shape that many of them have: one object in, one object out.
import { isRefused, textOf, type Client } from "./client.js";
import type { Result, RunRequest } from "./api.js";

export interface BashInput {
  command: string;
  /** What this command does. */
  description?: string | undefined;
  /** Milliseconds. */
  timeout?: number | undefined;
  run_in_background?: boolean | undefined;
  /** Directory inside the workspace. */
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
}

export interface BashOutput {
  success: boolean;
  stdout: string;
  /** For a refusal, the reason and what to use instead. */
  stderr: string;
  /** 126 for a refusal, 124 for a time limit. */
  exit_code: number;
  duration_ms: number;
  truncated?: boolean;
  task_id?: string;
  output_file?: string;
}

export class BashTool {
  readonly name = "Bash";
  readonly #client: Client;
  readonly #profile: string;

  constructor(client: Client, options: { profile?: string } = {}) {
    this.#client = client;
    this.#profile = options.profile ?? "bash";
  }

  /** The description of the server, which tells what holds there. */
  async describe(): Promise<string> {
    const box = await this.#client.toolbox();
    try {
      return box.tools.find((tool) => tool.name === this.name)?.description ?? "";
    } finally {
      await box.close();
    }
  }

  async execute(input: BashInput, options: { signal?: AbortSignal } = {}): Promise<BashOutput> {
    return bashOutput(await this.#client.run(bashRequest(input, this.#profile), options));
  }
}

export function bashRequest(input: BashInput, profile: string): RunRequest {
  const request: RunRequest = { command: input.command, profile };
  if (input.description !== undefined) request.description = input.description;
  if (input.timeout) request.timeout_ms = input.timeout;
  if (input.run_in_background !== undefined) request.background = input.run_in_background;
  if (input.cwd !== undefined) request.cwd = input.cwd;
  if (input.env !== undefined) request.env = input.env;
  return request;
}

export function bashOutput(result: Result): BashOutput {
  const advice = result.recommended.length ? ` Use instead: ${result.recommended.join(", ")}.` : "";
  const output: BashOutput = {
    success: result.success,
    stdout: result.stdout ?? result.output ?? "",
    stderr: isRefused(result) ? (result.reason ?? "refused") + advice : result.stderr ?? "",
    exit_code: result.exit_code,
    duration_ms: result.duration_ms,
  };
  if (result.background) output.stdout = result.note ?? textOf(result);
  if (result.truncated) output.truncated = true;
  if (result.task_id !== null) output.task_id = result.task_id;
  if (result.output_file !== null) output.output_file = result.output_file;
  return output;
}
