import type {
  Approval, ApprovalsRequest, Approvals, Explanation, Health, Order, Output, OutputEvent, Record as AuditRecord, Records, Result,
  RunEvent, RunRequest, Session, Sessions, Shell, Task, Tasks,
} from "./api.js";
import { parseAddress, type Address } from "./address.js";
import { CommandFailed, Refused, Unreachable } from "./errors.js";
import { events, json, open, type Call } from "./http.js";
import { Toolbox } from "./toolbox.js";

/** A line for bash, a list of words that no shell reads, or all members of POST /v1/run. */
export type AnyRequest = string | readonly string[] | RunRequest;
export type Answer = ApprovalsRequest["answer"] | ApprovalsRequest;
/** Decides about a command that needs a person. */
export type Approver = (approval: Approval) => Answer | Promise<Answer>;

export interface ClientOptions {
  /** `http://HOST:PORT` or `unix:PATH`; without it NACRE_URL, else the socket of this user's server. */
  url?: string;
  token?: string;
  /** Asked for every command that needs a person; without it such a command is refused. */
  approver?: Approver;
  /** The session of every request that names none. */
  session?: string;
}

export interface Signal {
  /** Aborts the call; a command that it waits for is ended. */
  signal?: AbortSignal;
}

/** A client of `nacre serve`. */
export class Client {
  readonly address: Address;
  readonly #approver: Approver | undefined;
  readonly #session: string | undefined;

  constructor(options: ClientOptions = {}) {
    this.address = parseAddress(options.url, options.token);
    this.#approver = options.approver;
    this.#session = options.session;
  }

  /** Runs a command to its end. A refusal is a result: see check(). */
  async run(request: AnyRequest, options: Signal = {}): Promise<Result> {
    if (!this.#approver) return this.#json({ method: "POST", path: "/v1/run", body: this.#body(request), signal: options.signal });
    for await (const event of this.stream(request, options)) if (event.event === "result") return event.data;
    throw new Unreachable("the stream ended without a result");
  }

  /** Runs a command; its output comes as it is printed, then the result. To leave the loop ends the command. */
  async *stream(request: AnyRequest, options: Signal = {}): AsyncGenerator<RunEvent, void, undefined> {
    const body = this.#body(request);
    if (this.#approver) body.approval_timeout_ms ??= 300_000;
    const answer = await open(this.address, { method: "POST", path: "/v1/run", body, accept: "text/event-stream", signal: options.signal });
    for await (const event of events(answer) as AsyncGenerator<RunEvent>) {
      if (event.event === "asked" && this.#approver) await this.answer(event.data.id, await this.#approver(event.data));
      yield event;
    }
  }

  /** Starts a command as a background task. The result has its `task_id`, or a refusal. */
  start(request: AnyRequest): Promise<Result> {
    return this.#json({ method: "POST", path: "/v1/run", body: { ...this.#body(request), background: true } });
  }

  /** What would be decided about a command. Nothing runs. */
  explain(request: AnyRequest): Promise<Explanation> {
    return this.#json({ method: "POST", path: "/v1/explain", body: this.#body(request) });
  }

  /** POST /shell: one read-only command, `timeout` in seconds. */
  shell(command: string, workspace?: string, timeout?: number): Promise<Shell> {
    return this.#json({ method: "POST", path: "/shell", body: { command, workspace, timeout } });
  }

  async tasks(options: { limit?: number; running?: boolean } = {}): Promise<Task[]> {
    const query = { limit: options.limit, state: options.running ? "running" : undefined };
    return (await this.#json<Tasks>({ method: "GET", path: at("/v1/tasks", query) })).tasks;
  }

  task(id: string): Promise<Task> {
    return this.#json({ method: "GET", path: `/v1/tasks/${encodeURIComponent(id)}` });
  }

  /** A piece of a task's output. Pass its `next` as `since` to continue. */
  output(id: string, options: { since?: number; wait_ms?: number; stream?: "stdout" | "stderr" | "both"; tail?: number; grep?: string } = {}): Promise<Output> {
    return this.#json({ method: "GET", path: at(`/v1/tasks/${encodeURIComponent(id)}/output`, options) });
  }

  /** A task's output as it comes, then its end. To leave the loop leaves the task as it is. */
  async *follow(id: string, options: { since?: number } & Signal = {}): AsyncGenerator<OutputEvent, void, undefined> {
    const path = at(`/v1/tasks/${encodeURIComponent(id)}/output`, { follow: 1, since: options.since });
    const answer = await open(this.address, { method: "GET", path, accept: "text/event-stream", signal: options.signal });
    yield* events(answer) as AsyncGenerator<OutputEvent>;
  }

  /** Ends a task with everything it started. `now` leaves out the friendly signal. */
  stop(id: string, options: { now?: boolean } = {}): Promise<Order> {
    return this.#json({ method: "POST", path: `/v1/tasks/${encodeURIComponent(id)}/stop`, body: options });
  }

  /** Types on the terminal of a task, or changes its size. */
  type(id: string, input: { text: string } | { rows: number; cols: number }): Promise<Order> {
    return this.#json({ method: "POST", path: `/v1/tasks/${encodeURIComponent(id)}/input`, body: input });
  }

  async sessions(): Promise<Session[]> {
    return (await this.#json<Sessions>({ method: "GET", path: "/v1/sessions" })).sessions;
  }

  async session(name: string): Promise<Session> {
    return first(await this.#json<Sessions>({ method: "GET", path: `/v1/sessions/${encodeURIComponent(name)}` }));
  }

  async endSession(name: string): Promise<Session> {
    return first(await this.#json<Sessions>({ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(name)}` }));
  }

  /** Open questions to a person; with `all` the answered ones, too. */
  async approvals(options: { all?: boolean } = {}): Promise<Approval[]> {
    return (await this.#json<Approvals>({ method: "GET", path: at("/v1/approvals", { all: options.all ? 1 : undefined }) })).approvals;
  }

  answer(id: string, answer: Answer): Promise<Approval> {
    const body = typeof answer === "string" ? { answer } : answer;
    return this.#json({ method: "POST", path: `/v1/approvals/${encodeURIComponent(id)}`, body });
  }

  async audit(query: Readonly<{ [name: string]: string | number | undefined }> = {}): Promise<AuditRecord[]> {
    return (await this.#json<Records>({ method: "GET", path: at("/v1/audit", query) })).records;
  }

  health(): Promise<Health> {
    return this.#json({ method: "GET", path: "/v1/health" });
  }

  /** The tools of the server's profiles for a model, in a session of their own. */
  toolbox(): Promise<Toolbox> {
    return Toolbox.open(this.address);
  }

  #body(request: AnyRequest): RunRequest {
    const body: RunRequest = typeof request === "string" ? { command: request } : isWords(request) ? { argv: [...request] } : { ...request };
    if (this.#session !== undefined) body.session ??= this.#session;
    return body;
  }

  #json<T>(call: Call): Promise<T> {
    return json<T>(this.address, call);
  }
}

function isWords(request: readonly string[] | RunRequest): request is readonly string[] {
  return Array.isArray(request);
}

function first(sessions: Sessions): Session {
  const session = sessions.sessions[0];
  if (!session) throw new Unreachable("the server named no session");
  return session;
}

function at(path: string, query: Readonly<{ [name: string]: string | number | undefined }>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string | number] => pair[1] !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : path;
}

/** Whether the command did not run: the policy or a person said no, or it could not be started. */
export function isRefused(result: Result): boolean {
  return !result.success && result.task_id === null;
}

/** The output, whichever way the streams came. */
export function textOf(result: Result): string {
  return result.output || (result.stdout ?? "") + (result.stderr ?? "");
}

/** The result, or an exception if the command was refused or failed. */
export function check(result: Result): Result {
  if (isRefused(result)) {
    throw new Refused(result.verdict, result.reason ?? "the command was refused", result.recommended, result.rule?.id ?? null,
      result.approval?.id ?? null);
  }
  if (!result.success) {
    throw new CommandFailed(result.exit_code, result.reason ?? textOf(result), result.signal, result.timed_out);
  }
  return result;
}
