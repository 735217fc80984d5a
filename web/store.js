// What the page knows: tasks, approvals, who we are. Views ask to be told of changes; many events make one change.

import * as live from "./live.js";
import { get } from "./api.js";
import { now, setServerTime } from "./dom.js";

export const store = { me: null, tasks: new Map(), approvals: new Map(), moreTasks: false, metrics: [], audit: [], ready: false, busy: false };

const watchers = new Set();
let planned = false;

export function watch(fn) {
	watchers.add(fn);
	return () => watchers.delete(fn);
}

/** Also for what a view itself has changed. In a hidden tab there are no frames, but its title still counts. */
export function changed() {
	if (planned) return;
	planned = true;
	const run = () => {
		planned = false;
		for (const fn of [...watchers]) fn();
	};
	if (document.hidden) setTimeout(run, 20);
	else requestAnimationFrame(run);
}

live.on("snapshot", (s) => {
	setServerTime(s.now_ms);
	if (s.tasks) {
		store.tasks = new Map(s.tasks.map((t) => [t.task_id, t]));
		store.moreTasks = Boolean(s.more_tasks);
	}
	if (s.approvals) store.approvals = new Map(s.approvals.map((a) => [a.id, a]));
	store.ready = true;
	changed();
});
live.on("task", (t) => {
	store.tasks.set(t.task_id, t);
	changed();
});
live.on("task-gone", (t) => {
	store.tasks.delete(t.task_id);
	changed();
});
live.on("approval", (a) => {
	store.approvals.set(a.id, a);
	changed();
});
live.on("audit", (r) => {
	store.audit.push(r);
	if (store.audit.length > 500) store.audit.shift();
	changed();
});
live.on("metrics", (m) => {
	store.metrics.push(m);
	if (store.metrics.length > 900) store.metrics.shift();
	changed();
});
live.on("status", changed);

/** For a tab that comes later. */
export function snapshot() {
	if (!store.ready) return [];
	return [["snapshot", { now_ms: now(), tasks: [...store.tasks.values()], more_tasks: store.moreTasks, approvals: [...store.approvals.values()] }]];
}

export function reset() {
	Object.assign(store, { me: null, tasks: new Map(), approvals: new Map(), moreTasks: false, metrics: [], audit: [], ready: false });
}

export async function loadMe() {
	store.me = await get("/v1/me");
	setServerTime(store.me.now_ms);
	changed();
}

export async function loadAllTasks() {
	const { tasks } = await get("/v1/tasks?limit=1000&state=all");
	for (const t of tasks) store.tasks.set(t.task_id, t);
	store.moreTasks = false;
	changed();
}

export function openApprovals() {
	return [...store.approvals.values()].filter((a) => a.state === "open").sort((a, b) => a.created_ms - b.created_ms || (a.id < b.id ? -1 : 1));
}

export function answeredApprovals() {
	return [...store.approvals.values()].filter((a) => a.state !== "open")
		.sort((a, b) => (b.answered_ms || b.created_ms) - (a.answered_ms || a.created_ms));
}
