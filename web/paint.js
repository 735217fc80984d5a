// Colours of output as classes: one rule for each style and theme, in a style sheet of our own, so that a change of theme paints
// nothing again. Every colour is moved until it can be read on its ground.

import { visible } from "./dom.js";
import { colourOf, readable } from "./sgr.js";

const hex = (text) => text.split(" ").map((t) => colourOf("#" + t));
const THEMES = {
	light: {
		fg: hex("24221f b3261e 226b3a 8a5300 1f5fa8 8b3a86 0b6e75 55514a 6d685f b3261e 226b3a 8a5300 1f5fa8 8b3a86 0b6e75 1d1c1a"),
		bg: hex("24221f b3261e 226b3a 8a5300 1f5fa8 8b3a86 0b6e75 d9d5cc 6d685f d9534a 2f8a4e b87410 3a7fd0 ab56a6 1b9099 efece6"),
		ink: colourOf("#24221f"), ground: colourOf("#faf9f6"), dim: colourOf("#6d685f"),
	},
	dark: {
		fg: hex("989589 ff9c92 86d19b f1bf6b 8fb8f6 dda3e0 63cbc8 c9c6bf 989589 ff9c92 86d19b f1bf6b 8fb8f6 dda3e0 63cbc8 f4f2ee"),
		bg: hex("2b3037 8c2f28 1f5c36 7a5a14 234f8c 6f2f73 12595c b3b0a9 4a525d b04a42 2f7d4c 96721f 3768ad 8d4791 1d7a7e eceae6"),
		ink: colourOf("#e6e3dd"), ground: colourOf("#0e1013"), dim: colourOf("#989589"),
	},
};

const classes = new Map();
const STYLES_MAX = 4096;
let sheet = null;

function pick(c, palette) {
	return typeof c === "number" && c < 16 ? palette[c] : colourOf(c);
}

function declarations(style, theme) {
	let fg = style.fg === null || style.fg === undefined ? null : pick(style.fg, theme.fg);
	let bg = style.bg === null || style.bg === undefined ? null : pick(style.bg, theme.bg);
	if (style.inverse) [fg, bg] = [bg || theme.ground, fg || theme.ink];
	if (style.dim && !fg) fg = theme.dim;
	const out = [];
	if (fg || bg) out.push(`color:rgb(${readable(fg || theme.ink, bg || theme.ground).join()})`);
	if (bg) out.push(`background:rgb(${bg.join()})`);
	return out.join(";");
}

/** The class of a style of sgr.js, "" for none. */
export function styleClass(style) {
	if (!style) return "";
	const name = JSON.stringify(style);
	let found = classes.get(name);
	if (found !== undefined) return found;
	if (classes.size >= STYLES_MAX) return ""; // somebody plays with colours; the text is what counts
	if (!sheet) {
		sheet = new CSSStyleSheet();
		document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
	}
	found = `s${classes.size}`;
	const shape = [style.bold && "font-weight:700", style.italic && "font-style:italic",
		(style.underline || style.strike) && `text-decoration:${[style.underline && "underline", style.strike && "line-through"].filter(Boolean).join(" ")}`]
		.filter(Boolean).join(";");
	sheet.insertRule(`.${found}{${[declarations(style, THEMES.light), shape].filter(Boolean).join(";")}}`, sheet.cssRules.length);
	sheet.insertRule(`[data-theme=dark] .${found}{${declarations(style, THEMES.dark)}}`, sheet.cssRules.length);
	classes.set(name, found);
	return found;
}

const ADDRESS = /https?:\/\/[^\s<>"'`\u0000-\u001f\u007f-\u009f]+[^\s<>"'`.,;:!?)\]}\u0000-\u001f\u007f-\u009f]/g;

/** The nodes of a run of output: hidden characters by name, addresses as links that ask before they open. */
export function runNodes(text, style, out) {
	const name = styleClass(style);
	const put = (nodes) => {
		for (const node of nodes) {
			if (typeof node === "string" && !name) out.push(document.createTextNode(node));
			else {
				const span = document.createElement("span");
				span.className = typeof node === "string" ? name : "unseen";
				span.textContent = typeof node === "string" ? node : node.kids.join("");
				out.push(span);
			}
		}
	};
	if (!text.includes("http")) {
		put(visible(text, { output: true }));
		return;
	}
	let at = 0;
	for (const found of text.matchAll(ADDRESS)) {
		if (!URL.canParse(found[0])) continue;
		if (found.index > at) put(visible(text.slice(at, found.index), { output: true }));
		const a = document.createElement("a");
		a.href = found[0];
		a.rel = "noopener noreferrer";
		a.target = "_blank";
		a.className = `away ${name}`;
		a.tabIndex = -1;
		a.append(...visible(found[0], { output: true }).map((n) => (typeof n === "string" ? n : n.kids.join(""))));
		out.push(a);
		at = found.index + found[0].length;
	}
	if (at < text.length) put(visible(text.slice(at), { output: true }));
}

