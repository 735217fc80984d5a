// Lines of one hour, as SVG.

import { clock, h } from "./dom.js";

const W = 520, H = 150, LEFT = 46, RIGHT = 8, TOP = 10, BOTTOM = 22;

/** A round number above MAX, for the top of the scale. */
export function ceiling(max) {
	if (!(max > 0)) return 1;
	const power = 10 ** Math.floor(Math.log10(max));
	return [1, 2, 2.5, 5, 10].map((k) => k * power).find((n) => n >= max * 0.999);
}

/** SERIES: [{name, values}], values as long as TIMES; null is a hole. */
export function chart({ title, times, series, format, whole }) {
	const max = Math.max(...series.flatMap((s) => s.values.filter((v) => v !== null)), 0);
	const top = Math.max(ceiling(max), whole ? 4 : 0);
	const from = times[0], to = Math.max(times.at(-1), from + 60000);
	const x = (t) => LEFT + ((t - from) / (to - from)) * (W - LEFT - RIGHT);
	const y = (v) => H - BOTTOM - (v / top) * (H - TOP - BOTTOM);
	const last = series.map((s) => s.values.findLast((v) => v !== null) ?? 0);
	const marks = [0, 0.5, 1].map((k) => k * top);
	const hours = [];
	const step = [1, 2, 5, 10, 15].map((m) => m * 60000).find((m) => (to - from) / m <= 7) || 900000;
	for (let t = Math.ceil(from / step) * step; t < to - step / 4; t += step) hours.push(t);
	return h("figure", { class: "chart" },
		h("figcaption", null, h("h2", null, title), h("p", { class: "legend" }, series.map((s, i) =>
			h("span", { class: `l${i}` }, h("i", { "aria-hidden": "true" }), s.name, " ", h("b", { class: "num" }, format(last[i])))))),
		h("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${title}: ${series.map((s, i) => `${s.name} ${format(last[i])}`).join(", ")}` },
			marks.map((v) => [h("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: y(v), y2: y(v) }), h("text", { x: LEFT - 6, y: y(v) + 3.5, "text-anchor": "end" }, format(v))]),
			hours.map((t) => h("text", { x: x(t), y: H - 6, "text-anchor": "middle" }, clock(t))),
			series.map((s, i) => [i === 0 && series.length === 1 && h("path", { class: "area", d: path(times, s.values, x, y) + close(times, s.values, x, y(0)) }),
				h("path", { class: `line l${i}`, d: path(times, s.values, x, y) })])));
}

function path(times, values, x, y) {
	let d = "";
	let pen = false;
	times.forEach((t, i) => {
		const v = values[i];
		if (v === null || !Number.isFinite(v)) {
			pen = false;
			return;
		}
		d += `${pen ? "L" : "M"}${x(t).toFixed(1)} ${y(v).toFixed(1)}`;
		pen = true;
	});
	return d;
}

function close(times, values, x, ground) {
	const known = times.filter((_, i) => values[i] !== null);
	return known.length ? `L${x(known.at(-1)).toFixed(1)} ${ground}L${x(known[0]).toFixed(1)} ${ground}Z` : "";
}
