// The text/event-stream of a server, from pieces of bytes that may end anywhere. Nothing here touches the page: it is tested alone.

const LINE_MAX = 16 << 20; // characters of one event; more is not from our server

/** Feed it bytes; it calls HANDLE({type, id, data}) for each event, in order. */
export class EventParser {
	constructor(handle) {
		this.handle = handle;
		this.decoder = new TextDecoder("utf-8");
		this.rest = "";
		this.lastId = "";
		this.size = 0;
		this.clear();
	}

	clear() {
		this.type = "";
		this.data = [];
		this.size = 0;
	}

	push(chunk) {
		// A "\r" at the end may be half of "\r\n": it waits for what follows.
		const text = this.rest + this.decoder.decode(chunk, { stream: true });
		let at = 0;
		for (;;) {
			const end = lineEnd(text, at);
			if (end < 0 || (text[end] === "\r" && end === text.length - 1)) break;
			this.line(text.slice(at, end));
			at = end + (text[end] === "\r" && text[end + 1] === "\n" ? 2 : 1);
		}
		this.rest = text.slice(at);
		if (this.rest.length > LINE_MAX) throw new RangeError("an event is too long");
	}

	line(line) {
		if (line === "") {
			if (this.data.length > 0) this.handle({ type: this.type || "message", id: this.lastId, data: this.data.join("\n") });
			this.clear();
			return;
		}
		const colon = line.indexOf(":");
		if (colon === 0) return; // a comment keeps the connection alive
		const field = colon < 0 ? line : line.slice(0, colon);
		let value = colon < 0 ? "" : line.slice(colon + 1);
		if (value.startsWith(" ")) value = value.slice(1);
		if (field === "event") this.type = value;
		else if (field === "data") {
			this.size += value.length;
			if (this.size > LINE_MAX) throw new RangeError("an event is too long");
			this.data.push(value);
		} else if (field === "id" && !value.includes("\0")) this.lastId = value;
	}
}

function lineEnd(text, from) {
	const n = text.indexOf("\n", from);
	const r = text.indexOf("\r", from);
	return n < 0 ? r : r < 0 ? n : Math.min(n, r);
}
