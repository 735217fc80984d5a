// What this client uses of Node.js, so that it builds without a package of types.
declare module "node:http" {
  interface IncomingMessage extends AsyncIterable<Uint8Array> {
    statusCode?: number;
    headers: Record<string, string | string[] | undefined>;
    destroy(): void;
  }
  interface ClientRequest {
    on(event: "response", listener: (message: IncomingMessage) => void): this;
    on(event: "error", listener: (error: Error) => void): this;
    end(body?: string): void;
    destroy(error?: Error): void;
  }
  interface RequestOptions {
    socketPath?: string;
    host?: string;
    port?: number;
    method: string;
    path: string;
    headers: Record<string, string>;
    agent?: false;
    signal?: AbortSignal;
  }
  function request(options: RequestOptions): ClientRequest;
}
declare module "node:os" {
  function homedir(): string;
}
declare module "node:fs" {
  function writeFileSync(path: string, text: string): void;
  function readFileSync(path: string, encoding: "utf8"): string;
  function mkdirSync(path: string, options: { recursive: true }): void;
}
declare module "node:test" {
  function test(name: string, run: () => Promise<void> | void): void;
  export default test;
}
declare module "node:assert/strict" {
  const assert: {
    (value: unknown, message?: string): asserts value;
    equal(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    match(text: string, pattern: RegExp, message?: string): void;
    throws(run: () => unknown, check: (error: unknown) => boolean): void;
    rejects(run: Promise<unknown>, check: (error: unknown) => boolean): Promise<void>;
  };
  export default assert;
}
declare const process: {
  env: Record<string, string | undefined>;
  argv: string[];
  geteuid?(): number;
};
