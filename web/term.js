// <nacre-terminal>: the screen of a task. The server reads the terminal's bytes (libvterm) and sends rows; keys go back by POST, one
// at a time, and what is typed meanwhile goes with the next one, so order holds.

import { get, post } from "./api.js";
import { plain } from "./dom.js";
import { keyBytes, pasteBytes } from "./keymap.js";
import * as live from "./live.js";
import { styleClass } from "./paint.js";
import { announce, ask, fail } from "./parts.js";
import { T } from "./strings.js";

const SEND_MAX = 2048; // characters of one request
const LEAVE_MS = 600;
const WIDE = /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]/u;
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

function el(tag, name, text) {
	const node = document.createElement(tag);
	node.className = name;
	if (text) node.textContent = text;
	return node;
}

class Terminal extends HTMLElement {
	connectedCallback() {
		if (this.screen) return;
		this.wrap = el("div", "screen-wrap");
		this.screen = el("pre", "screen");
		this.screen.setAttribute("role", "log");
		this.screen.setAttribute("aria-live", "off");
		this.screen.setAttribute("aria-label", T.tasks.views.terminal);
		this.screen.tabIndex = -1;
		this.cursor = el("span", "cursor");
		this.cursor.setAttribute("aria-hidden", "true");
		this.input = el("textarea", "keys-in");
		for (const [name, value] of Object.entries({ autocapitalize: "off", autocomplete: "off", autocorrect: "off", spellcheck: "false", rows: "1", "aria-label": T.terminal.label })) this.input.setAttribute(name, value);
		this.wrap.append(this.screen, this.cursor, this.input);
		this.hint = el("p", "term-hint small");
		this.rowOfKeys = el("div", "key-row");
		this.rowOfKeys.setAttribute("role", "group");
		this.rowOfKeys.setAttribute("aria-label", T.terminal.keyRow);
		for (const [key, label] of [["Escape", "esc"], ["Tab", "tab"], ["c", "ctrlC"], ["ArrowUp", "up"], ["ArrowDown", "down"], ["ArrowLeft", "left"], ["ArrowRight", "right"]]) {
			const button = el("button", "btn slim", T.terminal.keys[label]);
			button.type = "button";
			button.addEventListener("click", () => {
				this.send(keyBytes({ key, ctrlKey: label === "ctrlC" }, this.state?.application_keys));
				this.input.focus();
			});
			this.rowOfKeys.append(button);
		}
		this.append(this.wrap, this.rowOfKeys, this.hint);
		this.rows = [];
		this.queue = "";
		this.wrap.addEventListener("mouseup", () => String(getSelection()) === "" && this.input.focus({ preventScroll: true }));
		this.input.addEventListener("keydown", (e) => this.key(e));
		this.input.addEventListener("input", (e) => !e.isComposing && this.typed());
		this.input.addEventListener("compositionend", () => this.typed());
		this.input.addEventListener("paste", (e) => this.paste(e));
		this.input.addEventListener("focus", () => this.focused(true));
		this.input.addEventListener("blur", () => this.focused(false));
		this.observer = new ResizeObserver(() => this.fit());
		this.observer.observe(this.wrap);
		this.say();
	}

	disconnectedCallback() {
		this.observer?.disconnect();
		this.close();
		this.screen = null;
		this.replaceChildren();
	}

	set task(task) {
		this.connectedCallback();
		const other = this.id_ !== task.task_id;
		this.isRunning = task.running;
		if (other) {
			this.close();
			this.id_ = task.task_id;
			this.over = "";
			this.open();
		}
		this.say();
	}

	async open() {
		const id = this.id_;
		this.off = [
			live.on("screen", (s) => s.task_id === id && this.frame(s)),
			live.on("screen-end", (s) => {
				if (s.task_id !== id) return;
				this.over = s.reason;
				this.say();
			}),
		];
		live.wantScreen(id);
		// Another tab may look at it already: then only changed rows come, so the whole is fetched.
		try {
			const s = await get(`/v1/tasks/${id}/screen`);
			if (this.id_ === id && !this.state) this.frame(s);
		} catch (problem) {
			if (problem.status === 409 || problem.status === 404) {
				this.over = problem.status === 409 ? "no-terminal" : "gone";
				this.say();
			} else fail(problem);
		}
	}

	close() {
		(this.off || []).forEach((off) => off());
		this.off = [];
		if (this.id_) live.unwant(this.id_);
		this.id_ = null;
		this.state = null;
		this.taken = false;
		this.rows?.forEach((r) => r.remove());
		this.rows = [];
	}

	frame(s) {
		if (!s.whole && !this.state) return; // the whole one is on its way
		const size = !this.state || this.state.rows !== s.rows || this.state.cols !== s.cols;
		this.state = s;
		while (this.rows.length > s.rows) this.rows.pop().remove();
		while (this.rows.length < s.rows) {
			const row = el("div", "");
			this.rows.push(row);
			this.screen.append(row);
		}
		if (size) {
			this.screen.style.setProperty("--cols", s.cols);
			this.screen.style.setProperty("--rows", s.rows);
		}
		const given = new Set();
		for (const line of s.lines) {
			given.add(line.row);
			if (this.rows[line.row]) this.paint(this.rows[line.row], line.runs);
		}
		if (s.whole) this.rows.forEach((row, i) => given.has(i) || row.replaceChildren());
		this.cursor.hidden = !s.cursor.visible || !this.isRunning;
		this.cursor.style.setProperty("--row", s.cursor.row);
		this.cursor.style.setProperty("--col", s.cursor.col);
		if (this.titled !== s.title) {
			this.titled = s.title;
			this.say();
		}
	}

	paint(row, runs) {
		const nodes = [];
		for (const run of runs) {
			const a = run.attributes || "";
			const name = styleClass(run.fg === undefined && run.bg === undefined && !a ? null
				: { fg: run.fg ?? null, bg: run.bg ?? null, bold: a.includes("b"), dim: a.includes("d") || a.includes("h"), italic: a.includes("i"), underline: a.includes("u"), inverse: a.includes("r"), strike: a.includes("s") });
			const text = run.text.replace(UNSEEN, "");
			const span = el("span", name);
			if (!WIDE.test(text)) span.textContent = text;
			else for (const c of text) span.append(WIDE.test(c) ? el("span", "w2", c) : c);
			nodes.push(span);
		}
		row.replaceChildren(...nodes);
	}

	say() {
		if (!this.hint) return;
		const over = this.over && T.terminal.over[this.over];
		const title = this.titled ? ` · ${T.terminal.title}: ${plain(this.titled).slice(0, 100)}` : "";
		const text = (over || (!this.isRunning ? T.terminal.over.ended : this.taken ? `${T.terminal.hint} ${T.terminal.leave}.` : !this.state ? T.terminal.waiting : T.terminal.leave)) + title;
		if (this.hint.textContent !== text) this.hint.textContent = text;
		this.input.disabled = Boolean(this.over) || !this.isRunning;
		this.rowOfKeys.hidden = this.input.disabled;
		if (this.input.disabled) this.cursor.hidden = true;
	}

	focused(yes) {
		this.wrap.classList.toggle("focused", yes);
		if (yes && !this.taken) {
			this.taken = true; // from now on the window's size is the terminal's
			this.fit();
		}
		this.say();
	}

	key(e) {
		e.stopPropagation();
		if (e.isComposing || e.key === "Process" || e.key === "Unidentified" || e.keyCode === 229) return;
		if (e.key === "Escape") {
			if (performance.now() - (this.escaped || -1e9) < LEAVE_MS) {
				e.preventDefault();
				this.escaped = 0;
				this.input.blur();
				(this.closest(".sheet")?.querySelector("button") || document.getElementById("main")).focus();
				return;
			}
			this.escaped = performance.now();
		} else this.escaped = 0;
		if (e.ctrlKey && e.key.toLowerCase() === "c" && String(getSelection()) !== "") return; // copies
		if (e.ctrlKey && (e.key.toLowerCase() === "v" || (e.shiftKey && /^[a-z]$/i.test(e.key)))) return; // pastes; keys of the browser
		const bytes = keyBytes(e, this.state?.application_keys);
		if (bytes === null) return;
		e.preventDefault();
		this.send(bytes);
	}

	typed() {
		const text = this.input.value;
		this.input.value = "";
		if (text) this.send(text.replace(/\n/g, "\r"));
	}

	async paste(e) {
		e.preventDefault();
		const text = e.clipboardData.getData("text/plain");
		if (!text) return;
		const lines = text.trimEnd().split(/\r\n?|\n/).length;
		const bracketed = this.state?.bracketed_paste;
		if (lines > 1 && !bracketed) {
			const body = document.createElement("pre");
			body.textContent = plain(text.slice(0, 2000), true);
			if (!(await ask({ title: T.terminal.paste(lines), text: T.terminal.pasteText, yes: T.terminal.pasteYes, danger: false, body }))) return;
		}
		this.send(pasteBytes(text, bracketed));
		this.input.focus();
	}

	send(bytes) {
		if (!bytes || this.over || !this.isRunning) return;
		this.queue += bytes;
		this.pump();
	}

	async pump() {
		if (this.sending) return;
		this.sending = true;
		const id = this.id_;
		while (this.id_ === id && (this.queue || this.size)) {
			let n = Math.min(SEND_MAX, this.queue.length);
			const last = this.queue.charCodeAt(n - 1);
			if (n > 1 && n < this.queue.length && last >= 0xd800 && last < 0xdc00) n--; // not inside of a character
			const text = this.queue.slice(0, n);
			const size = this.size;
			this.queue = this.queue.slice(n);
			this.size = null;
			try {
				await post(`/v1/tasks/${id}/input`, { ...(text ? { text } : {}), ...size }, { patient: true });
			} catch (problem) {
				if (problem.status === 409) announce(T.terminal.failed);
				else if (problem.status === 0) announce(T.terminal.failed, "bad");
				else fail(problem);
				this.queue = "";
				break;
			}
		}
		this.sending = false;
	}

	/** As many rows and columns as fit, once somebody has taken the keyboard. */
	fit() {
		if (!this.taken || !this.state || !this.isRunning || this.over) return;
		const style = getComputedStyle(this.screen);
		const probe = el("span", "probe", "M".repeat(50));
		this.screen.append(probe);
		const width = probe.getBoundingClientRect().width / 50;
		probe.remove();
		const high = parseFloat(style.lineHeight);
		const cols = Math.floor((this.wrap.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)) / width);
		const rows = Math.floor((this.wrap.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom)) / high);
		if (!(cols >= 20 && rows >= 4) || cols > 500 || rows > 300) return;
		if (cols === (this.fitted?.cols ?? this.state.cols) && rows === (this.fitted?.rows ?? this.state.rows)) return;
		clearTimeout(this.fitting);
		this.fitting = setTimeout(() => {
			this.fitted = this.size = { rows, cols };
			this.pump();
		}, 150);
	}
}

customElements.define("nacre-terminal", Terminal);
