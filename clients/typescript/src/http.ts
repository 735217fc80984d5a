// One request over TCP or a unix socket, and the events of a stream. fetch() knows no unix sockets, so this is node:http.
import { request, type IncomingMessage } from "node:http";
import type { Address } from "./address.js";
import { ApiError, Unreachable } from "./errors.js";

export interface Call {
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: unknown;
  accept?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** The answer, whose body has not been read yet. An error of the server is thrown. */
export async function open(address: Address, call: Call): Promise<IncomingMessage> {
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  const headers: Record<string, string> = {
    Host: address.unix ? "localhost" : `${address.host}:${address.port}`,
    Accept: call.accept ?? "application/json",
    ...call.headers,
  };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    headers["Content-Length"] = String(new TextEncoder().encode(body).length);
  }
  if (address.token) headers["Authorization"] = `Bearer ${address.token}`;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const asked = request({
      ...(address.unix ? { socketPath: address.unix } : { host: address.host.replace(/^\[|\]$/g, ""), port: address.port }),
      method: call.method, path: call.path, headers, agent: false, ...(call.signal ? { signal: call.signal } : {}),
    });
    asked.on("response", resolve);
    asked.on("error", (error) => reject(failure(address, call, error)));
    asked.end(body);
  });
  const status = answer.statusCode ?? 0;
  if (status >= 400) throw refusal(status, one(answer.headers["retry-after"]), await text(answer));
  return answer;
}

function failure(address: Address, call: Call, error: Error): Error {
  return call.signal?.aborted ? error : new Unreachable(`${address.unix ?? `${address.host}:${address.port}`}: ${error.message}`);
}

function refusal(status: number, retry: string | undefined, body: string): ApiError {
  let kind = "system";
  let message = `the server answered ${status}`;
  try {
    const value = JSON.parse(body) as { error?: { kind?: string; message?: string }; stderr?: string };
    kind = value.error?.kind ?? kind;
    message = value.error?.message ?? value.stderr ?? message;
  } catch {
    // Not JSON: the status must do.
  }
  return new ApiError(status, kind, message, retry && /^\d+$/.test(retry) ? Number(retry) : null);
}

export function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

export async function text(answer: IncomingMessage): Promise<string> {
  const decoder = new TextDecoder();
  let all = "";
  for await (const piece of answer) all += decoder.decode(piece, { stream: true });
  return all + decoder.decode();
}

export async function json<T>(address: Address, call: Call): Promise<T> {
  const answer = await open(address, call);
  let body = "";
  try {
    body = await text(answer);
  } catch (error) {
    throw failure(address, call, error as Error);
  }
  try {
    return JSON.parse(body) as T;
  } catch {
    throw new Unreachable("the answer is not JSON");
  }
}

/** The events of an answer as they come. To leave the loop closes the connection. */
export async function* events(answer: IncomingMessage): AsyncGenerator<{ event: string; data: unknown }, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  let name = "message";
  let data: string[] = [];
  try {
    for await (const piece of answer) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("event:")) name = line.slice(6).trim();
        else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
        else if (line === "") {
          if (data.length) yield { event: name, data: JSON.parse(data.join("\n")) as unknown };
          [name, data] = ["message", []];
        }
      }
    }
  } finally {
    answer.destroy();
  }
}
