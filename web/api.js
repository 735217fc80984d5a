// Requests to the server. Each carries the page's key beside the cookie: one half alone opens nothing.

const KEY = "nacre-page";

let key = read();
const listeners = new Set();

function read() {
	try {
		return localStorage.getItem(KEY) || "";
	} catch {
		return "";
	}
}

export function hasKey() {
	return key !== "";
}

export function setKey(value) {
	key = value;
	try {
		if (value) localStorage.setItem(KEY, value);
		else localStorage.removeItem(KEY);
	} catch { /* a browser that keeps nothing: this page alone knows the key */ }
}

/** Another tab has logged in: its key is ours. */
export function rereadKey() {
	key = read() || key;
}

/** FN(what) with what = "ended" (the login is over), "busy" (the server asks for patience) or "fine". */
export function onTrouble(fn) {
	listeners.add(fn);
}

function tell(what) {
	listeners.forEach((fn) => fn(what));
}

export class Problem extends Error {
	constructor(status, kind, message) {
		super(message);
		this.status = status;
		this.kind = kind;
	}
}

export function wait(ms) {
	return new Promise((resolve) => setTimeout(resolve, ms));
}

async function problemOf(response) {
	let detail = {};
	try {
		detail = (await response.json()).error || {};
	} catch { /* not from nacre: a proxy, perhaps */ }
	return new Problem(response.status, detail.kind || "system", detail.message || `the server answered ${response.status}`);
}

/** The response itself, if it is good; else a Problem is thrown. Options: body, signal, open (no login needed), patient (retry when the server is busy). */
export async function send(method, path, { body, signal, open, patient = method === "GET", headers = {} } = {}) {
	const init = { method, signal, headers: { ...headers }, credentials: "same-origin", cache: "no-store", redirect: "error" };
	if (key && !open) init.headers["Nacre-Page"] = key;
	if (body !== undefined) {
		init.headers["Content-Type"] = "application/json";
		init.body = JSON.stringify(body);
	}
	for (let tries = 0; ; tries++) {
		let response;
		try {
			response = await fetch(path, init);
		} catch (error) {
			if (error.name === "AbortError") throw error;
			throw new Problem(0, "network", "the server cannot be reached");
		}
		if (response.ok) {
			if (tries > 0) tell("fine");
			return response;
		}
		if ((response.status === 429 || response.status === 503) && patient && tries < 6) {
			tell("busy");
			await wait(Math.min(10, Number(response.headers.get("Retry-After")) || 1) * 1000 + Math.random() * 300);
			continue;
		}
		const problem = await problemOf(response);
		if (problem.status === 401 && !open) tell("ended");
		throw problem;
	}
}

export async function get(path, options) {
	return (await send("GET", path, options)).json();
}

export async function post(path, body, options) {
	return (await send("POST", path, { ...options, body })).json();
}

export async function remove(path) {
	return (await send("DELETE", path)).json();
}
