// The frame around the pages: login, navigation, keys, what is said about the connection.

import { hasKey, onTrouble, rereadKey, send, setKey } from "./api.js";
import { clock, freeze, h, icon, patch, plain } from "./dom.js";
import { announce, copyLine, fail } from "./parts.js";
import * as live from "./live.js";
import { address, go, PAGES, parse } from "./route.js";
import { changed, loadMe, openApprovals, reset, snapshot, store, watch } from "./store.js";
import { T } from "./strings.js";
import * as approvals from "./approvals.js";
import * as tasks from "./tasks.js";
import * as sessions from "./sessions.js";
import * as audit from "./audit.js";
import * as policy from "./policy.js";
import * as metrics from "./metrics.js";
import * as doctor from "./doctor.js";

const pages = { approvals, tasks, sessions, audit, policy, metrics, doctor };
const side = document.getElementById("side");
const main = document.getElementById("main");
const bars = document.getElementById("bars");

let route = parse(location.hash);
let current = null;
let inside = false; // logged in
let loginState = { message: "", busy: false };
let drawn = false;

// Only a browser that is driven by a test may stop the clock.
if (navigator.webdriver) {
	const at = Number(new URLSearchParams(location.search).get("now"));
	if (at) freeze(at);
}

// Login.

async function login(body, wrong) {
	loginState = { message: "", busy: true };
	drawLogin();
	try {
		const answer = await (await send("POST", "/v1/console/login", { body, open: true })).json();
		setKey(answer.key);
		await begin();
	} catch (problem) {
		loginState = { message: problem.status === 401 ? wrong : T.problem(problem.message), busy: false };
		drawLogin();
	}
}

async function begin() {
	await loadMe();
	inside = true;
	document.body.classList.remove("out");
	drawn = false;
	side.replaceChildren();
	main.replaceChildren();
	patchFresh(side);
	patchFresh(main);
	live.start(snapshot);
	routed();
	draw();
}

/** What stood there was not made by patch(). */
function patchFresh(el) {
	el.replaceChildren();
	patch(el);
}

function leave(message) {
	if (!inside && document.body.classList.contains("out")) return;
	inside = false;
	current?.leave?.();
	current = null;
	setKey("");
	live.stop(true);
	reset();
	loginState = { message, busy: false };
	document.title = T.login.title;
	setIcon(false);
	patch(bars);
	drawLogin();
}

async function logout() {
	try {
		await send("POST", "/v1/console/logout", { body: {} });
	} catch { /* the login is over in any case: this page forgets it */ }
	leave("");
}

function drawLogin() {
	document.body.classList.add("out");
	document.title = T.login.title;
	patch(side);
	let token = "";
	patch(main, h("form", { class: "login sheet", autocomplete: "off", onsubmit: (e) => {
		e.preventDefault();
		if (loginState.busy) return;
		token = e.target.querySelector("input").value.trim();
		if (!token) {
			loginState = { message: T.login.empty, busy: false };
			drawLogin();
		} else login({ token }, T.login.wrong);
	} },
	h("div", { class: "brand" }, h("span", { class: "shell", "aria-hidden": "true" }), T.name),
	h("h1", null, T.login.title),
	loginState.message && h("p", { class: "notice bad", role: "alert" }, loginState.message),
	h("section", null, h("p", null, T.login.byLink), copyLine(T.login.command), h("p", null, T.login.link)),
	h("section", null, h("h2", null, T.login.or), h("label", { for: "token" }, T.login.token),
		h("input", { id: "token", name: "nacre-token", type: "password", autocomplete: "off", autocapitalize: "off", spellcheck: "false", placeholder: "nacre_…", disabled: loginState.busy }),
		h("p", { class: "small" }, T.login.make)),
	!window.isSecureContext && h("p", { class: "notice" }, T.login.insecure),
	h("button", { class: "btn yes", type: "submit", disabled: loginState.busy }, loginState.busy ? T.login.working : T.login.go)));
}

onTrouble((what) => {
	if (what === "ended") {
		if (inside) leave(T.login.ended);
	} else if (store.busy !== (what === "busy")) {
		store.busy = what === "busy";
		changed();
		if (store.busy) setTimeout(() => {
			store.busy = false;
			changed();
		}, 12000);
	}
});
live.on("login-ended", () => inside && leave(T.login.ended));
live.on("trouble", fail);

window.addEventListener("storage", (e) => {
	if (e.key !== "nacre-page") return;
	rereadKey();
	if (e.newValue && !inside) begin().catch(() => drawLogin());
	else if (!e.newValue && inside) leave(T.login.ended);
});

// Routes.

function routed() {
	if (!inside) return;
	const code = takeCode();
	if (code) return void login({ code }, T.login.used);
	const before = route;
	route = parse(location.hash);
	if (current !== pages[route.page]) {
		current?.leave?.();
		current = pages[route.page];
		current.enter?.(route);
		if (drawn) {
			window.scrollTo(0, 0);
			main.focus({ preventScroll: true });
		}
	} else if (before.id !== route.id) current.enter?.(route, before);
	draw();
}

/** The code of a link is taken out of the address before anything else happens. */
function takeCode() {
	const found = /^#in=([A-Za-z0-9_-]{16,64})$/.exec(location.hash);
	if (!found) return "";
	history.replaceState(null, "", location.pathname + location.search);
	return found[1];
}

window.addEventListener("hashchange", () => {
	if (inside) return routed();
	const code = takeCode();
	if (code) login({ code }, T.login.used);
});

// The frame.

function draw() {
	if (!inside) return;
	drawn = true;
	patch(side, drawSide());
	patch(main, current.draw(route));
	patch(bars, drawBars());
	current.after?.(route);
	document.title = `${current.title(route)} · ${T.name}`;
	setIcon(openApprovals().length > 0);
}
watch(draw);

let dotted = null;
function setIcon(dot) {
	if (dotted === dot) return;
	dotted = dot;
	document.getElementById("icon").href = new URL(dot ? "icon-dot.svg" : "icon.svg", import.meta.url).href;
}

function drawSide() {
	const asked = openApprovals().length;
	const running = [...store.tasks.values()].filter((t) => t.running).length;
	const me = store.me || {};
	const connection = live.status();
	return [
		h("div", { class: "brand" }, h("span", { class: "shell", "aria-hidden": "true" }), T.name),
		h("nav", { "aria-label": T.nav }, PAGES.map((page) =>
			h("a", { class: page === "approvals" || page === "tasks" || page === "audit" || page === "policy" ? "" : "more", href: address(page), "aria-current": page === route.page ? "page" : null },
				icon(page), h("span", null, T.pages[page]),
				page === "approvals" && asked > 0 && h("span", { class: "count hot num", "aria-label": T.open(asked) }, asked),
				page === "tasks" && running > 0 && h("span", { class: "count num", "aria-label": T.running(running) }, running))),
		h("button", { class: "nav-more", type: "button", "aria-haspopup": "dialog", onclick: more }, icon("more"), h("span", null, T.pages.more))),
		h("div", { class: "foot" },
			h("span", { class: `live ${connection.status}` }, connection.status === "live" ? T.live(me.host || location.host) : connection.status === "lost" ? T.lost : T.starting),
			h("div", { class: "row" }, h("span", { class: "name" }, T.who(plain(me.principal) || T.you, me.approve)), h("button", { class: "ghost push", type: "button", onclick: logout }, T.logout)),
			h("div", { class: "row nokeys" }, h("button", { class: "ghost", type: "button", onclick: switchTheme }, isDark() ? T.light : T.dark),
				h("button", { class: "ghost push", type: "button", "aria-label": T.keysButton, onclick: help }, h("kbd", null, "?")))),
	];
}

const isDark = () => document.documentElement.dataset.theme === "dark";

function switchTheme() {
	window.nacreTheme(isDark() ? "light" : "dark");
	changed();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);

function drawBars() {
	const connection = live.status();
	if (connection.status === "lost") return h("div", { class: "notice-bar bad", role: "status" }, h("span", null, T.lostSince(clock(connection.since, true))), h("button", { class: "btn slim", type: "button", onclick: () => window.dispatchEvent(new Event("online")) }, T.retry));
	return store.busy ? h("div", { class: "notice-bar", role: "status" }, h("span", null, T.busy)) : null;
}

// Dialogs of the frame.

function dialog(label, ...kids) {
	const el = document.createElement("dialog");
	el.setAttribute("aria-label", label);
	document.getElementById("dialogs").append(el);
	const before = document.activeElement;
	el.addEventListener("close", () => {
		el.remove();
		before?.focus?.();
	});
	el.addEventListener("click", (e) => (e.target === el || e.target.closest("a")) && el.close());
	patch(el, kids, h("div", { class: "row acts-row" }, h("button", { class: "btn push", type: "button", onclick: () => el.close() }, T.close)));
	el.showModal();
	return el;
}

function help() {
	if (document.querySelector("dialog[open]")) return;
	dialog(T.keys.title, h("h2", null, T.keys.title), h("dl", { class: "key-list" }, T.keys.rows.map((row) =>
		[h("dt", null, row.slice(0, -1).map((k, i) => [i > 0 && (row[0] === "1" ? " – " : " "), h("kbd", null, k)])), h("dd", null, row.at(-1))])));
}

/** On a phone: the pages that have no place in the bar, the theme, the end of the login. */
function more() {
	const el = dialog(T.pages.more, h("h2", null, T.pages.more), h("div", { class: "more-list" },
		["sessions", "metrics", "doctor"].map((page) => h("a", { class: "btn", href: address(page) }, icon(page), T.pages[page])),
		h("button", { class: "btn", type: "button", onclick: () => {
			switchTheme();
			el.close();
		} }, isDark() ? T.light : T.dark),
		h("button", { class: "btn", type: "button", onclick: () => {
			el.close();
			logout();
		} }, T.logout)));
}

// Keys.

function typesInto(el) {
	return el.closest?.("input:not([type=checkbox]), textarea, select, nacre-terminal, [contenteditable]");
}

window.addEventListener("keydown", (e) => {
	if (!inside || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector("dialog[open]")) return;
	if (e.key === "Escape") {
		if (typesInto(e.target) && !e.target.closest("nacre-terminal")) e.target.blur();
		return;
	}
	if (typesInto(e.target)) return;
	let done = true;
	if (e.key === "?") help();
	else if (e.key === "/") focusFilter();
	else if (/^[1-7]$/.test(e.key)) go(PAGES[Number(e.key) - 1]);
	else done = current.keys?.(e, route) || false;
	if (done) e.preventDefault();
});

function focusFilter() {
	const field = document.getElementById("find") || document.getElementById("filter");
	field?.focus();
	field?.select?.();
}

// A mistake of the page is said, not hidden; the next change draws again.
window.addEventListener("error", (e) => announce(T.problem(e.message || "error"), "bad"));
window.addEventListener("unhandledrejection", (e) => e.reason && fail(e.reason));

(async () => {
	const code = takeCode();
	if (code) return login({ code }, T.login.used);
	if (!hasKey()) return drawLogin();
	try {
		await begin();
	} catch (problem) {
		if (problem.status === 401) {
			setKey("");
			loginState.message = T.login.ended;
		} else loginState.message = T.problem(problem.message);
		drawLogin();
	}
})();
