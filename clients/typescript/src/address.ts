// Where the server is.
import { homedir } from "node:os";

export interface Address {
  unix: string | null;
  host: string;
  port: number;
  token: string | null;
}

/** `http://HOST:PORT`, `unix:PATH`, or nothing: NACRE_URL, else the socket of this user's server. */
export function parseAddress(url?: string, token?: string): Address {
  const given = url ?? process.env["NACRE_URL"] ?? `unix:${defaultSocket()}`;
  const secret = token ?? process.env["NACRE_TOKEN"] ?? null;
  if (given.startsWith("unix:")) return { unix: given.slice(5), host: "localhost", port: 0, token: secret };
  const parts = /^http:\/\//.test(given) ? new URL(given) : null;
  if (!parts || parts.pathname !== "/") throw new TypeError(`'${given}' is not an address. Use http://HOST:PORT or unix:PATH.`);
  return { unix: null, host: parts.hostname, port: Number(parts.port || 80), token: secret };
}

function defaultSocket(): string {
  const state = process.env["NACRE_STATE_DIR"] ?? (process.geteuid?.() === 0 ? "/var/lib/nacre" : `${homedir()}/.local/state/nacre`);
  return `${state}/nacre.sock`;
}
