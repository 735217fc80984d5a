// The questions that wait for a person. What is shown is never answered by accident: no answer counts within 600 ms after the shown
// question changed or moved, a long command must have been read to its end, and high risk wants the key twice or a long press.

import { post, get, remove } from "./api.js";
import { clock, h, icon, now, plain, short, since, until, visible } from "./dom.js";
import { commandBlock, copyLine, announce, ask, empty, facts, fail, matches, polite, riskTag, RISK, search, status } from "./parts.js";
import * as live from "./live.js";
import { address, go, refine } from "./route.js";
import { answeredApprovals, changed, openApprovals, store } from "./store.js";
import { T } from "./strings.js";

const GUARD_MS = 600;
const TWICE_MS = 3000;
const HOLD_MS = 800;

const view = {
	shown: "", // the question on the sheet
	digest: "", // what it looked like: a change starts the guard again
	guard: 0, // until then nothing is answered
	place: "", // where the answers were on the screen
	armed: 0, // the first key of two
	hold: 0,
	holding: "",
	seen: new Set(), // questions whose end was in view
	open: new Set(), // unfolded
	explain: false,
	reason: "",
	denying: false,
	sending: "",
	rest: null, // the order of the list while the pointer is over it
	grants: [], // ids that this page granted, the newest last
	missing: "",
};

/** What is not known is not low. */
const riskOf = (a) => (RISK[a.risk] ? a.risk : "medium");

export const title = () => {
	const n = openApprovals().length;
	return (n ? `(${n}) ` : "") + T.pages.approvals;
};

function fits(a, filter) {
	return matches(filter, plain(a.command), plain(a.principal), plain(a.description), a.session, a.risk);
}

/** Oldest first. While the pointer is over the list nothing moves under it: what was answered stays in its place. */
function waiting(filter) {
	const open = openApprovals().filter((a) => fits(a, filter));
	if (!view.rest) return open;
	const ids = new Set(view.rest);
	return [...view.rest.map((id) => store.approvals.get(id)).filter(Boolean), ...open.filter((a) => !ids.has(a.id))];
}

function pick(route) {
	const open = openApprovals();
	if (route.id) view.shown = route.id;
	else if (!view.shown || !store.approvals.has(view.shown) || (view.mine === view.shown && open[0])) view.shown = open[0]?.id || "";
	const a = store.approvals.get(view.shown);
	const digest = a ? `${a.id} ${a.state} ${a.command} ${a.risk} ${(a.pieces || []).length} ${a.answers}` : "";
	if (digest !== view.digest) {
		const other = !view.digest.startsWith(view.shown + " ");
		view.digest = digest;
		rest();
		if (other) Object.assign(view, { explain: false, reason: "", denying: false });
	}
	return a;
}

/** Nothing is answered for a while. */
function rest() {
	view.guard = performance.now() + GUARD_MS;
	disarm();
	clearTimeout(view.guardTimer);
	view.guardTimer = setTimeout(changed, GUARD_MS + 20);
}

function disarm() {
	view.armed = 0;
	clearTimeout(view.hold);
	view.holding = "";
}

/** After each change of the page: did the answers move under the finger? */
export function after() {
	const acts = document.querySelector(".acts");
	const box = acts?.getBoundingClientRect();
	const place = box ? `${view.shown} ${Math.round(box.top + (getComputedStyle(acts).position === "sticky" ? 0 : window.scrollY))} ${Math.round(box.left)} ${Math.round(box.width)}` : "";
	if (place === view.place) return;
	view.place = place;
	if (!place) return;
	rest();
	acts.classList.add("early");
	changed();
}

function mayAnswer(a, answer) {
	if (!a || a.state !== "open" || !store.me?.approve || view.sending) return false;
	if (!a.answers.includes(answer)) return false;
	return answer === "deny" || view.seen.has(a.id);
}

function tooEarly() {
	if (performance.now() >= view.guard) return false;
	announce(T.approvals.wait);
	return true;
}

async function answer(a, what, reason) {
	if (!mayAnswer(a, what)) return;
	disarm();
	view.sending = what;
	changed();
	try {
		const done = await post(`/v1/approvals/${a.id}`, { answer: what, ...(reason ? { reason } : {}) });
		store.approvals.set(done.id, done);
		if (what === "session" || what === "sub") view.grants.push(a.id);
		announce(`${T.approvals.done[what]}: ${short(a.command, 60)}`, "", what === "session" || what === "sub" ? { text: T.approvals.takeBackYes, do: takeBack } : null);
		next(a);
	} catch (problem) {
		if (problem.status === 409) {
			announce(T.approvals.elsewhere);
			get(`/v1/approvals/${a.id}`).then((x) => {
				store.approvals.set(x.id, x);
				changed();
			}).catch(fail);
		} else fail(problem);
	}
	view.sending = "";
	changed();
}

/** To the question that follows in the list, or the one that was answered if it was the last. */
function next(a) {
	const open = openApprovals();
	const after = open.find((x) => x.created_ms >= a.created_ms && x.id !== a.id) || open[0];
	if (after) show(after.id);
	else {
		view.mine = a.id; // the next question takes its place
		show("");
		view.shown = a.id;
	}
}

function show(id) {
	view.shown = id;
	if (location.hash.startsWith("#/approvals")) history.replaceState(null, "", address("approvals", id, {}));
	window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function approve(a, what, repeated) {
	if (!mayAnswer(a, what)) {
		if (a?.state === "open" && store.me?.approve && !view.seen.has(a.id)) announce(T.approvals.readFirst);
		return;
	}
	if (repeated || tooEarly()) return;
	if (riskOf(a) === "high" && (view.armed === 0 || view.armedFor !== what || performance.now() - view.armed > TWICE_MS)) {
		view.armed = performance.now();
		view.armedFor = what;
		clearTimeout(view.armTimer);
		view.armTimer = setTimeout(() => {
			view.armed = 0;
			changed();
		}, TWICE_MS);
		changed();
		return;
	}
	answer(a, what);
}

function press(e, a, what) {
	if (e.button !== 0 || !mayAnswer(a, what)) return;
	view.pressed = performance.now() >= view.guard ? what : "";
	if (riskOf(a) !== "high" || !view.pressed) return;
	view.holding = what;
	clearTimeout(view.hold);
	view.hold = setTimeout(() => {
		view.holding = "";
		if (view.pressed === what && performance.now() >= view.guard) {
			view.pressed = "";
			answer(a, what);
		}
	}, HOLD_MS);
	changed();
}

function click(e, a, what) {
	clearTimeout(view.hold);
	const held = view.holding;
	view.holding = "";
	const byKey = e.detail === 0; // Enter or the space bar on the button
	if (!byKey && !view.pressed) {
		if (performance.now() < view.guard) announce(T.approvals.wait);
		changed();
		return;
	}
	view.pressed = "";
	if (riskOf(a) === "high" && !byKey && held) {
		changed(); // a short press of a high risk is none
		announce(T.approvals.twice.slice(1).join(""));
		return;
	}
	approve(a, what, false);
}

function release() {
	if (!view.holding) return;
	clearTimeout(view.hold);
	view.holding = "";
	changed();
}

function deny(a) {
	if (!mayAnswer(a, "deny")) return;
	view.denying = true;
	changed();
	setTimeout(() => document.getElementById("reason")?.focus(), 30);
}

async function takeBack() {
	const id = view.grants.at(-1);
	if (!id) {
		const { grants } = await get("/v1/grants").catch((p) => (fail(p), { grants: [] }));
		if (grants.length) go("sessions", "", { grants: 1 });
		else announce(T.approvals.noGrant);
		return;
	}
	const a = store.approvals.get(id);
	const body = document.createElement("code");
	body.textContent = plain(a?.command || id, true);
	if (!(await ask({ title: T.approvals.takeBackTitle, text: T.approvals.takeBackText, yes: T.approvals.takeBackYes, body }))) return;
	try {
		await remove(`/v1/grants/${id}`);
		announce(T.approvals.tookBack);
	} catch (problem) {
		fail(problem);
	}
	view.grants.pop();
}

function move(by, filter) {
	const list = waiting(filter);
	if (list.length === 0) return;
	const at = list.findIndex((a) => a.id === view.shown);
	const to = list[Math.min(list.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
	show(to.id);
	setTimeout(() => document.querySelector(".ask[aria-current]")?.scrollIntoView({ block: "nearest" }), 30);
}

export function keys(e, route) {
	const a = store.approvals.get(view.shown);
	switch (e.key.toLowerCase()) {
	case "j": move(1, route.query.q); return true;
	case "k": move(-1, route.query.q); return true;
	case "a": approve(a, "once", e.repeat); return true;
	case "s": approve(a, "session", e.repeat); return true;
	case "d": if (!e.repeat) deny(a); return true;
	case "e": view.explain = !view.explain; changed(); return true;
	case "z": if (!e.repeat) takeBack(); return true;
	default: return false;
	}
}

export function enter(route) {
	view.place = "";
	if (route.id && store.ready && !store.approvals.has(route.id)) load(route.id);
	rest();
}

async function load(id) {
	if (view.missing === id) return;
	view.missing = id;
	try {
		const a = await get(`/v1/approvals/${id}`);
		store.approvals.set(a.id, a);
		view.missing = "";
	} catch (problem) {
		if (problem.status !== 404) fail(problem);
	}
	changed();
}

live.on("approval", (a) => {
	if (a.state !== "open" || view.told === a.id) return;
	view.told = a.id;
	polite(T.approvals.announce(T.approvals.riskWords[riskOf(a)]));
	if (document.hidden && live.isLeading() && wantsNotices()) {
		const n = new Notification(T.name, { body: T.approvals.notification(plain(T.approvals.from(a)), T.approvals.riskWords[riskOf(a)]), tag: a.id, icon: new URL("icon.svg", import.meta.url).href });
		n.onclick = () => {
			window.focus();
			go("approvals", a.id);
			n.close();
		};
	}
});

function wantsNotices() {
	return "Notification" in window && Notification.permission === "granted" && localStorage.getItem("nacre-notify") === "1";
}

async function toggleNotices() {
	if (wantsNotices()) localStorage.removeItem("nacre-notify");
	else {
		const answered = await Notification.requestPermission();
		if (answered === "granted") localStorage.setItem("nacre-notify", "1");
		else announce(T.approvals.notifyDenied, "bad");
	}
	changed();
}

// What is drawn.

export function draw(route) {
	const a = pick(route);
	const filter = route.query.q || "";
	const list = waiting(filter);
	const n = openApprovals().length;
	const done = answeredApprovals().filter((x) => fits(x, filter) && now() - (x.answered_ms || x.created_ms) < 86400000).slice(0, 30);
	const none = !store.ready ? null : route.id && !a ? unknown(route.id) : null;
	return [
		h("header", { class: "top" }, h("h1", null, T.approvals.heading(n)),
			search(T.approvals.filterLabel, T.approvals.filter, filter, (q) => refine(route, { q }))),
		n + done.length > 0 && tabs(list, done, route),
		h("div", { class: `split${route.query.list ? " listed" : ""}${n + done.length === 0 ? " alone" : ""}` },
			n + done.length > 0 && inbox(list, done, filter, route),
			a ? sheet(a) : none || (store.ready ? nothing() : h("div", { class: "sheet quiet", "aria-busy": "true" }))),
	];
}

function unknown(id) {
	load(id);
	return view.missing === id ? h("div", { class: "sheet quiet" }, empty(T.approvals.empty, T.approvals.unknown(id))) : h("div", { class: "sheet quiet" });
}

function nothing() {
	return h("div", { class: "sheet quiet" }, empty(T.approvals.empty, T.approvals.emptyText, T.approvals.emptyCommand,
		store.tasks.size === 0 && [h("p", null, T.approvals.emptyAgent), copyLine(T.approvals.emptyAgentCommand)]));
}

function tabs(list, done, route) {
	const at = list.findIndex((x) => x.id === view.shown);
	return h("nav", { class: "tabs", "aria-label": T.approvals.waiting },
		list.map((a, i) => h("a", { key: a.id, class: "chip", href: address("approvals", a.id), "aria-current": a.id === view.shown && !route.query.list ? "true" : null },
			a.id === view.shown && !route.query.list ? T.approvals.place(at + 1, list.length) : [h("b", null, short(a.command, 24)), " ", riskOf(a)])),
		done.length > 0 && h("a", { key: "done", class: "chip", href: address("approvals", "", { list: 1 }), "aria-current": route.query.list ? "true" : null }, T.approvals.answeredChip));
}

function inbox(list, done, filter, route) {
	return h("div", { class: "inbox", onpointerenter: (e) => {
		if (e.pointerType === "mouse") view.rest = list.map((a) => a.id);
	}, onpointerleave: () => {
		view.rest = null;
		changed();
	} },
		h("h2", { id: "w" }, T.approvals.waiting),
		h("ul", { class: "inbox", "aria-labelledby": "w" }, list.map((a) => row(a))),
		list.length === 0 && h("p", { class: "small none" }, filter ? [T.nothingFits, " ", h("button", { class: "ghost", type: "button", onclick: () => refine(route, { q: "" }) }, T.clearFilter)] : T.approvals.empty + "."),
		done.length > 0 && h("h2", { id: "d" }, T.approvals.answered),
		done.length > 0 && h("ul", { class: "inbox", "aria-labelledby": "d" }, done.map((a) => doneRow(a))),
		notices(),
		h("div", { class: "keys" }, h("span", null, h("kbd", null, "J"), " ", h("kbd", null, "K"), " ", T.approvals.move),
			h("span", null, h("kbd", null, "E"), " ", T.approvals.explain.toLowerCase()), h("span", null, h("kbd", null, "Z"), " ", T.approvals.takeBack)));
}

function notices() {
	if (!("Notification" in window) || !window.isSecureContext) return h("p", { class: "small" }, T.approvals.notifyInsecure);
	const on = wantsNotices();
	return h("div", { class: "tell" }, h("span", null, on ? T.approvals.notifyOn : T.approvals.notify),
		h("button", { type: "button", onclick: toggleNotices }, on ? T.approvals.notifyOff : T.approvals.notifyButton));
}

function row(a) {
	const answered = a.state !== "open";
	return h("li", { key: a.id }, h("a", { class: `ask ${RISK[riskOf(a)]}${answered ? " gone" : ""}`, href: address("approvals", a.id), "aria-current": a.id === view.shown ? "true" : null },
		h("span", { class: "mono" }, short(a.command)),
		h("span", { class: "meta" }, riskTag(riskOf(a), T.approvals.risk), h("span", { class: "name" }, plain(T.approvals.from(a))),
			h("span", { class: "push num" }, answered ? T.approvals.state(a) : since(a.created_ms)))));
}

function doneRow(a) {
	const no = a.answer === "deny" || a.state === "refused";
	const over = a.state === "expired";
	return h("li", { key: a.id }, h("a", { class: `ask done ${RISK[riskOf(a)]}`, href: address("approvals", a.id), "aria-current": a.id === view.shown ? "true" : null },
		status(over ? "off" : no ? "fail" : "ok", over ? "expired" : no ? "denied" : "approved"), h("span", { class: "mono" }, short(a.command)),
		h("span", { class: "meta" }, h("span", { class: "name" }, plain(T.approvals.state(a))), h("span", { class: "push num" }, clock(a.answered_ms || a.expires_ms || a.created_ms)))));
}

function sheet(a) {
	const isOpen = a.state === "open";
	const risk = RISK[riskOf(a)];
	const pieces = a.pieces?.length ? a.pieces : [{ text: a.command || "", kind: "text" }];
	const label = a.kind === "network" ? T.approvals.connect : a.kind === "file" ? `${T.approvals.change} ${plain(a.held || "")}` : T.approvals.exactly;
	return h("article", { class: "sheet", key: a.id, "aria-labelledby": "t" },
		h("header", null,
			h("div", { class: "row" }, riskTag(riskOf(a), T.approvals.riskOf),
				h("span", { class: "small push num" }, isOpen ? until(a.expires_ms, T.approvals.expires) : clock(a.answered_ms || a.expires_ms))),
			h("h2", { id: "t" }, visible(T.approvals.from(a)), " ", visible(a.title || a.reason || "")),
			h("p", { class: "by" }, a.description && ["“", visible(a.description), "”"], a.description && a.session && " · ", a.session && [T.approvals.session, " ", h("span", { class: "mono" }, visible(a.session))])),
		a.kind === "file" && h("p", { class: "held" }, T.approvals.change, " ", h("b", { class: "mono" }, visible(a.held || ""))),
		commandBlock(label, pieces, a.findings || [], { open: view.open.has(a.id), unfold: () => {
			view.open.add(a.id);
			changed();
		}, seen: () => {
			view.seen.add(a.id);
			changed();
		} }),
		h("section", null, h("h3", null, T.approvals.why),
			h("ul", { class: "why" }, (a.findings?.length ? a.findings : [{ level: riskOf(a), what: "rule", text: a.reason || "" }]).map((f) =>
				h("li", null, h("span", { class: `tag ${RISK[f.level]}` }, visible(f.what)), h("span", { class: "text" }, visible(f.text))))),
			h("p", { class: "small rule" }, rule(a))),
		h("section", { class: "facts" }, where(a), box(a)),
		view.explain && details(a),
		isOpen ? covers(a) : null,
		isOpen ? answers(a, risk) : h("section", { class: "acts over" }, h("p", null, visible(T.approvals.answeredBy(a)), "."),
			openApprovals().length > 0 && h("button", { class: "btn yes push", type: "button", onclick: () => next(a) }, T.approvals.next)));
}

function rule(a) {
	const explain = h("button", { class: "ghost", type: "button", "aria-expanded": String(view.explain), onclick: () => {
		view.explain = !view.explain;
		changed();
	} }, T.approvals.explain, h("kbd", { "aria-hidden": "true" }, "E"));
	if (!a.rule_id && !a.rule_file) return [h("span", null, visible(a.reason || "")), explain];
	return [h("span", null, `${T.approvals.rule} `, h("span", { class: "mono" }, visible(a.rule_id || "")), a.rule_file && [", ", visible(a.rule_file)], a.rule_line ? ` ${T.approvals.line(a.rule_line)}` : ""), explain];
}

function where(a) {
	const masked = (a.env || []).filter((e) => e.includes("***")).length;
	return h("div", null, h("h3", null, T.approvals.where), facts([
		[T.approvals.directory, a.cwd || a.workspace || "", true],
		a.workspace && a.cwd && a.workspace !== a.cwd && [T.approvals.workspace, a.workspace, true],
		a.programs?.length && [T.approvals.programs, a.programs.join(", "), true],
		a.reaches && [T.approvals.reaches, a.reaches, true],
		[T.approvals.input, a.terminal ? T.approvals.terminal : a.input ? h("span", { class: "mono" }, visible(short(a.input, 120))) : T.approvals.none],
		[T.approvals.variables, T.approvals.variableCount((a.env || []).length, masked)],
	]));
}

function box(a) {
	const open = a.network === "host";
	return h("div", null, h("h3", null, T.approvals.box), h("div", { class: "chips" },
		a.sandbox === "none" ? h("span", { class: "chip bad" }, h("b", null, T.approvals.noSandbox)) : a.sandbox && h("span", { class: "chip" }, h("b", null, a.sandbox), ` ${T.approvals.sandbox}`),
		a.network && h("span", { class: `chip${open ? " bad" : ""}` }, open ? h("b", null, T.approvals.network.host) : T.approvals.network[a.network]),
		a.engine && h("span", { class: `chip${a.engine === "open" ? " bad" : ""}` }, a.engine === "open" ? h("b", null, T.approvals.engine.open) : T.approvals.engine.off),
		(a.limits || []).map((l) => h("span", { class: "chip" }, visible(l)))));
}

function details(a) {
	return h("section", { class: "details" }, h("h3", null, T.approvals.details), facts([
		[T.approvals.id, a.id, true], [T.approvals.door, T.approvals.doors[a.door] || a.door || T.you], [T.approvals.asked, clock(a.created_ms, true)],
		a.profile && [T.tasks.profile, a.profile, true], a.names && T.approvals.names[a.names] && [T.approvals.files, T.approvals.names[a.names]],
		a.task_id && [T.approvals.task, h("a", { class: "link mono", href: address("tasks", a.task_id) }, a.task_id)],
	]),
	a.files?.length > 0 && [h("h3", null, T.approvals.files), h("ul", { class: "mono plain-list" }, a.files.map((f) => h("li", null, visible(f))))],
	a.env?.length > 0 && [h("h3", null, T.approvals.env), h("ul", { class: "mono plain-list" }, a.env.map((f) => h("li", null, visible(f))))],
	a.input && [h("h3", null, T.approvals.input), h("pre", { class: "mono" }, visible(a.input, { lines: true }))],
	a.kind !== "network" && a.kind !== "file" && a.command && h("p", null, h("a", { class: "link", href: address("policy", "", { line: a.command, profile: a.profile }) }, T.approvals.inPolicy)));
}

function covers(a) {
	const list = (a.covers || []).filter((c) => c.answer !== "deny" && (c.answer !== "sub" || c.offered));
	return h("section", null, h("h3", null, T.approvals.covers),
		h("div", { class: "covers" }, list.map((c) => h("div", { class: "cover" }, h("b", null, T.approvals.answers[c.answer]), visible(c.text)))));
}

function button(a, what, text, key, name, risky) {
	const off = !mayAnswer(a, what);
	const armed = view.armed > 0 && view.armedFor === what;
	const holding = view.holding === what;
	return h("button", { key: what, type: "button", class: `btn ${name}${armed ? " armed" : ""}${holding ? " holding" : ""}`, disabled: off && !view.sending,
		"aria-busy": view.sending === what ? "true" : null,
		onpointerdown: (e) => press(e, a, what), onpointercancel: release, onpointerleave: release, oncontextmenu: (e) => risky && e.preventDefault(),
		onclick: (e) => click(e, a, what) },
	view.sending === what ? T.approvals.sending : armed ? T.approvals.again.replace("A", key) : h("span", null, h("span", { class: risky ? "wide" : "" }, text), risky && h("span", { class: "narrow" }, T.approvals.hold)),
	h("kbd", { "aria-hidden": "true" }, key));
}

function answers(a, risk) {
	const high = riskOf(a) === "high";
	const early = performance.now() < view.guard;
	const unread = !view.seen.has(a.id);
	return h("section", { class: `acts ${risk}${early ? " early" : ""}${view.denying ? " denying" : ""}` },
		button(a, "once", T.approvals.approve, "A", "yes", high),
		button(a, "session", T.approvals.forSession, "S", "", false),
		a.answers.includes("sub") && h("button", { key: "sub", type: "button", class: "btn", disabled: !mayAnswer(a, "sub"), onpointerdown: (e) => press(e, a, "sub"), onclick: (e) => click(e, a, "sub") }, T.approvals.forSub),
		h("input", { id: "reason", class: "reason", "aria-label": T.approvals.reasonLabel, placeholder: T.approvals.reason, maxlength: "500", autocomplete: "off", ".value": view.reason,
			disabled: !store.me?.approve, oninput: (e) => (view.reason = e.target.value),
			onkeydown: (e) => {
				e.stopPropagation();
				if (e.key === "Enter" && !e.repeat && !e.isComposing && !tooEarly()) answer(a, "deny", view.reason.trim());
				else if (e.key === "Escape") {
					view.denying = false;
					e.target.blur();
					changed();
				}
			} }),
		h("button", { key: "deny", type: "button", class: "btn no", disabled: !mayAnswer(a, "deny"), onpointerdown: () => (view.pressed = performance.now() >= view.guard ? "deny" : ""),
			onclick: (e) => {
				if ((e.detail !== 0 && view.pressed !== "deny") || tooEarly()) return;
				const phone = matchMedia("(max-width: 760px)").matches;
				if (phone && !view.denying) deny(a);
				else answer(a, "deny", view.reason.trim());
			} }, view.denying && matchMedia("(max-width: 760px)").matches ? T.approvals.sendDeny : T.approvals.deny, h("kbd", { "aria-hidden": "true" }, "D")),
		!store.me?.approve ? h("p", { class: "twice" }, T.approvals.mayNot)
			: unread ? h("p", { class: "twice note" }, T.approvals.readFirst)
				: high && h("p", { class: "twice" }, T.approvals.twice[0], h("span", null, T.approvals.twice[1], h("kbd", null, T.approvals.twice[2]), T.approvals.twice[3])));
}
