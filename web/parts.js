// Parts that several pages use.

import { h, icon, visible, plain } from "./dom.js";
import { T } from "./strings.js";

/** Tells once when it was really on the screen: <nacre-seen onseen=...>. What lies below the bar of answers on a phone does not count. */
class Seen extends HTMLElement {
	connectedCallback() {
		const below = matchMedia("(max-width: 760px)").matches ? 200 : 0;
		this.watcher = new IntersectionObserver((entries) => {
			if (!entries.some((e) => e.isIntersecting)) return;
			this.watcher.disconnect();
			this.dispatchEvent(new Event("seen"));
		}, { rootMargin: `0px 0px -${below}px 0px` });
		this.watcher.observe(this);
	}
	disconnectedCallback() {
		this.watcher.disconnect();
	}
}
customElements.define("nacre-seen", Seen);

export const RISK = { high: "r-high", medium: "r-mid", low: "r-low" };

export function riskTag(risk, words) {
	return h("span", { class: `tag ${RISK[risk] || "r-low"}` }, risk !== "low" && icon("warn"), words[risk] || words.low);
}

export function status(name, label) {
	return icon(name, { class: `st ${name}` }, label);
}

const KINDS = { program: "prog", operator: "op", redirect: "op", keyword: "key", string: "str", variable: "var", hidden: "unseen", path: "path", added: "added", removed: "removed" };
const FOLD = 40;

/** The words of the server as numbered lines; they are never read again as a command here. */
export function commandLines(pieces, findings = []) {
	const lines = [[]];
	for (const piece of pieces) {
		const parts = piece.text.split("\n");
		parts.forEach((text, i) => {
			if (i > 0) lines.push([]);
			if (!text) return;
			const level = piece.finding !== undefined && findings[piece.finding]?.level;
			const name = KINDS[piece.kind] || "";
			const nodes = visible(text, { lines: true });
			if (level) lines.at(-1).push(h("mark", { class: level === "high" ? name : `mid ${name}` }, nodes));
			else lines.at(-1).push(name ? h("span", { class: name }, nodes) : nodes);
		});
	}
	while (lines.length > 1 && lines.at(-1).length === 0) lines.pop();
	return lines;
}

export function commandBlock(label, pieces, findings, { open, unfold, seen }) {
	const lines = commandLines(pieces, findings);
	const folded = !open && lines.length > FOLD + 10;
	const shown = folded ? lines.slice(0, FOLD) : lines;
	return h("div", { class: "cmd", tabindex: "0", role: "region", "aria-label": label },
		h("ol", null, shown.map((line) => h("li", null, line.length ? line : " "))),
		folded ? h("button", { class: "unfold", type: "button", onclick: unfold }, T.approvals.unfold(lines.length - FOLD))
					 : h("nacre-seen", { key: `end-${label}-${lines.length}`, onseen: seen }));
}

export function empty(title, text, command, ...more) {
	return h("div", { class: "empty-state" }, h("span", { class: "shell", "aria-hidden": "true" }), h("h2", null, title), h("p", null, text),
		command && copyLine(command), more);
}

/** A line to type in a terminal, with a button that copies it. */
export function copyLine(command) {
	return h("div", { class: "copy-line" }, h("code", null, command),
		h("button", { class: "btn slim", type: "button", "aria-label": `${T.copy}: ${command}`, onclick: (e) => copy(command, e.currentTarget) }, T.copy));
}

export async function copy(text, button) {
	let good = true;
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		good = false;
	}
	announce(good ? T.copied : T.copyFails, good ? "" : "bad");
	if (!good || !button) return;
	button.textContent = T.copied;
	setTimeout(() => (button.textContent = T.copy), 1500);
}

let toastTimer = 0;

/** One sentence that goes by itself. */
export function announce(text, name = "", act) {
	const el = document.getElementById("toast");
	const say = document.createElement("span");
	say.textContent = plain(text);
	el.replaceChildren(say);
	if (act) {
		const button = document.createElement("button");
		button.type = "button";
		button.className = "ghost";
		button.textContent = act.text;
		button.onclick = () => {
			el.className = "toast";
			act.do();
		};
		el.append(button);
	}
	el.className = `toast shown ${name}`;
	clearTimeout(toastTimer);
	toastTimer = setTimeout(() => (el.className = "toast"), act ? 8000 : 4500);
}

export function fail(problem) {
	if (problem.name === "AbortError" || problem.status === 401) return;
	announce(T.problem(problem.message), "bad");
}

/** For those who hear the page. */
export function polite(text) {
	const el = document.getElementById("polite");
	el.textContent = "";
	setTimeout(() => (el.textContent = text), 50);
}

/** A question about something that cannot be undone. Resolves with the value of the button, null for no. */
export function ask({ title, text, yes, more = [], danger = true, body }) {
	return new Promise((resolve) => {
		const dialog = document.createElement("dialog");
		const make = (tag, name, words) => {
			const el = document.createElement(tag);
			el.className = name;
			el.textContent = words;
			return el;
		};
		const heading = make("h2", "", title);
		heading.id = "dialog-title";
		dialog.setAttribute("aria-labelledby", "dialog-title");
		const acts = make("div", "row acts-row", "");
		const button = (words, name, value) => {
			const el = make("button", `btn ${name}`, words);
			el.type = "button";
			el.onclick = () => dialog.close(value);
			acts.append(el);
			return el;
		};
		const first = button(T.cancel, "", "");
		more.forEach((m) => button(m.text, "no", m.value));
		button(yes, danger ? "no solid" : "yes", "yes");
		dialog.append(heading);
		if (text) dialog.append(make("p", "", text));
		if (body) dialog.append(body);
		dialog.append(acts);
		dialog.addEventListener("close", () => {
			dialog.remove();
			before?.focus?.();
			resolve(dialog.returnValue || null);
		});
		dialog.addEventListener("keydown", (e) => e.stopPropagation());
		const before = document.activeElement;
		document.getElementById("dialogs").append(dialog);
		dialog.showModal();
		first.focus();
	});
}

export function search(label, placeholder, value, input) {
	return h("div", { class: "search nokeys", key: "search" }, icon("find", { width: "15", height: "15", class: "line" }),
		h("input", { id: "filter", "aria-label": label, placeholder, ".value": value || "", type: "search", autocomplete: "off", spellcheck: "false", oninput: (e) => input(e.target.value) }),
		h("kbd", { "aria-hidden": "true" }, "/"));
}

export function segments(label, options, value, pick) {
	return h("div", { class: "seg", role: "group", "aria-label": label },
		options.map(([name, text]) => h("button", { type: "button", "aria-pressed": String(name === value), onclick: () => pick(name) }, text)));
}

export function facts(rows) {
	return h("dl", null, rows.filter(Boolean).map(([name, value, mono]) => [h("dt", null, name), h("dd", { class: mono ? "mono" : "" }, mono && typeof value === "string" ? visible(value) : value)]));
}

export function matches(filter, ...texts) {
	const words = (filter || "").toLowerCase().split(/\s+/).filter(Boolean);
	const all = texts.filter((t) => t !== null && t !== undefined).join(" ").toLowerCase();
	return words.every((w) => all.includes(w));
}
