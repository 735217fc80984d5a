// Schemas of zod for those who have it. This package does not: hand it yours, of version 3 or 4.
//
//   import { z } from "zod";
//   import { schemas } from "nacre-client/zod";
//   const { bashInput } = schemas(z);
import type { RunRequest, ShellRequest } from "./api.js";
import type { BashInput } from "./bash.js";

/* eslint-disable @typescript-eslint/no-explicit-any -- the types of zod belong to the caller */
export interface Zod {
  object(shape: any): any;
  string(): any;
  number(): any;
  boolean(): any;
  array(item: any): any;
  record(key: any, value: any): any;
  enum(words: any): any;
  union(arms: any): any;
}

/** What every schema of zod can do, with the type that comes of it. */
export interface Schema<T> {
  parse(value: unknown): T;
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: unknown };
}

/** A schema of the caller's own zod: it goes wherever theirs go. */
export type Of<Z extends Zod, T> = Schema<T> & ReturnType<Z["object"]>;

export interface Schemas<Z extends Zod> {
  /** The parameters of the Bash tool. */
  bashInput: Of<Z, BashInput>;
  /** The parameters of run_shell, which is POST /shell. */
  shellInput: Of<Z, ShellRequest>;
  /** The body of POST /v1/run. */
  runRequest: Of<Z, RunRequest>;
}

/** Every member of a type has its schema, and no other has one. */
type Shape<T> = { [K in keyof Required<T>]: any };

export function schemas<Z extends Zod>(z: Z): Schemas<Z> {
  const text = () => z.string().optional();
  const yes = () => z.boolean().optional();
  const whole = (least: number, most = Number.MAX_SAFE_INTEGER) => z.number().int().min(least).max(most);
  const variables = () => z.record(z.string(), z.string()).optional();
  const bashInput: Shape<BashInput> = {
    command: z.string().min(1), description: text(), timeout: whole(0, 600_000).optional(), run_in_background: yes(), cwd: text(),
    env: variables(),
  };
  const shellInput: Shape<ShellRequest> = { command: z.string().min(1), workspace: text(), timeout: whole(1, 30).optional() };
  const runRequest: Shape<RunRequest> = {
    profile: text(), command: text(), argv: z.array(z.string()).min(1).optional(), workspace: text(), cwd: text(), env: variables(),
    input: text(), timeout_ms: whole(1).optional(), idle_timeout_ms: whole(1).optional(), approval_timeout_ms: whole(0).optional(),
    description: text(), output_mode: z.enum(["separate", "merged", "stdout", "stderr"]).optional(), background: yes(),
    pty: z.union([z.boolean(), z.object({ rows: whole(1, 1000), cols: whole(1, 1000) })]).optional(), force: yes(), session: text(),
  };
  return { bashInput: z.object(bashInput).strict(), shellInput: z.object(shellInput).strict(), runRequest: z.object(runRequest).strict() };
}
