// The audit log: its records by task, newest first; the chain; its verification.

import { get, send } from "./api.js";
import { clock, count, h, plain, short, visible } from "./dom.js";
import { EventParser } from "./events.js";
import { ask, copy, empty, fail, search, status } from "./parts.js";
import * as live from "./live.js";
import { address, refine } from "./route.js";
import { changed, openApprovals, store } from "./store.js";
import { T } from "./strings.js";

const PAGE = 200;
const STRIP = 160;

const view = { records: null, before: null, loading: false, key: "", fresh: [], verify: null, strip: [] };

export const title = () => (openApprovals().length ? `(${openApprovals().length}) ` : "") + T.pages.audit;

const FILTERS = { task: "task_id", event: "event", verdict: "verdict", profile: "profile" };

function query(route, before) {
	const q = new URLSearchParams({ limit: PAGE });
	for (const [name, parameter] of Object.entries(FILTERS)) if (route.query[name]) q.set(parameter, route.query[name]);
	for (const name of ["since", "until"]) {
		const ms = Date.parse(route.query[name] || "");
		if (ms) q.set(name, ms);
	}
	if (before) q.set("before", before);
	return "/v1/audit?" + q;
}

async function load(route, more) {
	const key = query(route);
	view.key = key;
	view.loading = true;
	if (!more) view.fresh = [];
	changed();
	try {
		const answer = await get(query(route, more ? view.before : ""));
		if (view.key !== key) return;
		const list = answer.records.slice().sort((a, b) => b.seq - a.seq);
		view.records = more ? [...view.records, ...list] : list;
		view.before = answer.before;
		if (!more && key === query({ query: {} })) view.strip = view.records.slice(0, STRIP);
	} catch (problem) {
		view.records ||= [];
		fail(problem);
	}
	view.loading = false;
	changed();
}

let off = null;
export function enter(route) {
	live.wantTopic("audit");
	off = live.on("audit", (r) => {
		if (!view.strip.length || r.seq > view.strip[0].seq) view.strip = [r, ...view.strip].slice(0, STRIP);
		if (!view.records?.some((x) => x.seq === r.seq)) view.fresh.unshift(r);
		changed();
	});
	load(route);
	if (!view.strip.length && query(route) !== query({ query: {} }))
		get(`/v1/audit?limit=${STRIP}`).then((a) => {
			view.strip = a.records.slice().sort((x, y) => y.seq - x.seq);
			changed();
		}).catch(fail);
}

export function leave() {
	off?.();
	live.unwant("audit");
	view.stop?.abort();
}

async function verify() {
	view.verify = { n: 0, of: 0 };
	view.stop = new AbortController();
	changed();
	try {
		const response = await send("GET", "/v1/audit/verify", { headers: { Accept: "text/event-stream" }, signal: view.stop.signal });
		const parser = new EventParser((e) => {
			const data = JSON.parse(e.data);
			if (e.type === "progress") view.verify = { n: data.files, of: data.of };
			if (e.type === "result") view.verify = { result: data };
			changed();
		});
		const reader = response.body.getReader();
		for (;;) {
			const { done, value } = await reader.read();
			if (done) break;
			parser.push(value);
		}
	} catch (problem) {
		view.verify = null;
		fail(problem);
	}
	if (!view.verify?.result) view.verify = null;
	changed();
}

function show(record) {
	const body = document.createElement("pre");
	body.className = "json";
	body.tabIndex = 0;
	const text = JSON.stringify(record, null, 2);
	body.textContent = plain(text, true);
	ask({ title: `${T.audit.record} ${record.seq}`, body, yes: T.copy, danger: false }).then((yes) => yes && copy(text));
}

// What is drawn.

const timeOf = (r) => r.time_ms ?? Date.parse(r.time);

/** Records of one task stand together, where the newest of them is. */
function groups(records) {
	const byTask = new Map();
	const out = [];
	for (const r of records) {
		const key = r.task_id || "";
		let g = key ? byTask.get(key) : out.at(-1)?.task === "" ? out.at(-1) : null;
		if (!g) {
			g = { task: key, records: [], key: key || `log-${r.seq}` };
			out.push(g);
			if (key) byTask.set(key, g);
		}
		g.records.push(r);
	}
	for (const g of out) if (g.task) g.records.sort((a, b) => a.seq - b.seq);
	return out;
}

function commandOf(g) {
	for (const r of g.records) {
		if (typeof r.command === "string") return r.command;
		if (Array.isArray(r.argv)) return r.argv.join(" ");
	}
	const known = store.tasks.get(g.task);
	return known?.command || g.task;
}

const field = (label, name, control) => h("label", { class: "field" }, h("span", null, label), control(name));

export function draw(route) {
	const list = view.records;
	if (view.key !== query(route) && !view.loading && list) setTimeout(() => view.key !== query(route) && load(route), 0);
	const set = (name) => (e) => refine(route, { [name]: e.target.value });
	const select = (name, options) => field(T.audit[name], name, () => h("select", { onchange: set(name), ".value": route.query[name] || "" }, h("option", { value: "" }, T.audit.any),
		options.map((o) => h("option", { value: o, selected: route.query[name] === o }, o))));
	const filtered = Object.values(route.query).some(Boolean);
	return [
		h("header", { class: "top" }, h("h1", null, T.audit.heading), view.strip[0] && h("p", null, T.audit.summary(count(view.strip[0].seq))),
			search(T.audit.filterLabel, T.audit.filter, route.query.task, (task) => {
				clearTimeout(view.typing);
				view.typing = setTimeout(() => refine(route, { task: task.trim() }), 250);
			})),
		h("div", { class: "tools filters" },
			select("event", Object.keys(T.audit.events)), select("verdict", ["allow", "ask", "deny", "nudge"]), select("profile", store.me?.profiles || []),
			field(T.audit.since, "since", () => h("input", { type: "datetime-local", ".value": route.query.since || "", onchange: set("since") })),
			field(T.audit.until, "until", () => h("input", { type: "datetime-local", ".value": route.query.until || "", onchange: set("until") })),
			filtered && h("button", { class: "ghost", type: "button", onclick: () => refine(route, { task: "", event: "", verdict: "", profile: "", since: "", until: "" }) }, T.clearFilter)),
		h("div", { class: "page" }, chain(),
			view.fresh.length > 0 && h("button", { class: "btn slim fresh", type: "button", onclick: () => load(route) }, T.audit.fresh(view.fresh.length)),
			list && (list.length === 0 ? h("div", { class: "sheet quiet" }, filtered ? h("p", { class: "none" }, T.nothingFits) : empty(T.audit.empty, T.audit.emptyText, T.audit.emptyCommand))
				: [h("ol", { class: "timeline" }, groups(list).map((g) => group(g))),
					view.before && h("button", { class: "btn", type: "button", disabled: view.loading, onclick: () => load(route, true) }, view.loading ? T.loading : T.audit.older)])),
	];
}

function chain() {
	const v = view.verify;
	return h("section", { class: "sheet chain", "aria-labelledby": "chain" },
		h("header", null, h("div", { class: "row" }, h("h2", { id: "chain" }, T.audit.chain), h("p", { class: "small wide" }, T.audit.chainText),
			h("button", { class: "btn slim push", type: "button", disabled: !store.me?.audit || (v && !v.result), title: store.me?.audit ? null : T.audit.mayNot, onclick: verify }, v && !v.result ? T.loading : T.audit.verify))),
		h("div", { class: "strip", role: "img", "aria-label": T.audit.stripLabel }, view.strip.slice().reverse().map((r) =>
			h("i", { key: r.seq, class: r.event === "break" ? "bad" : r.event === "checkpoint" || r.event === "opened" ? "sign" : r.event === "refused" ? "no" : "", title: `${r.seq} ${T.audit.events[r.event] || r.event}` }))),
		!store.me?.audit && h("p", { class: "small" }, T.audit.mayNot),
		v && !v.result && h("div", { class: "verify", role: "status" }, h("progress", { max: v.of || 1, value: v.n, "aria-label": T.audit.verify }), h("span", { class: "small num" }, T.audit.verifying(v.n, v.of || "…"))),
		v?.result && verdict(v.result));
}

function verdict(r) {
	return h("div", { class: `verify ${r.good ? "good" : "bad"}`, role: "status" }, status(r.good ? "ok" : "fail", r.good ? T.audit.good : T.audit.bad),
		h("div", null, h("p", null, h("b", null, r.good ? T.audit.good : T.audit.bad), " ", T.audit.result(r), "."),
			!r.good && h("p", null, T.audit.where(r), r.problem && [": ", visible(r.problem)]),
			r.note && h("p", { class: "small" }, visible(r.note)),
			r.breaks > 0 && h("p", { class: "small" }, T.audit.breaks(r.breaks)), r.lost > 0 && h("p", { class: "small" }, T.audit.lostRecords(r.lost)),
			r.last_hash && h("p", { class: "small mono hash" }, `${T.audit.lastHash} ${r.last_hash}`)));
}

function verdictOf(g) {
	return g.records.find((r) => r.verdict)?.verdict;
}

const VERDICTS = { allow: "r-low", ask: "r-mid", deny: "r-high", nudge: "r-mid" };

function group(g) {
	const first = g.records[0];
	const v = verdictOf(g);
	return h("li", { key: g.key, class: "sheet group" },
		h("header", null, h("div", { class: "row" }, v && h("span", { class: `tag ${VERDICTS[v]}` }, v), h("h2", { class: "mono" }, g.task ? visible(short(commandOf(g), 160)) : T.audit.noTask),
			h("span", { class: "push small num" }, clock(timeOf(first)))),
		h("p", { class: "small" }, [plain(g.records.find((r) => r.principal)?.principal), g.records.find((r) => r.profile)?.profile].filter(Boolean).join(" · "), g.task && [" ", h("a", { class: "link mono", href: address("tasks", g.task) }, g.task)])),
		h("ol", { class: "events" }, g.records.map(event)));
}

function event(r) {
	const bad = r.event === "refused" || r.event === "break";
	return h("li", { key: r.seq, class: bad ? "bad" : r.event === "checkpoint" || r.event === "opened" ? "sign" : "" },
		h("button", { type: "button", class: "event", onclick: () => show(r) },
			h("span", { class: "num seq" }, r.seq), h("span", { class: "num small when" }, clock(timeOf(r), true)), h("b", null, T.audit.events[r.event] || visible(r.event)), h("span", { class: "what" }, what(r)),
			h("span", { class: "mono small hash" }, (r.hash || "").slice(0, 10))));
}

function what(r) {
	const parts = [];
	if (r.verdict) parts.push(r.verdict);
	if (r.rule) parts.push(typeof r.rule === "object" ? r.rule.id : r.rule);
	if (r.answer) parts.push(r.answer);
	if (r.by) parts.push(T.policy.via(plain(r.by)));
	if (r.event === "ended") parts.push(r.signal || (r.exit_code !== undefined && r.exit_code !== null ? T.tasks.exit(r.exit_code) : r.state || ""));
	if (r.name) parts.push(plain(r.name) + (r.port ? `:${r.port}` : ""));
	if (r.tier) parts.push(r.tier);
	if (r.reason) parts.push(plain(r.reason));
	return short(parts.filter(Boolean).join(", "), 160);
}
