// Numbers of the server over the last hour. Totals become rates by subtracting neighbours; a restart is a hole, not a fall.

import { get } from "./api.js";
import { chart } from "./chart.js";
import { bytes, clock, count, h } from "./dom.js";
import { empty, fail } from "./parts.js";
import * as live from "./live.js";
import { changed, openApprovals, store } from "./store.js";
import { T } from "./strings.js";

const view = { history: [], step: 5000, loaded: false, table: false };

export const title = () => (openApprovals().length ? `(${openApprovals().length}) ` : "") + T.pages.metrics;

export async function enter() {
	live.wantTopic("metrics");
	store.metrics = [];
	try {
		const { points, step_ms } = await get("/v1/metrics/history");
		Object.assign(view, { history: points, step: step_ms, loaded: true });
	} catch (problem) {
		fail(problem);
	}
	changed();
}

export function leave() {
	live.unwant("metrics");
}

/** What came by the stream goes on where the history ends, in the same steps. */
function points() {
	const out = view.history.slice();
	for (const p of store.metrics) if (!out.length || p.at_ms - out.at(-1).at_ms >= view.step - 200) out.push(p);
	const last = store.metrics.at(-1);
	if (last && out.length && last !== out.at(-1) && last.at_ms > out.at(-1).at_ms) out.push(last);
	return out.slice(-720);
}

function rate(list, name, per) {
	return list.map((p, i) => {
		if (i === 0) return null;
		const d = p[name] - list[i - 1][name];
		const ms = p.at_ms - list[i - 1].at_ms;
		return d < 0 || ms <= 0 ? null : (d * per) / ms;
	});
}

/** Few commands make spikes of one step: a mean over a minute can be read. */
function smooth(values, n = 12) {
	return values.map((v, i) => {
		if (v === null) return null;
		const near = values.slice(Math.max(0, i - n + 1), i + 1).filter((x) => x !== null);
		return near.reduce((a, b) => a + b, 0) / near.length;
	});
}

const short = (v) => (v === 0 ? "0" : v >= 1000 ? count(Math.round(v)) : v >= 10 ? String(Math.round(v)) : v >= 1 ? v.toFixed(1).replace(/\.0$/, "") : v.toFixed(2));
const time = (v) => (v >= 60000 ? `${short(v / 60000)} min` : v >= 1000 ? `${short(v / 1000)} s` : `${Math.round(v)} ms`);
const percent = (v) => `${v > 0 && v < 1 ? v.toFixed(1) : Math.round(v)} %`;

export function draw() {
	const list = points();
	return [
		h("header", { class: "top" }, h("h1", null, T.metrics.heading), store.me && h("p", null, T.metrics.summary(clock(store.me.started_ms)))),
		list.length < 2 ? h("div", { class: "split alone" }, h("div", { class: "sheet quiet" }, view.loaded && empty(T.metrics.empty, T.metrics.emptyText)))
			: h("div", { class: "page" }, totals(list.at(-1)), h("div", { class: "charts" }, charts(list)), table(list), h("p", { class: "small" }, T.metrics.scrape)),
	];
}

function totals(p) {
	return h("ul", { class: "totals" }, Object.entries(T.metrics.totals).map(([name, text]) => h("li", null, h("b", { class: "num" }, count(p[name])), h("span", null, text))));
}

function charts(list) {
	const times = list.map((p) => p.at_ms);
	const c = T.metrics.charts;
	const make = (words, values, format, whole) => chart({ title: words[0], times, format, whole, series: values.map((v, i) => ({ name: words[i + 1], values: v })) });
	const minute = (name) => smooth(rate(list, name, 60000));
	const commands = minute("commands"), denied = minute("denied");
	return [
		make(c.load, [list.map((p) => p.running), list.map((p) => p.queued)], short, true),
		make(c.rate, [minute("allowed"), minute("asked"), denied, minute("nudged")], short),
		make(c.refused, [commands.map((n, i) => (n === null ? null : n === 0 ? 0 : Math.min(100, (100 * denied[i]) / n)))], percent),
		make(c.time, [list.map((p) => p.p50_ms), list.map((p) => p.p95_ms)], time),
		make(c.bytes, [smooth(rate(list, "stdout_bytes", 1000), 3), smooth(rate(list, "stderr_bytes", 1000), 3)], (v) => bytes(Math.round(v))),
		make(c.server, [list.map((p) => p.rss_kb * 1024)], (v) => bytes(Math.round(v))),
		make(c.cpu, [smooth(rate(list, "cpu_ms", 100), 3)], percent),
		make(c.connections, [list.map((p) => p.connections), list.map((p) => p.streams)], short, true),
	];
}

function table(list) {
	const names = ["running", "queued", "commands", "allowed", "asked", "denied", "nudged"];
	return h("details", { class: "numbers", ontoggle: (e) => {
		view.table = e.target.open;
		changed();
	} }, h("summary", null, T.metrics.table),
	view.table && h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": T.metrics.table }, h("table", null,
		h("thead", null, h("tr", null, h("th", { scope: "col" }, T.metrics.time), names.map((n) => h("th", { scope: "col" }, T.metrics.totals[n] || n)))),
		h("tbody", null, list.slice(-60).reverse().map((p) => h("tr", null, h("th", { scope: "row", class: "num" }, clock(p.at_ms, true)), names.map((n) => h("td", { class: "num" }, count(p[n])))))))));
}
