/** Every error of this package. */
export class NacreError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** There is no server, or it went away in the middle of an answer. */
export class Unreachable extends NacreError {}

/** The server did not do what it was asked to. `retryAfter` is in seconds, if the server names a time. */
export class ApiError extends NacreError {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

/**
 * The command did not run. `recommended` lists what to use instead. `verdict` is that of the policy; null: the request was turned
 * away before, as for a directory that is not there.
 */
export class Refused extends NacreError {
  constructor(
    readonly verdict: string | null,
    readonly reason: string,
    readonly recommended: readonly string[],
    readonly rule: string | null,
    readonly approval: string | null,
  ) {
    super(recommended.length ? `${reason} Use instead: ${recommended.join(", ")}.` : reason);
  }
}

/** The command ran, and failed or took too long. */
export class CommandFailed extends NacreError {
  constructor(
    readonly exitCode: number,
    text: string,
    readonly signal: string | null,
    readonly timedOut: boolean,
  ) {
    super(`exit code ${exitCode}: ${text.trim()}`);
  }
}
