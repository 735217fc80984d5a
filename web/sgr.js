// The output of a terminal as lines of styled runs. It reads text with escape sequences in pieces that may end anywhere, and never fails:
// what it does not know it leaves out, and a sequence without an end ends with its line, so nothing can hide what follows.
//
// A line is {runs: [[text, style], ...], length, cut}; a style is null or {fg, bg, bold, dim, italic, underline, inverse, strike}, where a
// colour is 0-255 or "#rrggbb". Nothing here touches the page: it is tested alone.

export const LINE_MAX = 20000; // characters of a line that are kept; the rest is counted
const SEQUENCE_MAX = 256;

const PLAIN = { fg: null, bg: null, bold: false, dim: false, italic: false, underline: false, inverse: false, strike: false };

export class Line {
	constructor() {
		this.runs = [];
		this.length = 0;
		this.cut = 0; // characters that were left out
		this.closed = false;
	}

	text() {
		return this.runs.map((r) => r[0]).join("");
	}

	append(text, style) {
		const last = this.runs[this.runs.length - 1];
		if (last && last[1] === style) last[0] += text;
		else this.runs.push([text, style]);
		this.length += text.length;
	}

	/** Puts TEXT over what is there from column AT on. */
	replace(at, text, style) {
		if (at > this.length) this.append(" ".repeat(at - this.length), null);
		if (at === this.length) {
			this.append(text, style);
			return;
		}
		if (this.runs.length > 400) this.runs = [[this.text(), null]]; // redrawn again and again in many colours: bounded work
		const before = this.slice(0, at);
		const after = this.slice(at + text.length, this.length);
		this.runs = [];
		this.length = 0;
		for (const [t, s] of before) this.append(t, s);
		this.append(text, style);
		for (const [t, s] of after) this.append(t, s);
	}

	slice(from, to) {
		const out = [];
		let at = 0;
		for (const [text, style] of this.runs) {
			const a = Math.max(from, at), b = Math.min(to, at + text.length);
			if (a < b) out.push([text.slice(a - at, b - at), style]);
			at += text.length;
		}
		return out;
	}

	keep(from, to) {
		const runs = this.slice(from, to);
		this.runs = [];
		this.length = 0;
		for (const [t, s] of runs) this.append(t, s);
	}
}

const NORMAL = 0, ESCAPE = 1, CSI = 2, STRING = 3, STRING_ESCAPE = 4, CHARSET = 5;

export class Sgr {
	/** BEGIN(line) is told of each line when it begins; a line may change until it is closed. */
	constructor(begin) {
		this.begin = begin;
		this.state = NORMAL;
		this.sequence = "";
		this.line = null;
		this.column = 0;
		this.style = null;
		this.now = { ...PLAIN };
		this.styles = new Map();
		this.pending = "";
	}

	/** The lines that changed are marked by `line.dirty`. */
	push(text) {
		let i = 0;
		if (this.pending) {
			text = this.pending + text;
			this.pending = "";
		}
		const last = text.charCodeAt(text.length - 1);
		if (last >= 0xd800 && last < 0xdc00) { // half of a character
			this.pending = text[text.length - 1];
			text = text.slice(0, -1);
		}
		while (i < text.length) {
			if (this.state === NORMAL) {
				// eslint-disable-next-line no-control-regex
				const run = /[\x00-\x08\x0a-\x1f\x7f]/g;
				run.lastIndex = i;
				const found = run.exec(text);
				const end = found ? found.index : text.length;
				if (end > i) this.put(text.slice(i, end));
				i = end;
				if (found) this.control(text[i++]);
			} else this.step(text[i++]);
		}
	}

	/** There will be no more. */
	end() {
		if (this.pending) this.put("\ufffd");
		this.pending = "";
		this.state = NORMAL;
		if (this.line) this.line.closed = true;
	}

	open() {
		if (!this.line) {
			this.line = new Line();
			this.column = 0;
			this.begin(this.line);
		}
		this.line.dirty = true;
		return this.line;
	}

	put(text) {
		const line = this.open();
		const room = LINE_MAX - this.column;
		if (text.length > room) {
			const kept = Math.max(0, room);
			line.cut += text.length - kept;
			text = text.slice(0, kept);
			if (!text) return;
		}
		if (this.column === line.length) line.append(text, this.style);
		else line.replace(this.column, text, this.style);
		this.column += text.length;
	}

	control(c) {
		if (c === "\n") {
			this.open().closed = true;
			this.line = null;
			this.column = 0;
		} else if (c === "\r") this.column = 0;
		else if (c === "\b") this.column = Math.max(0, this.column - 1);
		else if (c === "\x1b") {
			this.state = ESCAPE;
			this.sequence = "";
		} else if (c !== "\x07" && c !== "\0") this.put(c); // shown by its name
	}

	step(c) {
		if (c === "\n" || c === "\x18" || c === "\x1a") { // cancelled; an end of line is one in any case
			this.state = NORMAL;
			if (c === "\n") this.control(c);
			return;
		}
		switch (this.state) {
		case ESCAPE:
			if (c === "[") this.state = CSI;
			else if (c === "]" || c === "P" || c === "^" || c === "_" || c === "X") this.state = STRING;
			else if (c >= " " && c <= "/") this.state = CHARSET;
			else if (c !== "\x1b") {
				this.state = NORMAL;
				if (c === "c") this.select([0]);
			}
			break;
		case CHARSET:
			if (c < " " || c > "/") this.state = NORMAL;
			break;
		case CSI:
			if (c === "\x1b") {
				this.state = ESCAPE;
				this.sequence = "";
			} else if (c >= "@" && c <= "~") {
				this.state = NORMAL;
				this.order(c);
			} else if (c >= " " && this.sequence.length < SEQUENCE_MAX) this.sequence += c;
			else if (c >= " ") this.state = NORMAL;
			break;
		case STRING:
			if (c === "\x07") this.state = NORMAL;
			else if (c === "\x1b") this.state = STRING_ESCAPE;
			break;
		default: // STRING_ESCAPE
			this.state = c === "\\" ? NORMAL : c === "\x1b" ? STRING_ESCAPE : STRING;
		}
	}

	order(c) {
		const seq = this.sequence;
		this.sequence = "";
		if (c === "m") {
			if (/^[0-9;:]*$/.test(seq)) this.select(seq.split(";"));
			return;
		}
		const n = /^\d{0,5}$/.test(seq) ? Number(seq || 0) : -1;
		if (n < 0) return;
		if (c === "K" && this.line) {
			const line = this.open();
			if (n === 0) line.keep(0, this.column);
			else if (n === 1) line.replace(0, " ".repeat(Math.min(this.column + 1, LINE_MAX)), null);
			else if (n === 2) line.keep(0, 0);
			line.cut = 0;
		} else if (c === "G") this.column = Math.min(LINE_MAX, Math.max(0, n - 1));
		else if (c === "C") this.column = Math.min(LINE_MAX, this.column + (n || 1));
		else if (c === "D") this.column = Math.max(0, this.column - (n || 1));
	}

	select(words) {
		const s = this.now;
		for (let i = 0; i < words.length; i++) {
			const parts = String(words[i]).split(":");
			const n = Number(parts[0] || 0);
			if (n === 38 || n === 48) {
				const colour = parts.length > 1 ? colonColour(parts) : semicolonColour(words, i);
				if (parts.length === 1) i += colour.used;
				if (colour.value !== undefined) s[n === 38 ? "fg" : "bg"] = colour.value;
			} else if (n === 0) Object.assign(s, PLAIN);
			else if (n === 1) s.bold = true;
			else if (n === 2) s.dim = true;
			else if (n === 3) s.italic = true;
			else if (n === 4) s.underline = parts[1] !== "0";
			else if (n === 7) s.inverse = true;
			else if (n === 8) s.dim = true; // hidden text is shown all the same
			else if (n === 9) s.strike = true;
			else if (n === 21) s.underline = true;
			else if (n === 22) s.bold = s.dim = false;
			else if (n === 23) s.italic = false;
			else if (n === 24) s.underline = false;
			else if (n === 27) s.inverse = false;
			else if (n === 28) s.dim = false;
			else if (n === 29) s.strike = false;
			else if (n >= 30 && n <= 37) s.fg = n - 30;
			else if (n === 39) s.fg = null;
			else if (n >= 40 && n <= 47) s.bg = n - 40;
			else if (n === 49) s.bg = null;
			else if (n >= 90 && n <= 97) s.fg = n - 82;
			else if (n >= 100 && n <= 107) s.bg = n - 92;
		}
		this.style = this.intern(s);
	}

	/** One object for each style, so that runs of the same style are one. */
	intern(s) {
		const name = JSON.stringify(s);
		if (name === JSON.stringify(PLAIN)) return null;
		if (!this.styles.has(name)) {
			if (this.styles.size > 4096) this.styles.clear();
			this.styles.set(name, { ...s });
		}
		return this.styles.get(name);
	}
}

function byte(word) {
	const n = Number(word || 0);
	return Number.isInteger(n) && n >= 0 && n <= 255 ? n : -1;
}

function rgb(r, g, b) {
	const parts = [byte(r), byte(g), byte(b)];
	return parts.includes(-1) ? undefined : "#" + parts.map((n) => n.toString(16).padStart(2, "0")).join("");
}

function semicolonColour(words, i) {
	if (words[i + 1] === "5") {
		const n = byte(words[i + 2]);
		return { used: 2, value: n < 0 || words[i + 2] === undefined ? undefined : n };
	}
	if (words[i + 1] === "2") return { used: 4, value: words.length > i + 4 ? rgb(words[i + 2], words[i + 3], words[i + 4]) : undefined };
	return { used: words.length, value: undefined };
}

function colonColour(parts) {
	if (parts[1] === "5") return { value: byte(parts[2]) < 0 ? undefined : byte(parts[2]) };
	if (parts[1] === "2") { // with or without the place of a colour space
		const at = parts.length > 5 ? 3 : 2;
		return { value: rgb(parts[at], parts[at + 1], parts[at + 2]) };
	}
	return { value: undefined };
}

const LEVELS = [0, 95, 135, 175, 215, 255];

/** [r, g, b] of a colour of the palette from 16 on, or of "#rrggbb". */
export function colourOf(c) {
	if (typeof c === "string") return [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));
	if (c >= 232) return [0, 0, 0].map(() => 8 + (c - 232) * 10);
	const n = c - 16;
	return [LEVELS[Math.floor(n / 36) % 6], LEVELS[Math.floor(n / 6) % 6], LEVELS[n % 6]];
}

function luminance(c) {
	const [r, g, b] = c.map((v) => {
		const x = v / 255;
		return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a, b) {
	const x = luminance(a), y = luminance(b);
	return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** COLOUR, moved towards black or white until it can be read on GROUND. */
export function readable(colour, ground) {
	if (contrast(colour, ground) >= 4.5) return colour;
	const goal = contrast([0, 0, 0], ground) > contrast([255, 255, 255], ground) ? 0 : 255;
	for (let k = 1; k <= 10; k++) {
		const mixed = colour.map((v) => Math.round(v + ((goal - v) * k) / 10));
		if (contrast(mixed, ground) >= 4.5) return mixed;
	}
	return [goal, goal, goal];
}
