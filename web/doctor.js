// What this machine allows, and what to do about the rest.

import { get } from "./api.js";
import { h, visible } from "./dom.js";
import { copyLine, facts, fail, status } from "./parts.js";
import { changed, openApprovals } from "./store.js";
import { T } from "./strings.js";

const view = { report: null, busy: false };

export const title = () => (openApprovals().length ? `(${openApprovals().length}) ` : "") + T.pages.doctor;

export async function enter() {
	view.busy = true;
	changed();
	try {
		view.report = await get("/v1/doctor");
	} catch (problem) {
		fail(problem);
	}
	view.busy = false;
	changed();
}

/** A sentence with `commands` in it: each gets a line of its own to copy. */
function remedy(text) {
	const parts = String(text).split(/`([^`]+)`/);
	const commands = parts.filter((_, i) => i % 2 === 1);
	return [h("p", null, parts.map((p, i) => (i % 2 ? h("code", null, visible(p)) : visible(p)))), commands.filter((c) => c.includes(" ")).map((c) => copyLine(c))];
}

const mark = (good, label) => status(good ? "ok" : "fail", label || (good ? T.doctor.works : T.doctor.fails));
const words = (name) => name.replaceAll("_", " ");

export function draw() {
	const r = view.report;
	return [
		h("header", { class: "top" }, h("h1", null, T.doctor.heading), h("p", { class: "wide" }, T.doctor.summary),
			h("button", { class: "btn slim push", type: "button", disabled: view.busy, onclick: enter }, view.busy ? T.loading : T.doctor.again)),
		r && h("div", { class: "page", "aria-busy": String(view.busy) }, mend(r), h("div", { class: "columns" }, machine(r), trials(r), profiles(r), engines(r))),
	];
}

function mend(r) {
	const list = Object.entries(r.remedies || {});
	const broken = (r.profiles || []).filter((p) => p.error);
	const strict = r.tier === "strict";
	return h("section", { class: "sheet block-sheet" }, h("header", null, h("div", { class: "row" }, status(strict ? "ok" : r.tier === "none" ? "fail" : "wait", T.doctor.tierName), h("h2", null, T.doctor.tier[r.tier] || r.tier))),
		list.length + broken.length === 0 ? h("section", null, h("p", null, T.doctor.nothing))
			: h("section", null, h("h3", null, T.doctor.mend), h("ul", { class: "mend" }, list.map(([layer, text]) => h("li", { key: layer }, h("b", null, words(layer)), remedy(text))),
				broken.map((p) => h("li", null, h("b", null, p.profile), remedy(p.error))))));
}

function machine(r) {
	return h("section", { class: "card" }, h("h2", null, T.doctor.kernel), facts([
		[T.doctor.kernel, `${r.kernel.release}, ${r.kernel.machine}`], [T.doctor.user, [r.root ? T.doctor.root : T.doctor.ordinary, r.container && `, ${T.doctor.inContainer}`]],
		["Landlock", r.landlock_abi > 0 ? `ABI ${r.landlock_abi}` : T.doctor.no], ["seccomp", r.seccomp ? T.doctor.yes : T.doctor.no],
		r.cgroup && [T.doctor.limits, T.doctor.cgroup(r.cgroup)], [T.doctor.network, r.network_names || T.doctor.no],
		r.rooms && [T.doctor.rooms, [r.rooms.files ? T.doctor.yes : T.doctor.no]],
	]));
}

function trials(r) {
	return h("section", { class: "card" }, h("h2", null, T.doctor.trials), h("ul", { class: "checks" }, Object.entries(r.trials || {}).map(([name, t]) =>
		h("li", { key: name }, mark(t.works), h("span", null, words(name)), !t.works && (t.problem || t.reason) && h("span", { class: "small" }, visible(t.problem || t.reason))))));
}

function profiles(r) {
	return h("section", { class: "card" }, h("h2", null, T.doctor.profiles), h("ul", { class: "checks" }, (r.profiles || []).map((p) =>
		h("li", { key: p.profile }, mark(p.runs, p.runs ? T.doctor.runs : T.doctor.runsNot), h("span", null, h("b", null, visible(p.profile)), p.tier && ` ${p.tier}`),
			p.missing?.length > 0 && h("span", { class: "small" }, `${T.doctor.without} ${p.missing.map(words).join(", ")}`)))));
}

function engines(r) {
	return r.engines?.length > 0 && h("section", { class: "card" }, h("h2", null, T.doctor.engines), h("ul", { class: "checks" }, r.engines.map((e) =>
		h("li", { key: e.client }, status(e.problem ? "off" : "ok", e.state), h("span", null, h("b", null, e.client), e.engine && ` ${e.engine}`), e.problem && h("div", { class: "small remedy" }, remedy(e.problem))))));
}
