// The one stream of all tabs. A browser opens six connections to a host, so one tab leads: it reads the stream and passes each event on
// to the others. When it goes, the next one takes over. Where the browser has no locks (plain http on another machine), every tab leads
// itself.
//
//	tab:    want {outputs, screens, topics}  ->  leader: the union of all, by POST /v1/events/STREAM
//	leader: event {type, data}               ->  tabs

import { send, post, wait } from "./api.js";
import { EventParser } from "./events.js";

const QUIET_MS = 45000; // three comments of the server have not come
const FORGET_MS = 90000; // a tab that does not answer any more

const me = Math.random().toString(36).slice(2);
const handlers = new Map();
const wanted = { outputs: new Map(), screens: new Set(), topics: new Set(["tasks", "approvals"]) };
const others = new Map(); // what other tabs want: tab -> {outputs, screens, topics, at}
const offsets = new Map(); // task -> how far the stream has come

const pieces = new Map(); // of one read: only the last one says how far the reading has come

let channel = null;
let leading = false;
let running = false;
let stream = ""; // the id of the open stream
let abort = null;
let lastId = "";
let asked = "";
let state = { status: "starting", since: Date.now() };
let release = null;
let give = () => null; // the state for a tab that comes later

export function on(type, fn) {
	if (!handlers.has(type)) handlers.set(type, new Set());
	handlers.get(type).add(fn);
	return () => handlers.get(type).delete(fn);
}

function fire(type, data) {
	for (const fn of [...(handlers.get(type) || [])]) fn(data);
}

function deliver(type, data) {
	fire(type, data);
	if (leading && channel) channel.postMessage({ do: "event", type, data });
}

export function status() {
	return state;
}

function setStatus(next, why) {
	if (state.status === next) return;
	state = { status: next, since: Date.now(), why };
	deliver("status", state);
}

export function isLeading() {
	return leading;
}

/** SNAPSHOT() gives what a tab that comes later has to know: a list of [type, data]. */
export function start(snapshot) {
	give = snapshot;
	if (running) return;
	running = true;
	state = { status: "starting", since: Date.now() };
	if (!navigator.locks || !window.BroadcastChannel) {
		leading = true;
		lead();
		return;
	}
	channel = new BroadcastChannel("nacre-console");
	channel.onmessage = (e) => hear(e.data);
	navigator.locks.request("nacre-console", () => new Promise((resolve) => {
		if (!running) return resolve();
		release = resolve;
		leading = true;
		others.clear();
		channel.postMessage({ do: "who" });
		lead();
	}));
	channel.postMessage({ do: "hello", tab: me, want: wants() });
}

export function stop(say) {
	if (say && channel) channel.postMessage({ do: "logout" });
	running = false;
	leading = false;
	stream = "";
	if (abort) abort.abort();
	if (release) release();
	release = null;
	if (channel) channel.close();
	channel = null;
	lastId = "";
	offsets.clear();
}

function wants() {
	return { outputs: [...wanted.outputs], screens: [...wanted.screens], topics: [...wanted.topics] };
}

function hear(m) {
	if (m.do === "event" && !leading) {
		if (m.type === "status") state = m.data;
		if (m.type === "login-ended") fire("login-ended", m.data);
		else fire(m.type, m.data);
	} else if (m.do === "logout") fire("login-ended", {});
	else if (m.do === "who" && !leading) channel.postMessage({ do: "want", tab: me, want: wants() });
	else if ((m.do === "want" || m.do === "hello") && leading) {
		others.set(m.tab, { ...m.want, at: Date.now() });
		if (m.do === "hello") {
			channel.postMessage({ do: "event", type: "status", data: state });
			for (const [type, data] of give() || []) channel.postMessage({ do: "event", type, data });
		}
		tellServer();
	} else if (m.do === "bye" && leading) {
		others.delete(m.tab);
		tellServer();
	}
}

window.addEventListener("pagehide", () => channel && channel.postMessage({ do: "bye", tab: me }));
window.addEventListener("pageshow", (e) => e.persisted && channel && channel.postMessage({ do: "hello", tab: me, want: wants() }));

function changed() {
	if (leading) tellServer();
	else if (channel) channel.postMessage({ do: "want", tab: me, want: wants() });
}

/** From now on events "output" of this task come, from SINCE on or later. */
export function wantOutput(id, since) {
	wanted.outputs.set(id, since);
	changed();
}
export function wantScreen(id) {
	wanted.screens.add(id);
	changed();
}
export function wantTopic(topic) {
	if (wanted.topics.has(topic)) return;
	wanted.topics.add(topic);
	changed();
}
export function unwant(id) {
	if (wanted.outputs.delete(id) | wanted.screens.delete(id) | wanted.topics.delete(id)) changed();
}

function union() {
	const outputs = new Map(wanted.outputs);
	const screens = new Set(wanted.screens);
	const topics = new Set(wanted.topics);
	for (const [tab, want] of others) {
		if (Date.now() - want.at > FORGET_MS) {
			others.delete(tab);
			continue;
		}
		want.outputs.forEach(([id, since]) => outputs.has(id) || outputs.set(id, since));
		want.screens.forEach((id) => screens.add(id));
		want.topics.forEach((t) => topics.add(t));
	}
	for (const [id, since] of outputs) if (offsets.has(id)) outputs.set(id, offsets.get(id));
		else offsets.set(id, since);
	for (const id of [...offsets.keys()]) if (!outputs.has(id)) offsets.delete(id);
	// Our own come first: what does not fit is what other tabs look at.
	return { outputs: [...outputs].slice(0, 8), screens: [...screens].slice(0, 4), topics: [...topics].sort() };
}

let telling = false;
let again = false;

async function tellServer() {
	if (telling) {
		again = true;
		return;
	}
	telling = true;
	do {
		again = false;
		const u = union();
		const now = JSON.stringify([u.outputs.map(([id]) => id).sort(), u.screens.sort(), u.topics]);
		if (!stream || now === asked) continue;
		asked = now;
		try {
			await post(`/v1/events/${stream}`, { topics: u.topics, outputs: u.outputs.map(([id, since]) => ({ task_id: id, since })), screens: u.screens }, { patient: true });
		} catch (problem) {
			asked = "";
			if (problem.status === 404 && abort) abort.abort(); // the stream is gone: a new one asks for all
			else if (problem.status !== 0) fire("trouble", problem);
			break;
		}
	} while (again);
	telling = false;
}

setInterval(() => leading && channel && others.size > 0 && (channel.postMessage({ do: "who" }), tellServer()), 30000);

function address() {
	const u = union();
	asked = JSON.stringify([u.outputs.map(([id]) => id).sort(), u.screens.sort(), u.topics]);
	const q = new URLSearchParams({ topics: u.topics.join(",") });
	if (u.outputs.length) q.set("output", u.outputs.map(([id, since]) => `${id}@${since}`).join(","));
	if (u.screens.length) q.set("screen", u.screens.join(","));
	return "/v1/events?" + q.toString().replaceAll("%2C", ",").replaceAll("%40", "@");
}

async function lead() {
	let delay = 250;
	while (running && leading) {
		try {
			abort = new AbortController();
			await readStream(() => { delay = 250; });
		} catch (problem) {
			if (!running || !leading) break;
			if (problem.status === 401) {
				deliver("login-ended", {});
				break;
			}
		}
		stream = "";
		if (!running || !leading) break;
		setStatus("lost");
		await Promise.race([wait(delay + Math.random() * 100), new Promise((r) => window.addEventListener("online", r, { once: true }))]);
		delay = Math.min(10000, delay * 2);
	}
}

async function readStream(good) {
	pieces.clear(); // what was half read comes again
	const response = await send("GET", address(), { signal: abort.signal, patient: false,
		headers: { Accept: "text/event-stream", ...(lastId ? { "Last-Event-ID": lastId } : {}) } });
	const reader = response.body.getReader();
	const parser = new EventParser((e) => {
		if (e.id) lastId = e.id;
		let data;
		try {
			data = JSON.parse(e.data);
		} catch {
			return; // not from our server; the next snapshot mends what is missing
		}
		if (e.type === "snapshot") {
			good();
			stream = data.stream;
			setStatus("live");
			tellServer();
		}
		handle(e.type, data);
	});
	let timer = 0;
	try {
		for (;;) {
			clearTimeout(timer);
			timer = setTimeout(() => abort.abort(), QUIET_MS);
			const { done, value } = await reader.read();
			if (done) return;
			parser.push(value);
		}
	} finally {
		clearTimeout(timer);
		abort.abort();
	}
}

function handle(type, data) {
	if (type === "bye") {
		if (data.reason === "login") deliver("login-ended", {});
		return;
	}
	const id = data.task_id;
	if (type === "output-end" && pieces.has(id)) flush(id, data.next);
	if (type !== "output") {
		deliver(type, data);
		return;
	}
	if (!pieces.has(id)) pieces.set(id, []);
	pieces.get(id).push({ stream: data.stream, text: data.text, missing: data.missing_bytes });
	if (data.next !== undefined) flush(id, data.next);
}

function flush(id, next) {
	deliver("output", { task_id: id, from: offsets.get(id), next, pieces: pieces.get(id) });
	offsets.set(id, next);
	pieces.delete(id);
}
