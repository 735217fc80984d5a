// What a key sends to a terminal, as xterm does. Nothing here touches the page: it is tested alone.

const CURSOR = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" };
const TILDE = { Insert: 2, Delete: 3, PageUp: 5, PageDown: 6, F5: 15, F6: 17, F7: 18, F8: 19, F9: 20, F10: 21, F11: 23, F12: 24 };
const LETTER = { F1: "P", F2: "Q", F3: "R", F4: "S" };
const CONTROL = { " ": "\0", "@": "\0", "[": "\x1b", "\\": "\x1c", "]": "\x1d", "^": "\x1e", "_": "\x1f", "/": "\x1f", "?": "\x7f", 2: "\0", 3: "\x1b", 4: "\x1c", 5: "\x1d", 6: "\x1e", 7: "\x1f", 8: "\x7f" };

/** The bytes of a key, null for one that is not for the terminal. APPLICATION: the program has asked for cursor keys of its own. */
export function keyBytes(e, application) {
	if (e.metaKey) return null;
	const m = 1 + (e.shiftKey ? 1 : 0) + (e.altKey ? 2 : 0) + (e.ctrlKey ? 4 : 0);
	if (CURSOR[e.key]) return m > 1 ? `\x1b[1;${m}${CURSOR[e.key]}` : `\x1b${application ? "O" : "["}${CURSOR[e.key]}`;
	if (TILDE[e.key]) return m > 1 ? `\x1b[${TILDE[e.key]};${m}~` : `\x1b[${TILDE[e.key]}~`;
	if (LETTER[e.key]) return m > 1 ? `\x1b[1;${m}${LETTER[e.key]}` : `\x1bO${LETTER[e.key]}`;
	const alt = e.altKey ? "\x1b" : "";
	switch (e.key) {
	case "Enter": return alt + "\r";
	case "Backspace": return alt + (e.ctrlKey ? "\b" : "\x7f");
	case "Tab": return e.ctrlKey ? null : e.shiftKey ? "\x1b[Z" : "\t";
	case "Escape": return "\x1b";
	default:
	}
	if ([...e.key].length !== 1) return null; // a dead key, a shift, a key of the system
	if (!e.ctrlKey) return alt + e.key;
	if (e.altKey && e.getModifierState?.("AltGraph")) return e.key;
	const c = e.key.toLowerCase();
	if (c >= "a" && c <= "z") return alt + String.fromCharCode(c.charCodeAt(0) - 96);
	return CONTROL[e.key] === undefined ? null : alt + CONTROL[e.key];
}

/** Text that is pasted: nothing in it ends the brackets, and lines end as a keyboard ends them. */
export function pasteBytes(text, bracketed) {
	// eslint-disable-next-line no-control-regex
	const clean = text.replace(/\r\n?|\n/g, "\r").replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0080-\u009f]/g, "");
	return bracketed ? `\x1b[200~${clean}\x1b[201~` : clean;
}
