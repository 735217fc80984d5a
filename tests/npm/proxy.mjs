// Lets a suite that knows no tokens use a server that wants one: proxy.mjs TARGET_PORT < token, prints its own port.
//
// Everything passes as it is, streams and hang-ups included, but for the token that is added and a Host that names the proxy:
// the server sees its own then. Any other Host or Origin is the suite's business, and reaches the server unchanged.
import http from "node:http";
import { readFileSync } from "node:fs";

const port = Number(process.argv[2]);
const token = readFileSync(0, "utf8").trim();

const server = http.createServer((request, answer) => {
  const own = server.address().port;
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  headers.host = headers.host?.replace(new RegExp(`^(localhost|127\\.0\\.0\\.1):${own}$`), `$1:${port}`);
  headers.origin = headers.origin?.replace(new RegExp(`^(http://(localhost|127\\.0\\.0\\.1)):${own}$`), `$1:${port}`);
  if (headers.origin === undefined) delete headers.origin;
  const inner = http.request({ host: "127.0.0.1", port, method: request.method, path: request.url, headers, agent: false });
  inner.on("response", (response) => {
    answer.writeHead(response.statusCode, response.headers);
    answer.flushHeaders();
    response.pipe(answer);
    response.on("error", () => answer.destroy());
  });
  inner.on("error", () => answer.destroy());
  answer.on("close", () => inner.destroy()); // who hangs up on us hangs up on the server
  request.pipe(inner);
});
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
