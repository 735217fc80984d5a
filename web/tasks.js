// Tasks: the list, and one of them with its output, its screen and its record.

import { get, post, send } from "./api.js";
import { bytes, clock, count, h, plain, short, since, span, visible } from "./dom.js";
import { announce, ask, copy, empty, facts, fail, matches, search, segments, status } from "./parts.js";
import { address, refine } from "./route.js";
import { changed, loadAllTasks, openApprovals, store } from "./store.js";
import { T } from "./strings.js";
import "./log.js";
import "./term.js";

const FIRST = 60; // rows at once; the others come when the list is scrolled

const view = { rows: FIRST, follow: true, wrap: false, mode: "", find: null, log: {}, all: null, counting: "", stopping: "", missing: "", shown: "" };

export const title = (route) => (openApprovals().length ? `(${openApprovals().length}) ` : "") + (route.id ? short(store.tasks.get(route.id)?.command || T.pages.tasks, 40) : T.pages.tasks);

const isBad = (t) => !t.running && t.state !== "finished";

function icons(t) {
	if (t.running) return waits(t) ? "wait" : "run";
	if (t.state === "finished") return "ok";
	return t.state === "stopped" || t.state === "timed out" || t.state === "killed" || t.state === "lost" ? "off" : "fail";
}

function waits(t) {
	return t.approval && store.approvals.get(t.approval)?.state === "open";
}

const agent = (t) => plain(t.principal) || (t.door === "cli" || !t.door ? T.you : t.door.toUpperCase());

function result(t) {
	if (t.running) return "";
	if (t.state === "failed" && t.exit_code !== null) return T.tasks.exit(t.exit_code);
	if (t.state === "finished") return "";
	return t.signal && t.state === "failed" ? t.signal : t.state;
}

function how(t) {
	if (waits(t)) return T.tasks.waitsForYou;
	if (result(t)) return result(t);
	if (t.terminal) return T.tasks.terminalSize(t.terminal);
	return t.background && t.running ? T.tasks.background : plain(t.profile || "");
}

const size = (t) => t.stdout_bytes + t.stderr_bytes;

function list(route) {
	const state = route.query.state || "all";
	const filter = route.query.q || "";
	return [...store.tasks.values()].filter((t) =>
		(state === "all" || (state === "running" ? t.running : state === "failed" ? isBad(t) : !t.running && t.state === "finished")) &&
		(!filter || matches(filter, plain(t.command), agent(t), plain(t.description), t.profile, t.session, t.task_id, result(t), t.state)))
		.sort((a, b) => b.running - a.running || b.started_ms - a.started_ms || (a.task_id < b.task_id ? 1 : -1));
}

/** Questions whose command has no task yet stand with the running ones. */
function asked(route) {
	const state = route.query.state || "all";
	if (state !== "all" && state !== "running") return [];
	return openApprovals().filter((a) => (!a.task_id || !store.tasks.has(a.task_id)) && matches(route.query.q, plain(a.command), plain(a.principal)));
}

export function enter(route, before) {
	if (route.id !== before?.id) Object.assign(view, { follow: !route.query.line, mode: "", find: null, log: {}, all: null });
	if (route.id && store.ready && !store.tasks.has(route.id)) load(route.id);
}

export function leave() {
	view.rows = FIRST;
}

async function load(id) {
	if (view.missing === id) return;
	view.missing = id;
	try {
		const t = await get(`/v1/tasks/${id}`);
		store.tasks.set(t.task_id, t);
		view.missing = "";
	} catch (problem) {
		if (problem.status !== 404) fail(problem);
	}
	changed();
}

export function keys(e, route) {
	const all = list(route);
	const t = store.tasks.get(route.id);
	const at = all.findIndex((x) => x.task_id === route.id);
	switch (e.key.toLowerCase()) {
	case "j": case "k": {
		const to = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + (e.key.toLowerCase() === "j" ? 1 : -1)))];
		if (to) {
			refine(route, { line: "", view: "" }, to.task_id);
			setTimeout(() => document.querySelector(".task[aria-current]")?.scrollIntoView({ block: "nearest" }), 30);
		}
		return true;
	}
	case "x": if (t?.running && !e.repeat) stop(t); return true;
	case "f":
		view.follow = !view.follow;
		changed();
		return true;
	case "n": document.querySelector("nacre-log")?.move(e.shiftKey ? -1 : 1); return true;
	default: return false;
	}
}

async function stop(t) {
	const fresh = await get(`/v1/tasks/${t.task_id}`).catch(() => t);
	const body = document.createElement("code");
	body.textContent = plain(t.command || t.task_id, true);
	const answer = await ask({ title: T.tasks.stopTitle(fresh.processes), yes: T.tasks.stopYes, more: [{ text: T.tasks.stopNow, value: "now" }], body,
		text: T.tasks.stopText + (fresh.ports?.length ? " " + T.tasks.stopAlso(fresh.ports) : "") });
	if (!answer) return;
	view.stopping = t.task_id;
	changed();
	try {
		const done = await post(`/v1/tasks/${t.task_id}/stop`, { now: answer === "now" });
		announce(done.was_running ? T.tasks.stopped : T.tasks.wasOver);
	} catch (problem) {
		fail(problem);
	}
	view.stopping = "";
	changed();
}

async function raw(t, stream) {
	try {
		const blob = await (await send("GET", `/v1/tasks/${t.task_id}/raw?stream=${stream}`)).blob();
		const a = document.createElement("a");
		a.href = URL.createObjectURL(blob);
		a.download = `${t.task_id}-${stream}.txt`;
		a.click();
		setTimeout(() => URL.revokeObjectURL(a.href), 10000);
	} catch (problem) {
		fail(problem);
	}
}

/** The server counts in all of the output; the page shows what it has. */
let counting = 0;
async function countHits(t, text) {
	const mine = ++counting;
	view.all = null;
	if (!text) return changed();
	view.counting = text;
	changed();
	try {
		const pattern = "(?i)" + text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
		let lines = 0;
		let from = 0;
		for (let i = 0; i < 64; i++) {
			const o = await get(`/v1/tasks/${t.task_id}/output?since=${from}&stream=${view.mode === "errors" ? "stderr" : "both"}&grep=${encodeURIComponent(pattern)}`);
			if (mine !== counting) return;
			for (const s of [o.output, o.stdout, o.stderr]) if (s) lines += s.split("\n").length - (s.endsWith("\n") ? 1 : 0);
			if (!o.truncated || o.next <= from) break;
			from = o.next;
		}
		view.all = lines;
	} catch (problem) {
		fail(problem);
	}
	view.counting = "";
	changed();
}

function heard(route, t, what) {
	if (what.problem) fail(what.problem);
	if (what.away) away(what.away);
	if (what.line) {
		refine(route, { line: what.line });
		return;
	}
	if (what.state) {
		view.log = what.state;
		view.follow = what.state.follow;
		changed();
	}
}

async function away(href) {
	const url = new URL(href);
	const body = document.createElement("code");
	body.textContent = plain(href);
	if (await ask({ title: T.away(url.host), text: T.awayText, yes: T.awayYes, danger: false, body })) window.open(href, "_blank", "noopener,noreferrer");
}

// What is drawn.

export function draw(route) {
	const all = list(route);
	const questions = asked(route);
	const running = [...store.tasks.values()].filter((t) => t.running).length;
	const t = route.id ? store.tasks.get(route.id) : matchMedia("(min-width: 761px)").matches ? all[0] : null;
	if (route.id && !t && store.ready) load(route.id);
	const none = store.ready && store.tasks.size === 0 && questions.length === 0;
	return [
		h("header", { class: "top" }, h("h1", null, T.tasks.heading), h("p", null, T.tasks.summary(running, openApprovals().length)),
			search(T.tasks.filterLabel, T.tasks.filter, route.query.q, (q) => refine(route, { q }))),
		!none && h("div", { class: `tools${route.id ? " one" : ""}` }, segments(T.tasks.state, Object.entries(T.tasks.states), route.query.state || "all", (state) => refine(route, { state: state === "all" ? "" : state })),
			route.id && h("a", { class: "ghost back", href: address("tasks", "", { state: route.query.state, q: route.query.q }) }, "‹ ", T.tasks.back)),
		none ? h("div", { class: "split alone" }, h("div", { class: "sheet quiet" }, empty(T.tasks.empty, T.tasks.emptyText, T.tasks.emptyCommand)))
			: h("div", { class: `split${route.id ? " one" : " listed"}` }, drawList(all, questions, t, route),
				t ? drawTask(t, route) : h("div", { class: "sheet quiet" }, !store.ready ? null : route.id ? view.missing === route.id && empty(T.tasks.heading, T.tasks.unknown(route.id)) : all.length > 0 && empty(T.tasks.heading, T.tasks.choose))),
	];
}

function drawList(all, questions, shown, route) {
	const rows = all.slice(0, view.rows);
	return h("div", { class: "task-list" }, h("ul", { class: "tasks", "aria-label": T.tasks.list },
		questions.map((a) => h("li", { key: a.id }, h("a", { class: "task", href: address("approvals", a.id) }, status("wait", T.tasks.icons.wait), h("span", { class: "mono" }, short(a.command)),
			h("span", { class: "t num" }, since(a.created_ms)), h("span", { class: "sub" }, h("span", { class: "name" }, `${plain(T.approvals.from(a))} · ${T.tasks.waitsForYou}`), h("span", { class: "push" }, T.approvals.riskWords[a.risk]))))),
		rows.map((t) => row(t, t === shown, route))),
	all.length + questions.length === 0 && store.ready && h("p", { class: "small none" }, T.nothingFits, " ", h("button", { class: "ghost", type: "button", onclick: () => refine(route, { q: "", state: "" }) }, T.clearFilter)),
	all.length > rows.length ? h("nacre-seen", { key: `more-${rows.length}`, onseen: () => {
		view.rows += 100;
		changed();
	} }) : store.moreTasks && h("button", { class: "ghost", type: "button", onclick: () => loadAllTasks().catch(fail) }, T.tasks.more));
}

function row(t, shown, route) {
	const name = icons(t);
	return h("li", { key: t.task_id }, h("a", { class: "task", href: address("tasks", t.task_id, { state: route.query.state, q: route.query.q }), "aria-current": shown ? "true" : null },
		status(name, T.tasks.icons[name]), h("span", { class: "mono" }, short(t.command || t.description || t.task_id)),
		h("span", { class: "t num" }, t.running ? since(t.started_ms) : span(t.duration_ms)),
		h("span", { class: "sub" }, h("span", { class: "name" }, [agent(t), how(t)].filter(Boolean).join(" · ")), h("span", { class: "push num" }, bytes(size(t))))));
}

function mode(t, route) {
	return route.query.view || (t.terminal && t.running ? "terminal" : "output");
}

function drawTask(t, route) {
	const m = (view.mode = mode(t, route));
	const name = icons(t);
	const to = (v) => refine(route, { view: v, line: "" }, t.task_id);
	return h("article", { class: "sheet log", key: t.task_id, "aria-labelledby": "c" },
		h("header", null,
			h("div", { class: "row" }, status(name, T.tasks.icons[name]), h("h2", { class: "mono", id: "c" }, visible(short(t.command || t.task_id, 255))),
				t.running && h("button", { class: "btn no push slim", type: "button", disabled: view.stopping === t.task_id, onclick: () => stop(t) }, T.tasks.stop, h("kbd", { "aria-hidden": "true" }, "X"))),
			h("div", { class: "chips" }, chips(t))),
		h("div", { class: "bar" }, segments(T.tasks.view, Object.entries(T.tasks.views).filter(([v]) => v !== "terminal" || t.terminal || m === "terminal"), m, to), h("span", { class: "push" }),
			(m === "output" || m === "errors") && [
				h("label", null, h("input", { type: "checkbox", ".checked": view.follow, onchange: (e) => {
					view.follow = e.target.checked;
					changed();
				} }), T.tasks.follow),
				h("label", null, h("input", { type: "checkbox", ".checked": view.wrap, onchange: (e) => {
					view.wrap = e.target.checked;
					changed();
				} }), T.tasks.wrap),
				h("button", { class: "ghost", type: "button", "aria-expanded": String(view.find !== null), onclick: () => toggleFind() }, T.tasks.find),
			],
			m !== "record" && h("button", { class: "ghost", type: "button", "aria-label": T.tasks.rawLabel, onclick: () => raw(t, m === "errors" ? "stderr" : "stdout") }, T.tasks.raw)),
		view.find !== null && (m === "output" || m === "errors") && findBar(t),
		m === "terminal" ? h("nacre-terminal", { key: "t" + t.task_id, ".task": t })
			: m === "record" ? record(t)
				: h("nacre-log", { key: "l" + t.task_id, ".view": { task: t, follow: view.follow, wrap: view.wrap, errors: m === "errors", line: Number(route.query.line) || 0, find: view.find || "", say: (what) => heard(route, t, what) } }),
		h("footer", { class: "status num" },
			h("span", null, t.running ? since(t.started_ms) : span(t.duration_ms), `, ${T.tasks.since} ${clock(t.started_ms, true)}`),
			t.cpu_ms !== null && t.cpu_ms !== undefined && h("span", { class: "wide" }, `${T.tasks.cpu} ${span(t.cpu_ms)}`),
			t.max_rss_kb ? h("span", { class: "wide" }, `${T.tasks.memory} ${bytes(t.max_rss_kb * 1024)}`) : null,
			t.processes ? h("span", null, T.tasks.processes(t.processes)) : null,
			result(t) && h("span", null, result(t)),
			view.log.marked && m === "output" && h("button", { class: "ghost slim", type: "button", onclick: () => copy(location.href) }, T.tasks.lineLink(view.log.marked)),
			h("span", { class: "push" }, m === "output" && view.log.counted ? T.tasks.size(count(view.log.lines), bytes(size(t))) : bytes(size(t)))));
}

function toggleFind() {
	view.find = view.find === null ? "" : null;
	changed();
	if (view.find !== null) setTimeout(() => document.getElementById("find")?.focus(), 30);
}

function findBar(t) {
	const log = () => document.querySelector("nacre-log");
	return h("div", { class: "bar find" }, h("input", { id: "find", type: "search", "aria-label": T.tasks.findLabel, placeholder: T.tasks.findPlaceholder, autocomplete: "off", spellcheck: "false", ".value": view.find,
		oninput: (e) => {
			view.find = e.target.value;
			clearTimeout(view.findTimer);
			view.findTimer = setTimeout(() => countHits(t, view.find), 300);
			changed();
		},
		onkeydown: (e) => {
			if (e.key === "Enter") {
				e.preventDefault();
				log()?.move(e.shiftKey ? -1 : 1);
			} else if (e.key === "Escape") toggleFind();
		} }),
	h("span", { class: "small num", role: "status" }, !view.find ? "" : view.counting ? T.tasks.counting : T.tasks.hits(view.log.hits || 0, view.all)),
	h("button", { class: "ghost push", type: "button", "aria-label": T.tasks.lastHit, onclick: () => log()?.move(-1) }, "↑"),
	h("button", { class: "ghost", type: "button", "aria-label": T.tasks.nextHit, onclick: () => log()?.move(1) }, "↓"));
}

function chips(t) {
	return [
		h("span", { class: "chip" }, agent(t)),
		t.profile && h("span", { class: "chip" }, T.tasks.profile, h("b", null, visible(t.profile))),
		(t.cwd || t.workspace) && h("span", { class: "chip mono" }, visible(t.cwd || t.workspace)),
		t.tier && h("span", { class: `chip${t.tier === "none" ? " bad" : ""}` }, t.tier === "none" ? h("b", null, T.approvals.noSandbox) : [h("b", null, t.tier), ` ${T.approvals.sandbox}`]),
		t.timeout_ms ? h("span", { class: "chip" }, T.tasks.limit, limit(t.timeout_ms)) : null,
		t.missing?.length > 0 && h("span", { class: "chip bad" }, T.tasks.missing(t.missing)),
		t.ports?.map((p) => h("span", { class: "chip" }, T.tasks.port(p))),
	];
}

function limit(ms) {
	return ms % 60000 === 0 ? `${ms / 60000} min` : `${Math.round(ms / 1000)} s`;
}

function record(t) {
	const r = T.tasks.record;
	const text = (name, value, mono) => value !== null && value !== undefined && value !== "" && [name, value, mono];
	return h("div", { class: "record" }, facts([
		text(r.id, t.task_id, true), text(r.command, t.command, true), t.description && [r.description, visible(t.description)], [r.who, agent(t)], text(r.door, T.approvals.doors[t.door] || t.door),
		text(r.session, t.session && h("a", { class: "link mono", href: address("sessions") }, visible(t.session))), text(r.workspace, t.workspace, true), text(r.directory, t.cwd, true),
		[r.started, clock(t.started_ms, true)], [r.took, t.running ? since(t.started_ms) : span(t.duration_ms)], [r.result, t.running ? t.state : [t.state, t.exit_code !== null && `, ${T.tasks.exit(t.exit_code)}`, t.signal && `, ${t.signal}`]],
		text(r.sandbox, t.tier), t.layers?.length > 0 && [r.layers, t.layers.join(", ")], t.missing?.length > 0 && [r.missing, t.missing.join(", ")],
		t.timeout_ms && [r.limit, limit(t.timeout_ms)], t.ports?.length > 0 && [r.ports, t.ports.join(", ")], t.published?.length > 0 && [r.published, t.published.join(", "), true],
		t.approval && [r.approval, h("a", { class: "link mono", href: address("approvals", t.approval) }, t.approval)],
	]), h("p", { class: "row" }, h("a", { class: "link", href: address("audit", "", { task: t.task_id }) }, T.tasks.audit),
		t.command && h("a", { class: "link", href: address("policy", "", { line: t.command, profile: t.profile }) }, T.tasks.again)));
}

