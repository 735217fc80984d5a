// A page is a function from what is known to a tree of plain objects; patch() changes the document where the tree differs, so focus,
// selection and scroll stay where they are. Text only ever becomes text nodes: there is no HTML from a string anywhere.

const SVG = "http://www.w3.org/2000/svg";
const VECTOR = new Set(["svg", "path", "circle", "rect", "g", "line", "polyline", "polygon", "text"]);

/** A node: h("a", {class: "x", href: "#"}, "text", h("b"), [list], null). `key` names it among its siblings. */
export function h(tag, props, ...kids) {
	return { tag, props: props || {}, kids: flat(kids, []), key: props && props.key, el: null };
}

function flat(list, out) {
	for (const kid of list) {
		if (Array.isArray(kid)) flat(kid, out);
		else if (kid !== null && kid !== undefined && kid !== false && kid !== true) out.push(typeof kid === "object" ? kid : String(kid));
	}
	return out;
}

function setProp(el, name, value, old) {
	if (name === "key") return;
	if (name.startsWith("on")) {
		if (name in el) el[name] = value || null;
		else {
			if (old) el.removeEventListener(name.slice(2), old);
			if (value) el.addEventListener(name.slice(2), value);
		}
	} else if (name.startsWith(".")) {
		const property = name.slice(1);
		// What a person types is not overwritten by the same value again.
		if (el[property] !== value) el[property] = value;
	} else if (name.startsWith("--")) {
		if (value === undefined || value === null) el.style.removeProperty(name);
		else el.style.setProperty(name, value);
	} else if (value === null || value === undefined || value === false) el.removeAttribute(name);
	else el.setAttribute(name, value === true ? "" : String(value));
}

function create(v) {
	if (typeof v === "string") return document.createTextNode(v);
	const el = VECTOR.has(v.tag) ? document.createElementNS(SVG, v.tag) : document.createElement(v.tag);
	v.el = el;
	for (const kid of v.kids) el.appendChild(create(kid));
	for (const name in v.props) if (v.props[name] !== undefined && v.props[name] !== null) setProp(el, name, v.props[name], null);
	return el;
}

function same(a, b) {
	if (typeof a === "string" || typeof b === "string") return typeof a === typeof b;
	return a.tag === b.tag && a.key === b.key;
}

function update(el, from, to) {
	if (typeof to === "string") {
		if (from !== to) el.data = to;
		return;
	}
	to.el = el;
	for (const name in from.props) if (!(name in to.props)) setProp(el, name, null, from.props[name]);
	for (const name in to.props)
		if (name.startsWith(".") || from.props[name] !== to.props[name]) setProp(el, name, to.props[name], from.props[name]);
	children(el, from.kids, to.kids);
}

function children(parent, from, to) {
	const keyed = new Map();
	const nodes = Array.from(parent.childNodes);
	const used = new Set();
	from.forEach((v, i) => v.key !== undefined && v.key !== null && keyed.set(v.key, i));
	let next = 0; // the first old node without a key that may still be used
	const chosen = to.map((v) => {
		if (typeof v === "object" && v.key !== undefined && v.key !== null) {
			const i = keyed.get(v.key);
			if (i === undefined || !same(from[i], v) || used.has(i)) return -1;
			used.add(i);
			return i;
		}
		while (next < from.length && (used.has(next) || (typeof from[next] === "object" && from[next].key !== undefined && from[next].key !== null))) next++;
		if (next < from.length && same(from[next], v)) {
			used.add(next);
			return next++;
		}
		return -1;
	});
	for (let i = 0; i < from.length; i++) if (!used.has(i) && nodes[i]) nodes[i].remove();
	let at = parent.firstChild;
	to.forEach((v, i) => {
		let el;
		if (chosen[i] >= 0) {
			el = nodes[chosen[i]];
			update(el, from[chosen[i]], v);
		} else el = create(v);
		if (el === at) at = at.nextSibling;
		else parent.insertBefore(el, at);
	});
}

const trees = new WeakMap();

/** Makes the children of EL what KIDS say. EL's children belong to patch() alone. */
export function patch(el, ...kids) {
	const to = flat(kids, []);
	children(el, trees.get(el) || [], to);
	trees.set(el, to);
}

const ICONS = {
	approvals: ["M12 3l7 3v6c0 4.5-3 7.5-7 9-4-1.5-7-4.5-7-9V6z", "M9 12l2.2 2.2L15.5 10"],
	tasks: ["M4 6l4 4-4 4", "M11 15h9"],
	sessions: ["M5 5h14a2 2 0 012 2v8a2 2 0 01-2 2H5a2 2 0 01-2-2V7a2 2 0 012-2z", "M8 21h8"],
	audit: ["M9 7H7a4 4 0 000 8h2", "M15 7h2a4 4 0 010 8h-2", "M8.5 11h7"],
	policy: ["M12 4v16M5 20h14", "M4 12l3-7 3 7a3 3 0 01-6 0zM14 12l3-7 3 7a3 3 0 01-6 0z"],
	metrics: ["M4 19V5", "M4 19h16", "M7 15l4-5 3 3 5-7"],
	doctor: ["M3 12h4l2-6 4 12 2-6h6"],
	more: ["M5 12h.01M12 12h.01M19 12h.01"],
	warn: ["M12 4l9 16H3z", "M12 10v4M12 17v.01"],
	find: ["M11 4a7 7 0 100 14 7 7 0 000-14z", "M16.5 16.5L21 21"],
	ok: ["M12 3.5a8.5 8.5 0 100 17 8.5 8.5 0 000-17z", "M8.5 12.3l2.4 2.4 4.6-5"],
	fail: ["M12 3.5a8.5 8.5 0 100 17 8.5 8.5 0 000-17z", "M9.3 9.3l5.4 5.4M14.7 9.3l-5.4 5.4"],
	off: ["M12 3.5a8.5 8.5 0 100 17 8.5 8.5 0 000-17z", "M8.5 12h7"],
	wait: ["M12 3.5a8.5 8.5 0 100 17 8.5 8.5 0 000-17z", "M12 7.5V12l3 2"],
	run: ["M12 4a8 8 0 018 8"],
	back: ["M15 5l-7 7 7 7"],
	close: ["M6 6l12 12M18 6L6 18"],
};

/** A picture of lines. With LABEL it says something of its own, else it is only seen. */
export function icon(name, props, label) {
	const seen = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
	return h("svg", { viewBox: "0 0 24 24", ...seen, ...props },
		name === "run" ? [h("path", { d: "M12 4a8 8 0 100 16 8 8 0 000-16z", opacity: ".25" }), h("path", { class: "spin", d: ICONS.run[0] })]
									 : ICONS[name].map((d) => h("path", { d })));
}

// What does not show, or changes how its neighbours show, is written out: in a command each, in output all but the joiners of emoji.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u{a0}\u{1680}\u{2000}-\u{200a}\u{202f}\u{205f}\u{3000}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}-\u{180f}\u{2800}\u{3164}\u{ffa0}\u{fe00}-\u{fe0f}\u{e0000}-\u{e0fff}]/u;
const UNSEEN_OUTPUT = /[\u{0}-\u{8}\u{b}-\u{1f}\u{7f}-\u{9f}\u{61c}\u{200b}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2060}-\u{206f}\u{feff}\u{e0000}-\u{e007f}\p{Cs}]/u;

export function codeName(character) {
	return `<U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** TEXT with nothing hidden in it, as a string. Ends of lines and tabs are kept with LINES. */
export function plain(text, lines) {
	let out = "";
	for (const c of String(text ?? "")) out += (lines && (c === "\n" || c === "\t")) || !UNSEEN.test(c) ? c : codeName(c);
	return out;
}

/** The same as nodes, in which what was hidden stands out. */
export function visible(text, { lines = false, output = false } = {}) {
	const test = output ? UNSEEN_OUTPUT : UNSEEN;
	const source = String(text ?? "");
	if (!test.test(source)) return [source];
	const out = [];
	let run = "";
	for (const c of source) {
		if (!test.test(c) || (lines && (c === "\n" || c === "\t")) || (output && c === "\t")) {
			run += c;
			continue;
		}
		if (run) out.push(run);
		run = "";
		out.push(h("span", { class: "unseen" }, codeName(c)));
	}
	if (run) out.push(run);
	return out;
}

/** One line of at most MAX characters. */
export function short(text, max = 200) {
	const line = plain(text, true).replace(/\s*\n\s*/g, " ⏎ ").trim();
	return line.length > max ? line.slice(0, max - 1) + "…" : line;
}

export function bytes(n) {
	if (n === undefined || n === null) return "";
	if (n < 1000) return `${n} B`;
	const units = ["KB", "MB", "GB", "TB"];
	let i = -1;
	do n /= 1000; while (++i < units.length - 1 && n >= 999.5);
	return `${n < 9.95 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

export function count(n) {
	return Number(n || 0).toLocaleString("en-GB");
}

/** 0.04 s, 6.1 s, 0:48, 1:02:03. */
export function span(ms, going) {
	if (!(ms >= 0)) ms = 0;
	if (!going && ms < 60000) return ms < 1000 ? `${(ms / 1000).toFixed(2)} s` : `${(ms / 1000).toFixed(1)} s`;
	const s = Math.floor(ms / 1000);
	const two = (n) => String(n).padStart(2, "0");
	if (s < 3600) return `${Math.floor(s / 60)}:${two(s % 60)}`;
	if (s < 172800) return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
	return `${Math.floor(s / 86400)} d`;
}

export function clock(ms, seconds) {
	const d = new Date(ms);
	const two = (n) => String(n).padStart(2, "0");
	const time = `${two(d.getHours())}:${two(d.getMinutes())}${seconds ? ":" + two(d.getSeconds()) : ""}`;
	const today = new Date(now());
	return d.toDateString() === today.toDateString() ? time : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${time}`;
}

// The server's clock counts, not the browser's.
let skew = 0;
let frozen = 0;
export function setServerTime(ms) {
	skew = ms - Date.now();
}
export function freeze(ms) {
	frozen = ms;
}
export function now() {
	return frozen || Date.now() + skew;
}

/** A time that goes on by itself: <nacre-time since=MS> or until=MS. One timer serves all of them. */
const ticking = new Set();
let ticker = 0;

class Time extends HTMLElement {
	static observedAttributes = ["since", "until", "words"];
	connectedCallback() {
		ticking.add(this);
		if (!ticker) ticker = setInterval(() => ticking.forEach((t) => t.show()), 1000);
		this.show();
	}
	disconnectedCallback() {
		ticking.delete(this);
		if (ticking.size === 0) {
			clearInterval(ticker);
			ticker = 0;
		}
	}
	attributeChangedCallback() {
		if (this.isConnected) this.show();
	}
	show() {
		const until = this.getAttribute("until");
		const ms = until ? Number(until) - now() : now() - Number(this.getAttribute("since"));
		const text = (this.getAttribute("words") || "") + span(Math.max(0, ms), true);
		if (this.textContent !== text) this.textContent = text;
	}
}
customElements.define("nacre-time", Time);

export function since(ms) {
	return h("nacre-time", { since: ms });
}
export function until(ms, words) {
	return h("nacre-time", { until: ms, words });
}
