/** nacre: run commands of AI agents through a policy and a sandbox, by way of `nacre serve`. */
export * as api from "./api.js";
export type {
  Approval, Consent, Explanation, Health, Order, Output, OutputEvent, Result, Rule, RunEvent, RunRequest, Sandbox, Session, Shell, Task,
} from "./api.js";
export { BashTool, bashOutput, bashRequest, type BashInput, type BashOutput } from "./bash.js";
export { Client, check, isRefused, textOf, type Answer, type AnyRequest, type Approver, type ClientOptions } from "./client.js";
export { ApiError, CommandFailed, NacreError, Refused, Unreachable } from "./errors.js";
export { Toolbox, anthropicResult, anthropicTool, openaiResult, openaiTool, type Tool, type ToolAnswer } from "./toolbox.js";
