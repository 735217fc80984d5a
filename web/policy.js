// The playground: what would be decided about a line, and why. Nothing runs.

import { get, post } from "./api.js";
import { h, plain, visible } from "./dom.js";
import { fail, status } from "./parts.js";
import { refine } from "./route.js";
import { changed, openApprovals, store } from "./store.js";
import { T } from "./strings.js";

const view = { line: "", profile: "", answer: null, problem: "", asked: "", timer: 0, profiles: null, about: null, hot: -1 };

export const title = () => (openApprovals().length ? `(${openApprovals().length}) ` : "") + T.pages.policy;

export function enter(route) {
	const { line, profile } = route.query;
	if (line !== undefined) view.line = line;
	view.profile = profile || view.profile || store.me?.profiles?.[0] || "bash";
	if (!view.profiles) get("/v1/profiles").then((p) => {
		view.profiles = p.profiles;
		changed();
	}).catch(fail);
	loadProfile();
	judge();
}

async function loadProfile() {
	const name = view.profile;
	if (view.about?.name === name) return;
	try {
		const about = await get(`/v1/profiles/${encodeURIComponent(name)}`);
		if (view.profile === name) view.about = about;
	} catch (problem) {
		view.about = { name, rules: [], examples: [], layers: [] };
		if (problem.status !== 404) fail(problem);
	}
	changed();
}

async function judge() {
	const asked = `${view.profile}\n${view.line}`;
	if (!view.line.trim()) {
		Object.assign(view, { answer: null, problem: "", asked: "" });
		return changed();
	}
	if (view.asked === asked) return;
	view.asked = asked;
	try {
		const answer = await post("/v1/explain", { command: view.line, profile: view.profile }, { patient: true });
		if (view.asked === asked) Object.assign(view, { answer, problem: "", judged: view.line });
	} catch (problem) {
		if (view.asked === asked) Object.assign(view, { answer: null, problem: problem.message });
	}
	changed();
}

/** 150 ms after the last key. */
function typed(route, line) {
	view.line = line;
	clearTimeout(view.timer);
	view.timer = setTimeout(() => {
		refine(route, { line: view.line, profile: view.profile });
		judge();
	}, 150);
}

function choose(route, change) {
	Object.assign(view, change);
	refine(route, { line: view.line, profile: view.profile });
	loadProfile();
	judge();
}

// Offsets of the server are bytes of UTF-8.
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function parts(line, cuts) {
	const raw = encoder.encode(line);
	const at = [...new Set([0, raw.length, ...cuts.filter((n) => n > 0 && n < raw.length)])].sort((a, b) => a - b);
	return at.slice(1).map((end, i) => ({ from: at[i], to: end, text: decoder.decode(raw.subarray(at[i], end)) }));
}

const NAMES = { allow: "ok", ask: "wait", deny: "fail", nudge: "wait" };
const VERDICTS = { allow: "r-low", ask: "r-mid", deny: "r-high", nudge: "r-mid" };

export function draw(route) {
	const offered = store.me?.profiles || [];
	const profiles = view.profiles?.length ? view.profiles : offered.map((name) => ({ name, offered: true }));
	return [
		h("header", { class: "top" }, h("h1", null, T.policy.heading), h("p", { class: "wide" }, T.policy.summary)),
		h("div", { class: "page policy" },
			h("div", { class: "playground" },
				h("label", { class: "field grow" }, h("span", null, T.policy.line), h("textarea", { id: "filter", class: "mono", rows: String(Math.min(8, Math.max(2, view.line.split("\n").length))), spellcheck: "false", autocapitalize: "off", autocomplete: "off",
					placeholder: T.policy.placeholder, ".value": view.line, oninput: (e) => typed(route, e.target.value) })),
				h("label", { class: "field" }, h("span", null, T.policy.profile), h("select", { ".value": view.profile, onchange: (e) => choose(route, { profile: e.target.value }) },
					profiles.map((p) => h("option", { value: p.name, selected: p.name === view.profile, disabled: p.offered === false }, p.name))))),
			examples(route),
			h("div", { class: "columns wide-left" }, h("div", { class: "stack" }, verdict(), tree()), h("div", { class: "stack" }, box(), hosts(), aboutProfile()))),
	];
}

function examples(route) {
	const shown = view.about?.examples?.length ? pickExamples(view.about.examples) : Object.entries(T.policy.exampleLines).map(([verdict, command]) => ({ verdict, command }));
	return h("div", { class: "chips examples", role: "group", "aria-label": T.policy.examples }, shown.map((e) =>
		h("button", { type: "button", class: "chip mono", onclick: () => choose(route, { line: e.command }) }, h("span", { class: `dot ${VERDICTS[e.verdict] || ""}`, "aria-hidden": "true" }), plain(e.command).slice(0, 60))));
}

/** Two of each verdict. */
function pickExamples(list) {
	return ["allow", "ask", "nudge", "deny"].flatMap((v) => list.filter((e) => e.verdict === v && e.command.length < 60).slice(0, 2));
}

function ruleText(rule) {
	return rule ? [`${T.policy.rule} `, h("span", { class: "mono" }, visible(rule.id)), rule.file && [", ", visible(rule.file)], rule.line ? ` ${T.approvals.line(rule.line)}` : ""] : T.policy.noRule;
}

function verdict() {
	const a = view.answer;
	if (view.problem) return h("section", { class: "sheet quiet" }, h("p", { class: "none" }, `${T.policy.unread}: ${plain(view.problem)}`));
	if (!a) return h("section", { class: "sheet quiet" }, h("p", { class: "none" }, T.policy.empty));
	return h("section", { class: `sheet verdict ${VERDICTS[a.verdict]}`, "aria-live": "polite" },
		h("header", null, h("div", { class: "row" }, status(NAMES[a.verdict], a.verdict), h("h2", null, T.policy.verdicts[a.verdict] || a.verdict), h("span", { class: "small" }, T.policy.verdictWords[a.verdict]))),
		source(a),
		h("section", null, a.reason && h("p", null, visible(a.reason)), h("p", { class: "small rule" }, ruleText(a.rule)),
			a.error && h("p", { class: "problem" }, visible(a.error.message)),
			T.policy.status[a.status] && h("p", { class: "small" }, T.policy.status[a.status]), a.left_to_sandbox && h("p", { class: "small" }, T.policy.toSandbox),
			a.recommended?.length > 0 && h("p", null, `${T.policy.instead}: `, a.recommended.map((r, i) => [i > 0 && ", ", h("code", null, visible(r))]))),
		a.canonical && h("section", null, h("details", null, h("summary", null, T.policy.canonical), h("pre", { class: "mono wrap" }, visible(a.canonical, { lines: true })))));
}

/** The line itself: each command in the colour of its verdict, a mistake where it is. */
function source(a) {
	const line = view.judged ?? view.line;
	const commands = a.commands.filter((c) => c.end > c.start);
	const hot = view.hot;
	const cuts = [...commands.flatMap((c) => [c.start, c.end]), ...(a.error ? [a.error.start, Math.max(a.error.end, a.error.start + 1)] : [])];
	return h("pre", { class: "source mono", tabindex: "0", "aria-label": T.policy.line }, parts(line, cuts).map((p) => {
		const bad = a.error && p.from >= a.error.start && p.to <= Math.max(a.error.end, a.error.start + 1);
		const c = commands.filter((x) => x.start <= p.from && x.end >= p.to).sort((x, y) => x.end - x.start - (y.end - y.start))[0];
		const index = c ? a.commands.indexOf(c) : -1;
		return h("span", { class: [bad && "wrong", c && VERDICTS[c.verdict], c && "judged", index >= 0 && index === hot && "hot"].filter(Boolean).join(" ") }, visible(p.text, { lines: true }));
	}));
}

function tree() {
	const a = view.answer;
	if (!a) return null;
	const roots = a.tree || [];
	return h("section", { class: "sheet", "aria-labelledby": "tree" }, h("header", null, h("h2", { id: "tree" }, T.policy.tree)),
		h("section", null, roots.length ? h("ul", { class: "tree" }, roots.map((n) => node(n, a, 0))) : h("ul", { class: "tree" }, a.commands.map((c, i) => h("li", null, found(c, i))))));
}

function node(n, a, depth) {
	const command = n.command !== undefined && n.command !== null ? a.commands[n.command] : null;
	const kids = depth < 24 ? n.children || [] : [];
	const kind = n.kind === "word" || n.kind === "assignment" || n.kind === "redirect" ? "small-node" : "";
	return h("li", { class: kind, onpointerenter: () => command && light(n.command), onpointerleave: () => command && light(-1) },
		h("div", { class: "node" }, h("span", { class: `kind ${command ? VERDICTS[command.verdict] : ""}` }, n.kind), h("code", null, visible(n.text)), n.what && h("span", { class: "what" }, visible(n.what))),
		command && found(command, n.command, true), kids.length > 0 && h("ul", null, kids.map((k) => node(k, a, depth + 1))));
}

function light(index) {
	view.hot = index;
	changed();
}

function found(c, i, brief) {
	return h("div", { class: `found ${VERDICTS[c.verdict]}` }, h("span", { class: `tag ${VERDICTS[c.verdict]}` }, c.verdict),
		!brief && h("code", null, visible(c.words.map((w) => w ?? "?").join(" "))), c.via && h("span", { class: "small" }, T.policy.via(plain(c.via))),
		h("span", { class: "small" }, c.reason ? visible(c.reason) : null, c.reason && " ", c.rule && h("span", { class: "mono" }, visible(c.rule.id))));
}

function box() {
	const b = view.answer?.box;
	if (!b) return null;
	return h("section", { class: "card" }, h("h2", null, T.policy.box), h("div", { class: "chips" },
		h("span", { class: `chip${b.tier === "none" ? " bad" : ""}` }, b.tier === "none" ? h("b", null, T.approvals.noSandbox) : [h("b", null, b.tier), ` ${T.approvals.sandbox}`]),
		h("span", { class: `chip${b.network === "host" ? " bad" : ""}` }, b.network === "host" ? h("b", null, T.approvals.network.host) : T.approvals.network[b.network]),
		h("span", { class: `chip${b.engine === "open" ? " bad" : ""}` }, b.engine === "open" ? h("b", null, T.approvals.engine.open) : T.approvals.engine.off),
		(b.limits || []).map((l) => h("span", { class: "chip" }, visible(l)))),
	b.writable?.length > 0 && h("p", { class: "small" }, `${T.policy.writable} `, b.writable.map((w, i) => [i > 0 && ", ", h("span", { class: "mono" }, visible(w))])));
}

function hosts() {
	const list = view.answer?.hosts;
	return list?.length > 0 && h("section", { class: "card" }, h("h2", null, T.policy.hosts), h("ul", { class: "checks" }, list.map((x) =>
		h("li", null, h("span", { class: `tag ${VERDICTS[x.verdict]}` }, x.verdict), h("span", { class: "mono" }, visible(x.name), x.port ? `:${x.port}` : ""), x.reason && h("span", { class: "small" }, visible(x.reason)),
			x.runner_up && h("span", { class: "small" }, `${T.policy.whyNot}: `, h("span", { class: "mono" }, visible(x.runner_up.entry)), `, ${x.runner_up.list}`)))));
}

function aboutProfile() {
	const p = view.about;
	if (!p) return null;
	return h("section", { class: "card" }, h("h2", null, visible(p.name)), p.description && h("p", null, visible(p.description)),
		h("p", { class: "small" }, p.file ? visible(p.file) : T.policy.shipped),
		p.layers?.length > 1 && h("p", { class: "small" }, `${T.policy.layers}: `, visible(p.layers.join(", "))),
		p.rules?.length > 0 && h("details", null, h("summary", null, T.policy.showRules(p.rules.length)), h("ul", { class: "rules" }, p.rules.map((r) =>
			h("li", { class: view.answer?.rule?.id === r.id ? "at" : "" }, h("span", { class: `tag ${VERDICTS[r.list]}` }, r.list), h("span", { class: "mono" }, visible(r.id)), r.reason && h("span", { class: "small" }, visible(r.reason)))))),
		p.text && h("details", null, h("summary", null, T.policy.source), h("pre", { class: "mono source-text", tabindex: "0" }, visible(p.text, { lines: true }))));
}
