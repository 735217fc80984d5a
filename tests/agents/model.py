"""A model that follows a script, on loopback, in the four protocols that agents speak: Anthropic Messages, OpenAI Responses, OpenAI
Chat Completions and Gemini, streaming.

A script is a list of steps. Each is a call of a tool: (kind, arguments), where the kind is one that TOOLS of the client names, such
as "shell". How far a conversation has come is seen in it: as many steps are done as it has results. So requests can be repeated, and
requests without tools (titles, summaries) get a word. What the client sends back as a result is the model's view; it is kept.
"""
import http.server
import itertools
import json
import threading

SAY = "All steps are done."


def text_of(content):
    """The text of a result, however a protocol nests it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(text_of(part) for part in content)
    if isinstance(content, dict):
        if "text" in content:
            return text_of(content["text"])
        return text_of(content["content"]) if "content" in content else json.dumps(content)
    return "" if content is None else str(content)


class Anthropic:
    path = "/v1/messages"

    @staticmethod
    def tools(body):
        return {tool["name"]: tool for tool in body.get("tools", []) if "name" in tool}

    @staticmethod
    def results(body):
        return [text_of(part.get("content")) for message in body["messages"] if isinstance(message["content"], list)
                for part in message["content"] if part.get("type") == "tool_result"]

    @staticmethod
    def answer(number, body, call):
        block = ({"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}} if call else {"type": "text", "text": ""})
        delta = ({"type": "input_json_delta", "partial_json": json.dumps(call[1])} if call else {"type": "text_delta", "text": SAY})
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model"), "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        stop = "tool_use" if call else "end_turn"
        if not body.get("stream"):
            whole = {**block, "input": call[1]} if call else {**block, "text": SAY}
            return [(None, {**message, "content": [whole], "stop_reason": stop})]
        return [("message_start", {"type": "message_start", "message": message}),
                ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}),
                ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
                ("content_block_stop", {"type": "content_block_stop", "index": 0}),
                ("message_delta", {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}),
                ("message_stop", {"type": "message_stop"})]


class Responses:
    path = "/responses"

    @staticmethod
    def tools(body):
        found = {}
        for tool in body.get("tools", []):
            found[tool.get("name", tool.get("type"))] = tool
            for inner in tool.get("tools", []) if tool.get("type") == "namespace" else []:
                found[f"{tool['name']}/{inner['name']}"] = inner
        return found

    @staticmethod
    def results(body):
        given = body["input"] if isinstance(body["input"], list) else []
        return [text_of(item.get("output")) for item in given if item.get("type") in ("function_call_output", "custom_tool_call_output")]

    @staticmethod
    def answer(number, body, call):
        item = {"type": "message", "role": "assistant", "id": f"msg_{number}", "status": "completed",
                "content": [{"type": "output_text", "text": SAY, "annotations": []}]}
        if call:
            name = call[0].split("/")
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name[-1],
                    "arguments": json.dumps(call[1]), "status": "completed"}
            if len(name) > 1:
                item["namespace"] = name[0]
        whole = {"id": f"resp_{number}", "object": "response", "status": "completed", "model": body.get("model"), "output": [item],
                 "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
                           "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}}
        if not body.get("stream"):
            return [(None, whole)]
        return [("response.created", {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}),
                ("response.output_item.added", {"type": "response.output_item.added", "output_index": 0, "item": item}),
                ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}),
                ("response.completed", {"type": "response.completed", "response": whole})]


class Chat:
    path = "/chat/completions"

    @staticmethod
    def tools(body):
        return {tool["function"]["name"]: tool for tool in body.get("tools") or [] if "function" in tool}

    @staticmethod
    def results(body):
        return [text_of(message.get("content")) for message in body["messages"] if message["role"] == "tool"]

    @staticmethod
    def answer(number, body, call):
        calls = [{"index": 0, "id": f"call_{number}", "type": "function",
                  "function": {"name": call[0], "arguments": json.dumps(call[1])}}] if call else None
        message = {"role": "assistant", "content": None if call else SAY, **({"tool_calls": calls} if call else {})}
        head = {"id": f"chat_{number}", "created": 1, "model": body.get("model")}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        stop = "tool_calls" if call else "stop"
        if not body.get("stream"):
            return [(None, {**head, "object": "chat.completion", "usage": usage,
                            "choices": [{"index": 0, "message": message, "finish_reason": stop}]})]
        chunk = {**head, "object": "chat.completion.chunk"}
        return [(None, {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
                (None, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage}),
                (None, "[DONE]")]


class Gemini:
    path = "GenerateContent"

    @staticmethod
    def tools(body):
        return {tool["name"]: tool for group in body.get("tools") or [] for tool in group.get("functionDeclarations", [])}

    @staticmethod
    def results(body):
        found = []
        for message in body["contents"]:
            for part in message.get("parts", []):
                if "functionResponse" in part:
                    response = part["functionResponse"].get("response", {})
                    found.append(text_of(response.get("output", response.get("error", response))))
        return found

    @staticmethod
    def answer(number, body, call):
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": SAY}
        return [(None, {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}})]


PROTOCOLS = [Responses, Chat, Gemini, Anthropic]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.seen.append(("GET", self.path))
        models = [{"id": "scripted", "object": "model", "slug": "scripted"}]
        self.reply(200, json.dumps({"object": "list", "data": models}).encode())

    do_HEAD = do_GET

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append(("POST", self.path))
        path = self.path.split("?")[0]
        protocol = next((p for p in PROTOCOLS if path.endswith(p.path) or path.endswith("g" + "enerateContent") and p is Gemini), None)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        if path.endswith("/count_tokens") or path.endswith(":countTokens"):
            self.reply(200, b'{"input_tokens": 1, "totalTokens": 1}')
        elif protocol is None:
            self.reply(404, b'{"error": {"message": "no such path"}}')
        else:
            self.converse(protocol, body, path)

    def converse(self, protocol, body, path):
        number, call = self.server.next_call(protocol, body)
        events = protocol.answer(number, body, call)
        if not body.get("stream") and "stream" not in path:
            self.reply(200, json.dumps(events[0][1]).encode())
            return
        out = "".join((f"event: {name}\n" if name else "") + f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n"
                      for name, value in events)
        self.reply(200, out.encode(), "text/event-stream")


class Model(http.server.ThreadingHTTPServer):
    """TOOLS: for each kind of step the names under which a client may offer it. `views` are the results, as the model sees them."""
    daemon_threads = True

    def __init__(self, script, tools):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.names = list(script), tools
        self.views, self.seen, self.offered, self.missing = [], [], {}, []
        self.numbers, self.lock = itertools.count(1), threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def next_call(self, protocol, body):
        offered, results = protocol.tools(body), protocol.results(body)
        with self.lock:
            number = next(self.numbers)
            if not any(name in offered for names in self.names.values() for name in names):
                return number, None
            self.offered = offered
            if len(results) > len(self.views):
                self.views = results
            if len(results) >= len(self.script):
                return number, None
            kind, arguments = self.script[len(results)]
            if callable(arguments):
                arguments = arguments(results)
            name = next((name for name in self.names[kind] if name in offered), None)
            if name is None:
                self.missing.append(kind)
                return number, None
            return number, (name, arguments)

    def stop(self):
        self.shutdown()
        self.server_close()
