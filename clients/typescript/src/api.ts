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
  source: string;
  tree: Node[];
  error: Mistake | null;
  box: Box;
}

export interface Node {
  kind: string;
  start: number;
  end: number;
  text: string;
  what: string;
  command?: number;
  children: Node[];
}

export interface Mistake {
  message: string;
  start: number;
  end: number;
}

export interface Box {
  tier: string;
  network: string;
  engine: string;
  limits: string[];
  writable: string[];
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
  start: number;
  end: number;
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
  door: string | null;
  profile: string | null;
  session: string | null;
  workspace: string | null;
  cwd: string | null;
  terminal: Size | null;
  tier: string | null;
  layers: string[];
  missing: string[];
  cpu_ms: number | null;
  max_rss_kb: number | null;
  timeout_ms: number | null;
  approval: string | null;
  processes: number | null;
  ports: number[];
  published: string[];
}

export interface Size {
  rows: number;
  cols: number;
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
  door: string | null;
  profile: string | null;
  session: string | null;
  workspace: string | null;
  cwd: string | null;
  terminal: Size | null;
  tier: string | null;
  layers: string[];
  missing: string[];
  cpu_ms: number | null;
  max_rss_kb: number | null;
  timeout_ms: number | null;
  approval: string | null;
  processes: number | null;
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
  door: string | null;
  profile: string | null;
  session: string | null;
  workspace: string | null;
  cwd: string | null;
  terminal: Size | null;
  tier: string | null;
  layers: string[];
  missing: string[];
  cpu_ms: number | null;
  max_rss_kb: number | null;
  timeout_ms: number | null;
  approval: string | null;
  processes: number | null;
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
  kind: string;
  title: string;
  pieces: Piece[];
  risk: string;
  findings: LookFinding[];
  programs: string[];
  limits: string[];
  covers: Cover[];
  terminal: boolean;
  names: string;
  held?: string;
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

export interface Piece {
  text: string;
  kind: string;
  finding?: number;
}

export interface LookFinding {
  level: string;
  what: string;
  text: string;
}

export interface Cover {
  answer: string;
  offered: boolean;
  text: string;
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
  principal: string;
  profile: string | null;
  workspace: string | null;
  cwd: string | null;
  variables: string[];
  ports: number[];
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

export interface Snapshot {
  stream: string;
  now_ms: number;
  tasks?: Task[];
  more_tasks?: boolean;
  approvals?: Approval[];
}

export interface TaskGone {
  task_id: string;
}

export interface OutputPiece {
  task_id: string;
  stream: string;
  text?: string;
  missing_bytes?: number;
  next?: number;
}

export interface OutputEnd {
  task_id: string;
  next: number;
  gone: boolean;
}

export interface Screen {
  task_id: string;
  rows: number;
  cols: number;
  whole: boolean;
  cursor: Cursor;
  title: string | null;
  alternate: boolean;
  application_keys: boolean;
  bracketed_paste: boolean;
  lines: ScreenLine[];
}

export interface Cursor {
  row: number;
  col: number;
  visible: boolean;
}

export interface ScreenLine {
  row: number;
  runs: ScreenRun[];
}

export interface ScreenRun {
  text: string;
  fg?: number | string;
  bg?: number | string;
  attributes?: string;
}

export interface ScreenEnd {
  task_id: string;
  reason: string;
}

export interface Bye {
  reason: string;
}

export interface Stream {
  stream: string;
  topics: string[];
  outputs: string[];
  screens: string[];
}

export interface MetricsPoint {
  at_ms: number;
  running: number;
  queued: number;
  connections: number;
  streams: number;
  commands: number;
  allowed: number;
  asked: number;
  denied: number;
  nudged: number;
  timed_out: number;
  stopped: number;
  answers_4xx: number;
  answers_5xx: number;
  stdout_bytes: number;
  stderr_bytes: number;
  p50_ms: number;
  p95_ms: number;
  rss_kb: number;
  cpu_ms: number;
}

export interface History {
  step_ms: number;
  points: MetricsPoint[];
}

export interface Grant {
  id: string;
  session: string;
  principal: string;
  profile: string;
  command: string;
  sub: boolean;
  holds: boolean;
}

export interface Grants {
  grants: Grant[];
}

export interface ProfileName {
  name: string;
  file: string | null;
  description: string | null;
  tool: string | null;
  error: string | null;
}

export interface Profiles {
  profiles: ProfileName[];
}

export interface Profile {
  name: string;
  description: string | null;
  tool: string | null;
  file: string | null;
  text: string | null;
  layers: string[];
  rules: ProfileRule[];
  examples: Example[];
}

export interface ProfileRule {
  list: string;
  id: string;
  text: string | null;
  file: string | null;
  line: number;
  reason: string | null;
}

export interface Example {
  command: string;
  verdict: string;
  rule: string | null;
}

export interface Doctor {
  kernel: { [name: string]: unknown };
  root: boolean;
  container: boolean;
  landlock_abi: number;
  seccomp: boolean;
  trials: { [name: string]: unknown };
  cgroup: { [name: string]: unknown };
  rooms: { [name: string]: unknown };
  network_names: string | null;
  tier: string;
  engines: ({ [name: string]: unknown })[];
  profiles: DoctorProfile[];
  clients: ({ [name: string]: unknown })[];
  remedies: { [name: string]: unknown };
}

export interface DoctorProfile {
  profile: string;
  runs: boolean;
  error?: string;
  tier?: string;
  layers?: string[];
  missing?: string[];
  required_missing?: string[];
}

export interface Progress {
  files: number;
  of: number;
}

export interface Verdict {
  good: boolean;
  files: number;
  records: number;
  first_seq: number;
  last_seq: number;
  last_hash: string;
  checkpoints: number;
  last_signed: number;
  breaks: number;
  lost_records: number;
  note: string | null;
  first_bad: FirstBad | null;
}

export interface FirstBad {
  file: string | null;
  line: number;
  seq: number;
  problem: string | null;
}

export interface Me {
  principal: string;
  owner: boolean;
  approve: boolean;
  audit: boolean;
  person: boolean;
  login: string | null;
  expires_ms: number | null;
  profiles: string[];
  roots: string[];
  version: string;
  host: string;
  now_ms: number;
  started_ms: number;
}

export interface Link {
  url: string;
  code: string;
  principal: string;
  approve: boolean;
  audit: boolean;
  expires_ms: number;
}

export interface Login {
  key: string;
  login: string;
  principal: string;
  expires_ms: number;
}

export interface Ended {
  ended: boolean;
}

export interface OneLogin {
  id: string;
  principal: string;
  created_ms: number;
  expires_ms: number;
  current: boolean;
}

export interface Logins {
  logins: OneLogin[];
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

export type EventsEvent =
  | { event: "snapshot"; data: Snapshot }
  | { event: "task"; data: Task }
  | { event: "task-gone"; data: TaskGone }
  | { event: "approval"; data: Approval }
  | { event: "audit"; data: Record }
  | { event: "metrics"; data: MetricsPoint }
  | { event: "output"; data: OutputPiece }
  | { event: "output-end"; data: OutputEnd }
  | { event: "screen"; data: Screen }
  | { event: "screen-end"; data: ScreenEnd }
  | { event: "bye"; data: Bye };

/** Change what a stream of events follows. */
export interface EventsRequest {
  /** tasks, approvals, audit, metrics */
  topics?: string[];
  /** objects with task_id and since: whose output is followed */
  outputs?: ({ [name: string]: unknown })[];
  /** tasks whose terminal is followed */
  screens?: string[];
}

/** A link that logs a browser in, once. */
export interface LinkRequest {
  /** the token whose rights the login has (default: the caller's) */
  as?: string;
}

/** Log a browser in, by a link or a token. */
export interface LoginRequest {
  /** of a link */
  code?: string;
  /** or a token */
  token?: string;
}

/** End the login of this page. */
export interface LogoutRequest {
}

export type VerifyEvent =
  | { event: "progress"; data: Progress }
  | { event: "result"; data: Verdict };
