// Sessions with what they keep, and grants to take back.

import { get, remove } from "./api.js";
import { bytes, clock, count, h, plain, visible } from "./dom.js";
import { announce, ask, empty, facts, fail } from "./parts.js";
import { address } from "./route.js";
import { changed, openApprovals, store } from "./store.js";
import { T } from "./strings.js";
import * as live from "./live.js";

const view = { sessions: null, grants: null, busy: "", timer: 0, active: false };

export const title = () => (openApprovals().length ? `(${openApprovals().length}) ` : "") + T.pages.sessions;

async function load() {
	try {
		const [s, g] = await Promise.all([get("/v1/sessions"), get("/v1/grants")]);
		const known = new Map((view.sessions || []).map((x) => [x.room, x]));
		view.sessions = s.sessions.map((x) => ({ ...x, bytes: known.get(x.room)?.bytes, files: known.get(x.room)?.files }));
		view.grants = g.grants;
	} catch (problem) {
		fail(problem);
		view.sessions ||= [];
		view.grants ||= [];
	}
	changed();
}

/** A task that begins or ends, or an answer, may change them. */
function soon() {
	if (!view.active || view.timer) return;
	view.timer = setTimeout(() => {
		view.timer = 0;
		if (view.active) load();
	}, 1500);
}
live.on("approval", soon);
live.on("task", (t) => store.tasks.get(t.task_id)?.running !== t.running && soon());

export function enter() {
	view.active = true;
	load();
}
export function leave() {
	view.active = false;
}

async function measure(s) {
	try {
		const { sessions } = await get(`/v1/sessions/${s.room}`);
		Object.assign(s, { bytes: sessions[0]?.bytes, files: sessions[0]?.files });
	} catch (problem) {
		fail(problem);
	}
	changed();
}

async function end(s) {
	const body = document.createElement("code");
	body.textContent = plain(s.session);
	if (!(await ask({ title: T.sessions.endTitle, text: T.sessions.endText, yes: T.sessions.endYes, body }))) return;
	try {
		await remove(`/v1/sessions/${s.room}`);
		announce(T.sessions.ended);
	} catch (problem) {
		fail(problem);
	}
	load();
}

async function takeBack(g) {
	const body = document.createElement("code");
	body.textContent = plain(g.command, true);
	if (!(await ask({ title: T.approvals.takeBackTitle, text: T.approvals.takeBackText, yes: T.approvals.takeBackYes, body }))) return;
	try {
		view.grants = (await remove(`/v1/grants/${g.id}`)).grants;
		announce(T.approvals.tookBack);
	} catch (problem) {
		fail(problem);
	}
	changed();
}

export function keys(e) {
	if (e.key.toLowerCase() !== "z" || !view.grants?.length) return false;
	takeBack(view.grants[0]);
	return true;
}

export function draw() {
	const { sessions, grants } = view;
	return [
		h("header", { class: "top" }, h("h1", null, T.sessions.heading), sessions && h("p", null, T.sessions.summary(sessions.length, grants.length))),
		sessions && h("div", { class: "page" },
			sessions.length + grants.length === 0 ? h("div", { class: "sheet quiet" }, empty(T.sessions.empty, T.sessions.emptyText, T.sessions.emptyCommand))
				: [h("section", { class: "block", "aria-labelledby": "gr" }, h("h2", { id: "gr" }, T.sessions.grants), h("p", { class: "small" }, grants.length ? T.sessions.grantsText : T.sessions.noGrants),
					grants.length > 0 && h("ul", { class: "cards" }, grants.map(grant))),
				h("section", { class: "block", "aria-labelledby": "se" }, h("h2", { id: "se" }, T.sessions.sessions),
					sessions.length ? h("ul", { class: "cards" }, sessions.map(session)) : h("p", { class: "small" }, T.sessions.emptyText))]),
	];
}

function grant(g) {
	return h("li", { key: g.id, class: "card wide-card" }, h("div", { class: "grow" }, h("p", { class: "mono strong" }, visible(g.command, { lines: true })),
		h("p", { class: "chips" }, h("span", { class: "chip mono" }, visible(g.session)), g.profile && h("span", { class: "chip" }, T.tasks.profile, h("b", null, visible(g.profile))),
			h("span", { class: "chip" }, plain(g.principal) || T.you), g.sub && h("span", { class: "chip bad" }, h("b", null, T.sessions.anyWords)), !g.holds && h("span", { class: "chip" }, T.sessions.notHeld))),
	h("button", { class: "btn no slim", type: "button", onclick: () => takeBack(g) }, T.sessions.takeBack));
}

function session(s) {
	const tasks = s.tasks || [];
	return h("li", { key: s.room, class: "card" },
		h("div", { class: "row" }, h("h3", { class: "mono strong" }, visible(s.session)), h("span", { class: `tag ${s.in_use ? "r-low" : ""}` }, s.in_use ? T.sessions.inUse : T.sessions.idle),
			h("button", { class: "btn slim push", type: "button", disabled: tasks.length > 0, onclick: () => end(s) }, T.sessions.end)),
		facts([
			s.cwd && [T.sessions.directory, s.cwd, true], s.workspace && s.workspace !== s.cwd && [T.sessions.workspace, s.workspace, true], s.profile && [T.sessions.profile, visible(s.profile)],
			s.variables?.length > 0 && [T.sessions.variables, s.variables.join(", "), true],
			tasks.length > 0 && [T.sessions.tasks, tasks.map((id, i) => [i > 0 && ", ", h("a", { class: "link mono", href: address("tasks", id) }, plain(store.tasks.get(id)?.command || id).slice(0, 60))])],
			s.ports?.length > 0 && [T.sessions.ports, s.ports.join(", ")],
			[T.sessions.files, s.files !== undefined ? T.sessions.size(count(s.files), bytes(s.bytes)) : h("button", { class: "ghost slim", type: "button", onclick: () => measure(s) }, T.sessions.measure)],
		]),
		h("p", { class: "small" }, `${T.sessions.made} ${clock(s.made_ms)}, ${T.sessions.used} ${clock(s.used_ms)}`));
}
