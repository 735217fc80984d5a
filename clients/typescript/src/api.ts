// Made from the OpenAPI document by tools/generate.mjs. Do not edit it: run tools/update-clients.

export interface Error {
  error: ErrorDetail;
}

export interface ErrorDetail {
  kind: string;
  message: string;
}

export interface Health {
  status: string;
  version: string;
}

export interface Rule {
  id: string;
  file: string | null;
  line: number | null;
}

export interface Shell {
  success: boolean;
  stdout: string;
  stderr: string;
  returncode: number;
}

export interface ShellError {
  success: boolean;
  stdout: string;
  stderr: string;
  returncode: number;
  error: ErrorDetail;
}

export interface Result {
  success: boolean;
  exit_code: number;
  signal: string | null;
  timed_out: boolean;
  stages?: number[];
  duration_ms: number;
  output?: string;
  stdout?: string;
  stderr?: string;
  truncated: boolean;
  stdout_bytes: number;
  stderr_bytes: number;
  output_file: string | null;
  stderr_file: string | null;
  task_id: string | null;
  background: boolean;
  note?: string | null;
  left_running: Left[];
  verdict: string | null;
  reason: string | null;
  rule: Rule | null;
  recommended: string[];
  approval: Consent | null;
  left_to_sandbox: boolean;
  killed: number;
  processes: Processes;
  held?: Held[];
  notices: string[];
  sandbox: Sandbox;
  room: Room | null;
  network: Network | null;
  changes?: Changes;
  undo?: Undo;
  usage: Usage;
}

export interface Changes {
  state: string;
  added: number;
  changed: number;
  deleted: number;
  bytes: number;
  list: Change[];
  more: number;
  conflicts: Conflict[];
}

export interface Change {
  kind: string;
  path: string;
  was?: string;
  directory?: boolean;
  other_names?: number;
}

export interface Conflict {
  path: string;
  why: string;
}

export interface Undo {
  available: boolean;
  why: string | null;
  expires_ms?: number;
}

export interface Network {
  connections: number;
  refused_count: number;
  refused: Unreached[];
}

export interface Unreached {
  name: string;
  port: number | null;
  count: number;
  reason: string;
  rule: string | null;
}

export interface Room {
  id: string;
  generation: number;
  fresh: boolean;
}

export interface Held {
  path: string;
  id: string;
}

export interface Left {
  pid: number;
  name: string;
  ports: number[];
}

export interface Consent {
  id: string;
  state: string | null;
  by: string | null;
}

export interface Processes {
  total: number;
  ended: string[];
  killed: string[];
}

export interface Sandbox {
  tier: string | null;
  layers: string[];
  missing: string[];
  limit_hit: string | null;
}

export interface Usage {
  cpu_ms: number;
  max_rss_kb: number;
}

export interface Finding {
  verdict: string;
  reason: string | null;
  rule: Rule | null;
  left_to_sandbox: boolean;
}

export interface Explanation {
  verdict: string;
  reason: string | null;
  rule: Rule | null;
  left_to_sandbox: boolean;
  recommended: string[];
  docker: Engine;
  status: string;
  canonical: string | null;
  commands: Command[];
  hosts: Host[];
}

export interface Host {
  name: string;
  port: number | null;
  verdict: string;
  reason: string | null;
  rule: NetworkRule | null;
  runner_up: NetworkRule | null;
  in_force: boolean;
}

export interface NetworkRule {
  list: string;
  entry: string;
  file: string | null;
  line: number;
  set: string | null;
  source: string | null;
}

export interface Engine {
  client: boolean;
  allow: boolean;
}

export interface Command {
  verdict: string;
  reason: string | null;
  rule: Rule | null;
  left_to_sandbox: boolean;
  words: (string | null)[];
  via: string | null;
  resolved: string | null;
}

export interface Task {
  task_id: string;
  state: string;
  running: boolean;
  command: string | null;
  description: string | null;
  principal: string | null;
  background: boolean;
  started_ms: number;
  duration_ms: number;
  exit_code: number | null;
  signal: string | null;
  stdout_bytes: number;
  stderr_bytes: number;
  ports: number[];
  published: string[];
}

export interface Tasks {
  tasks: Task[];
}

export interface Output {
  task_id: string;
  state: string;
  running: boolean;
  command: string | null;
  description: string | null;
  principal: string | null;
  background: boolean;
  started_ms: number;
  duration_ms: number;
  exit_code: number | null;
  signal: string | null;
  stdout_bytes: number;
  stderr_bytes: number;
  ports: number[];
  published: string[];
  output?: string;
  stdout?: string;
  stderr?: string;
  truncated: boolean;
  next: number;
}

export interface Text {
  stream: string;
  text?: string;
  missing_bytes?: number;
}

export interface Order {
  task_id: string;
  state: string;
  running: boolean;
  command: string | null;
  description: string | null;
  principal: string | null;
  background: boolean;
  started_ms: number;
  duration_ms: number;
  exit_code: number | null;
  signal: string | null;
  stdout_bytes: number;
  stderr_bytes: number;
  ports: number[];
  published: string[];
  was_running: boolean;
}

export interface Approval {
  id: string;
  state: string;
  principal?: string;
  door?: string;
  session?: string;
  profile?: string;
  created_ms: number;
  expires_ms: number;
  command?: string;
  description?: string;
  workspace?: string;
  cwd?: string;
  sandbox?: string;
  network?: string;
  reaches?: string;
  engine?: string;
  input?: string;
  terminal: boolean;
  names: string;
  tree_files?: number;
  rule_id?: string;
  rule_file?: string;
  rule_line: number;
  reason?: string;
  env: string[];
  files: string[];
  answers: string[];
  answer?: string;
  answered_by?: string;
  answer_reason?: string;
  answered_ms?: number;
}

export interface Approvals {
  approvals: Approval[];
}

export interface Record {
  seq: number;
  event: string;
  [more: string]: unknown;
}

export interface Records {
  records: Record[];
  before?: number;
}

export interface Message {
  jsonrpc: string;
  id?: string | number | null;
  method?: string;
  params?: { [name: string]: unknown };
  result?: { [name: string]: unknown };
  error?: Fault;
}

export interface Fault {
  code: number;
  message: string;
  data?: { [name: string]: unknown };
}

export interface Document {
  openapi: string;
  info: { [name: string]: unknown };
  paths: { [name: string]: unknown };
  [more: string]: unknown;
}

export interface Session {
  room: string;
  session: string;
  profile: string | null;
  generation: number;
  made_ms: number;
  used_ms: number;
  in_use: boolean;
  bytes?: number;
  files?: number;
  tasks: string[];
}

export interface Sessions {
  sessions: Session[];
}

export interface Nothing {
}

/** Run one read-only command, as a sandbox server does. */
export interface ShellRequest {
  /** the command and its words */
  command: string;
  /** the directory to work in */
  workspace?: string;
  /** time limit in seconds, at most 30 */
  timeout?: number;
}

/** Run a command. With 'Accept: text/event-stream' output comes as events, then the result. */
export interface RunRequest {
  /** the profile that decides (default: the first that is offered) */
  profile?: string;
  /** one string: a line for bash, or words, as the profile says */
  command?: string;
  /** or a list of words, executed directly */
  argv?: string[];
  /** the directory to work in, below a root */
  workspace?: string;
  /** directory inside the workspace */
  cwd?: string;
  /** further variables */
  env?: { [name: string]: string };
  /** text for standard input */
  input?: string;
  /** time limit in milliseconds */
  timeout_ms?: number;
  /** how long it may print nothing */
  idle_timeout_ms?: number;
  /** how long to wait for a person if one must approve (default: do not wait) */
  approval_timeout_ms?: number;
  /** what the command is for */
  description?: string;
  /** which streams come back, and how */
  output_mode?: "separate" | "merged" | "stdout" | "stderr";
  /** start it as a task and answer at once */
  background?: boolean;
  /** run it on a terminal */
  pty?: boolean | { rows: number; cols: number };
  /** override a nudge, never a refusal */
  force?: boolean;
  /** calls of one session share directory and variables */
  session?: string;
}

export type RunEvent =
  | { event: "output"; data: Text }
  | { event: "asked"; data: Approval }
  | { event: "result"; data: Result };

/** Tell what would be decided about a command, and why. */
export interface ExplainRequest {
  /** the profile that decides (default: the first that is offered) */
  profile?: string;
  /** one string: a line for bash, or words, as the profile says */
  command?: string;
  /** or a list of words, executed directly */
  argv?: string[];
  /** the directory to work in, below a root */
  workspace?: string;
  /** directory inside the workspace */
  cwd?: string;
  /** further variables */
  env?: { [name: string]: string };
  /** text for standard input */
  input?: string;
  /** time limit in milliseconds */
  timeout_ms?: number;
  /** how long it may print nothing */
  idle_timeout_ms?: number;
  /** how long to wait for a person if one must approve (default: do not wait) */
  approval_timeout_ms?: number;
  /** what the command is for */
  description?: string;
  /** which streams come back, and how */
  output_mode?: "separate" | "merged" | "stdout" | "stderr";
  /** start it as a task and answer at once */
  background?: boolean;
  /** run it on a terminal */
  pty?: boolean | { rows: number; cols: number };
  /** override a nudge, never a refusal */
  force?: boolean;
  /** calls of one session share directory and variables */
  session?: string;
}

export type OutputEvent =
  | { event: "output"; data: Text }
  | { event: "end"; data: Task };

/** End a task with all that it started. */
export interface StopRequest {
  /** without SIGTERM and grace */
  now?: boolean;
}

/** Type on the terminal of a task. */
export interface InputRequest {
  /** what is typed */
  text?: string;
  /** of the terminal */
  rows?: number;
  /** of the terminal */
  cols?: number;
}

/** Answer. */
export interface ApprovalsRequest {
  answer: "deny" | "once" | "session" | "sub";
  reason?: string;
}
