// <nacre-log>: the output of a task. At most 5,000 lines are in the page: while it follows, the last ones; when somebody reads further
// up, a window of earlier ones, loaded from where the output was passing when its lines were counted.
//
//	window: lines[first .. first + 5000)   tail: the last 5,000, always read on, also while the window is elsewhere
//	checkpoints: offset -> number of the line there

import { send } from "./api.js";
import { count, bytes } from "./dom.js";
import { EventParser } from "./events.js";
import * as live from "./live.js";
import { runNodes } from "./paint.js";
import { Sgr } from "./sgr.js";
import { T } from "./strings.js";

const LINES_MAX = 5000;
const STEP = 2500; // lines that come at once when somebody scrolls up
const WHOLE_MAX = 4 << 20; // bytes that are read from the beginning, so that the lines have numbers
const TAIL = 1 << 20; // of a longer output
const SEEK_MAX = 64 << 20; // to find a line by its number
const MARKS_MAX = 2048;

/** Events of the output from SINCE on, in the order in which it was written; ends at byte UNTIL, when TAKE() returns false, or with the task. */
export async function readOutput(id, since, until, take, signal) {
	const stop = new AbortController();
	const onAbort = () => stop.abort();
	signal?.addEventListener("abort", onAbort);
	try {
		const response = await send("GET", `/v1/tasks/${id}/output?since=${since}&stream=both&colour=1&follow=1`,
			{ headers: { Accept: "text/event-stream" }, signal: stop.signal });
		const reader = response.body.getReader();
		let ended = false;
		const parser = new EventParser((e) => {
			if (ended) return;
			const data = JSON.parse(e.data);
			if (e.type === "end") ended = true;
			if (e.type !== "output") return;
			const next = /^\d+$/.test(e.id) ? Number(e.id) : since;
			if (take({ stream: data.stream, text: data.text, missing: data.missing_bytes, next }) === false || next >= until) ended = true;
		});
		while (!ended) {
			const { done, value } = await reader.read();
			if (done) break;
			parser.push(value);
		}
	} catch (error) {
		if (signal?.aborted || error.name !== "AbortError") throw error;
	} finally {
		signal?.removeEventListener("abort", onAbort);
		stop.abort();
	}
}

/** Two streams make one list of lines; a line stands where it began. */
class Reading {
	constructor(number, add) {
		this.number = number; // of the next line that begins
		this.streams = {};
		this.add = add;
	}

	push(piece) {
		if (piece.missing) {
			this.stream(piece.stream).push(`\n`.repeat(this.stream(piece.stream).line ? 1 : 0));
			this.add({ no: null, gap: piece.missing, line: null, stream: piece.stream });
		} else if (piece.text) this.stream(piece.stream).push(piece.text);
	}

	stream(name) {
		if (!this.streams[name]) this.streams[name] = new Sgr((line) => this.add({ no: this.number++, line, stream: name, el: null }));
		return this.streams[name];
	}

	isOpen() {
		return Object.values(this.streams).some((s) => s.line);
	}

	end() {
		Object.values(this.streams).forEach((s) => s.end());
	}
}

class Log extends HTMLElement {
	connectedCallback() {
		if (this.out) return;
		this.out = document.createElement("div");
		this.out.className = "out";
		this.out.tabIndex = 0;
		this.out.setAttribute("role", "log");
		this.out.setAttribute("aria-live", "off");
		this.out.setAttribute("aria-label", T.tasks.output);
		this.head = bar("cut", () => this.earlier());
		this.foot = bar("cut later", () => this.toEnd());
		this.out.append(this.head, this.foot);
		this.append(this.out);
		this.out.addEventListener("scroll", () => this.onScroll(), { passive: true });
		this.out.addEventListener("wheel", (e) => e.deltaY < 0 && this.setFollow(false), { passive: true });
		this.out.addEventListener("click", (e) => this.onClick(e));
		this.out.addEventListener("keydown", (e) => this.onKey(e));
	}

	disconnectedCallback() {
		this.close();
	}

	/** OPTIONS: {follow, wrap, errors, line}. Called again for the same task, it changes only these. */
	set view(options) {
		this.connectedCallback();
		const task = options.task;
		this.out.classList.toggle("wrap", options.wrap);
		this.out.classList.toggle("errors", options.errors);
		if (this.id_ === task.task_id) this.bars();
		if (this.id_ !== task.task_id) {
			this.close();
			this.open(task, options);
		} else {
			this.task = task;
			if (options.follow !== this.following) this.setFollow(options.follow, true);
			if (options.line && options.line !== this.linked && options.line !== this.marked) {
				this.at = options.line;
				this.following = false;
				this.plan();
			}
		}
		this.linked = options.line;
		this.say = options.say;
		if (options.find !== this.find) this.setFind(options.find);
		this.total = task.stdout_bytes + task.stderr_bytes;
	}

	async open(task, options) {
		this.id_ = task.task_id;
		this.task = task;
		this.total = task.stdout_bytes + task.stderr_bytes;
		this.following = options.follow && !options.line;
		this.at = options.line || 0;
		this.say = options.say;
		this.attached = true;
		this.tail = [];
		this.lines = [];
		this.dropped = 0; // lines of the tail that have left it
		this.marks = [];
		this.queue = [];
		this.stop = new AbortController();
		this.start = options.start ?? (this.total > WHOLE_MAX && !(options.line && this.total < SEEK_MAX) ? this.total - TAIL : 0);
		this.counted = this.start === 0;
		this.next = this.start;
		this.ended = false;
		this.reading = new Reading(1, (entry) => this.added(entry));
		this.skipFirst = !this.counted; // it begins in the middle of a line
		this.busy = false;
		const id = this.id_;
		this.off = [
			live.on("output", (e) => e.task_id === id && this.arrived(e)),
			live.on("output-end", (e) => e.task_id === id && this.finished(e)),
		];
		live.wantOutput(id, this.start);
		// Another tab may follow it already, further on: what lies between is fetched.
		this.late = setTimeout(() => this.next === this.start && !this.ended && this.catchUp(Infinity), 1500);
	}

	close() {
		clearTimeout(this.late);
		(this.off || []).forEach((off) => off());
		this.off = [];
		this.stop?.abort();
		this.queue = [];
		if (this.id_) live.unwant(this.id_);
		this.id_ = null;
		this.clear();
		this.lines = [];
		this.tail = [];
	}

	arrived(e) {
		if (e.next <= this.next) return;
		if (e.from !== this.next || this.busy) {
			if (!this.busy) this.catchUp(e.next);
			else this.wantsMore = e.next;
			return;
		}
		this.take(e.from, e.pieces);
		this.next = e.next;
	}

	async catchUp(until) {
		if (this.busy) return;
		this.busy = true;
		const goal = until === Infinity ? this.total : until;
		try {
			if (goal > this.next)
				await readOutput(this.id_, this.next, goal, (p) => {
					this.take(this.next, [p]);
					this.next = p.next;
				}, this.stop.signal);
		} catch (problem) {
			if (!this.stop.signal.aborted && problem.name !== "AbortError") this.say?.({ problem });
		}
		this.busy = false;
		const more = this.wantsMore;
		this.wantsMore = 0;
		if (more > this.next && !this.stop.signal.aborted) this.catchUp(more);
	}

	async finished(e) {
		if (e.gone) this.say?.({ gone: true });
		if (e.next > this.next) await this.catchUp(e.next);
		this.ended = true;
		this.plan();
	}

	take(from, pieces) {
		this.queue.push({ from, pieces });
		this.plan();
	}

	plan() {
		if (this.planned) return;
		this.planned = true;
		const run = () => {
			this.planned = false;
			if (this.id_) this.work();
		};
		if (document.hidden) setTimeout(run, 50);
		else requestAnimationFrame(run);
	}

	/** Reads for at most a part of a frame, so that a flood leaves the page alive. */
	work() {
		const end = performance.now() + 12;
		while (this.queue.length > 0 && performance.now() < end) {
			const { from, pieces } = this.queue.shift();
			this.mark(from);
			for (const piece of pieces) this.reading.push(piece);
		}
		if (this.queue.length > 0) this.plan();
		else if (this.ended) this.reading.end();
		this.show();
	}

	mark(offset) {
		const last = this.marks[this.marks.length - 1];
		if (last && this.reading.number - last.no < 200) return;
		this.marks.push({ offset, no: this.reading.number, mid: this.reading.isOpen() });
		if (this.marks.length > MARKS_MAX) this.marks = this.marks.filter((_, i) => i % 2 === 0);
	}

	added(entry) {
		if (this.skipFirst) {
			this.skipFirst = false;
			this.reading.number = 1;
			return;
		}
		this.tail.push(entry);
		if (this.tail.length > LINES_MAX + 500) {
			this.dropped += this.tail.length - LINES_MAX;
			this.tail.splice(0, this.tail.length - LINES_MAX);
		}
	}

	/** The window follows the tail, or stays where somebody reads. */
	show() {
		if (this.attached && !this.following && this.tail.length > 0 && this.lines.length > 0 && this.tail[0] !== this.lines[0] &&
				this.tail.at(-1).no - (this.lines[0].no || 0) > LINES_MAX) this.attached = false;
		if (this.attached) this.setLines(this.tail);
		this.paint(this.lines);
		this.bars();
		if (this.at) this.goToLine();
		if (this.following) this.toBottom();
		if (this.find) this.paintHits();
		this.tell();
	}

	setLines(list) {
		const old = this.lines;
		if (list !== old || old.length !== list.length) {
			const keep = new Set(list);
			for (const entry of old) if (entry.el && !keep.has(entry)) {
				entry.el.remove();
				entry.el = null;
			}
		}
		const fresh = document.createDocumentFragment();
		for (const entry of list) if (!entry.el) {
			entry.el = this.build(entry);
			fresh.append(entry.el);
		}
		if (fresh.childNodes.length > 0) this.foot.before(fresh);
		this.lines = list.slice();
	}

	build(entry) {
		const el = document.createElement("div");
		el.className = entry.gap ? "gap" : entry.stream === "stderr" ? "err" : "";
		if (entry.gap) el.textContent = T.tasks.gap(bytes(entry.gap));
		return el;
	}

	paint(list) {
		for (const entry of list) {
			const line = entry.line;
			if (!line || (!line.dirty && entry.painted)) continue;
			const nodes = [number(this.counted ? String(entry.no) : "…" + entry.no)];
			for (const [text, style] of line.runs) runNodes(text, style, nodes);
			if (line.cut) nodes.push(note(T.tasks.cut(count(line.cut))));
			entry.el.replaceChildren(...nodes);
			line.dirty = false;
			entry.painted = true;
			entry.el.classList.toggle("at", entry.no === this.marked);
		}
	}

	bars() {
		const first = this.lines.find((e) => e.no);
		const above = first ? first.no - 1 : 0;
		const more = this.counted ? above > 0 : this.start > 0;
		this.head.hidden = !more;
		this.head.firstChild.textContent = this.loading ? T.tasks.loading : this.counted ? T.tasks.above(count(above)) : T.tasks.bytesAbove(bytes(this.start));
		const below = this.attached ? 0 : this.reading.number - 1 - (this.lines.at(-1)?.no || 0);
		this.foot.hidden = this.attached;
		this.foot.firstChild.textContent = T.tasks.below(count(Math.max(0, below)));
		const errors = this.out.classList.contains("errors");
		const empty = errors ? !this.lines.some((e) => e.stream === "stderr") : this.lines.length === 0;
		this.out.classList.toggle("empty", empty);
		this.out.dataset.empty = !empty ? "" : errors ? T.tasks.noErrors : this.ended ? T.tasks.noOutput : T.tasks.noOutputYet;
	}

	tell() {
		const state = { lines: this.reading.number - 1, counted: this.counted, follow: this.following, marked: this.marked, hits: this.hits?.length };
		const name = JSON.stringify(state);
		if (name === this.told) return;
		this.told = name;
		this.say?.({ state });
	}

	clear() {
		for (const entry of this.lines || []) if (entry.el) {
			entry.el.remove();
			entry.el = null;
			entry.painted = false;
		}
		this.lines = [];
	}

	// Where one looks.

	toBottom() {
		this.bottom = this.out.scrollHeight - this.out.clientHeight;
		this.out.scrollTop = this.bottom;
	}

	setFollow(yes, quiet) {
		if (yes === this.following) return;
		this.following = yes;
		if (yes) this.toEnd();
		if (!quiet || yes) this.tell();
	}

	onScroll() {
		const left = this.out.scrollHeight - this.out.clientHeight - this.out.scrollTop;
		const up = this.out.scrollTop < (this.lastTop ?? 0) - 1;
		this.lastTop = this.out.scrollTop;
		if (this.following && up && left > 24) this.setFollow(false);
		else if (!this.following && !up && left < 3 && this.attached && this.task.running && !this.at) this.setFollow(true);
		if (up && this.out.scrollTop < 60 && !this.head.hidden) this.earlier();
		else if (!up && left < 60 && !this.attached && !this.loading) this.later();
	}

	toEnd() {
		if (!this.attached) {
			this.clear();
			this.attached = true;
			this.tail.forEach((e) => (e.painted = false));
		}
		if (this.task.running) this.following = true;
		this.show();
		this.toBottom();
	}

	earlier() {
		const first = this.lines.find((e) => e.no);
		if (!first || this.loading) return;
		if (!this.counted) {
			this.fromHere(Math.max(0, this.start - TAIL));
			return;
		}
		if (first.no <= 1) return;
		this.load(Math.max(1, first.no - STEP), first.no);
	}

	later() {
		const last = this.lines.at(-1);
		if (!last || !last.no || this.loading) return;
		if (this.tail[0] && last.no + STEP >= this.tail[0].no) {
			const keep = last.no;
			this.clear();
			this.attached = true;
			this.tail.forEach((e) => (e.painted = false));
			this.show();
			this.lines.find((e) => e.no === keep)?.el.scrollIntoView({ block: "end" });
		} else this.load(Math.max(1, last.no - STEP), last.no);
	}

	/** A longer output from an earlier byte on; its lines have no numbers of their own. */
	fromHere(offset) {
		const { task, say } = this;
		this.close();
		this.open(task, { follow: false, say, start: offset });
	}

	mostEarlier(no) {
		let found = { offset: 0, no: 1, mid: false };
		for (const m of this.marks) if (m.no + (m.mid ? 1 : 0) <= no) found = m;
		return found;
	}

	/** A window of lines from number FROM on; line STAY keeps its place on the screen. */
	async load(from, stay) {
		this.loading = true;
		this.bars();
		const mark = this.mostEarlier(from);
		const list = [];
		let skip = mark.mid;
		const reading = new Reading(mark.mid ? mark.no - 1 : mark.no, (entry) => {
			if (skip) skip = false;
			else if (entry.no >= from || entry.gap) list.push(entry);
		});
		try {
			await readOutput(this.id_, mark.offset, this.next, (p) => {
				reading.push(p);
				return list.length < LINES_MAX;
			}, this.stop.signal);
		} catch (problem) {
			this.loading = false;
			if (problem.name !== "AbortError") this.say?.({ problem });
			this.bars();
			return;
		}
		list.length = Math.min(list.length, LINES_MAX);
		this.loading = false;
		if (list.length === 0) return;
		const before = this.lines.find((e) => e.no === stay)?.el?.getBoundingClientRect().top;
		this.attached = false;
		this.following = false;
		this.clear();
		this.setLines(list);
		this.paint(list);
		this.bars();
		const el = list.find((e) => e.no === stay)?.el;
		if (el && before !== undefined) this.out.scrollTop += el.getBoundingClientRect().top - before;
		this.lastTop = this.out.scrollTop;
		this.tell();
	}

	goToLine() {
		const no = this.at;
		if (this.reading.number <= no && !this.ended && this.queue.length > 0) return;
		const entry = this.lines.find((e) => e.no === no);
		if (!entry && no < this.reading.number && this.counted) {
			this.at = 0;
			this.marked = no;
			this.load(Math.max(1, no - 500), no).then(() => this.lines.find((e) => e.no === no)?.el?.scrollIntoView({ block: "center" }));
			return;
		}
		if (!entry) return;
		this.at = 0;
		this.markLine(no);
		entry.el.scrollIntoView({ block: "center" });
	}

	markLine(no) {
		this.marked = no;
		for (const e of this.lines) e.el?.classList.toggle("at", e.no === no);
	}

	onClick(e) {
		const away = e.target.closest("a.away");
		if (away) {
			e.preventDefault();
			this.say?.({ away: away.href });
			return;
		}
		if (!e.target.classList.contains("n")) return;
		const entry = this.lines.find((x) => x.el === e.target.parentNode);
		if (!entry || !this.counted) return;
		this.markLine(entry.no);
		this.setFollow(false);
		this.say?.({ line: entry.no });
	}

	onKey(e) {
		if (e.key === "End" && !e.ctrlKey) {
			e.preventDefault();
			this.toEnd();
		} else if (e.key === "Home" && !e.ctrlKey) {
			e.preventDefault();
			this.setFollow(false);
			this.out.scrollTop = 0;
			this.earlier();
		} else if (e.key === "ArrowUp" || e.key === "PageUp") this.setFollow(false);
	}

	// Find.

	setFind(text) {
		this.find = text;
		this.hit = -1;
		this.paintHits();
		if (this.hits.length > 0) this.move(0);
		this.tell();
	}

	paintHits() {
		const text = (this.find || "").toLowerCase();
		this.hits = [];
		for (const entry of this.lines) {
			const yes = Boolean(text) && entry.line && (!this.out.classList.contains("errors") || entry.stream === "stderr") && entry.line.text().toLowerCase().includes(text);
			entry.el?.classList.toggle("hit", Boolean(yes));
			if (yes) this.hits.push(entry);
		}
	}

	/** To the next hit (1) or the one before (-1). */
	move(by) {
		if (!this.hits || this.hits.length === 0) return;
		this.hit = by === 0 ? this.hits.length - 1 : (this.hit + by + this.hits.length) % this.hits.length;
		this.setFollow(false);
		this.hits.forEach((e, i) => e.el?.classList.toggle("now", i === this.hit));
		this.hits[this.hit].el?.scrollIntoView({ block: "center" });
	}
}

function bar(name, act) {
	const el = document.createElement("div");
	el.className = name;
	const button = document.createElement("button");
	button.type = "button";
	button.addEventListener("click", act);
	el.append(button);
	el.hidden = true;
	return el;
}

function number(text) {
	const el = document.createElement("span");
	el.className = "n";
	el.dataset.n = text;
	el.setAttribute("aria-hidden", "true");
	return el;
}

function note(text) {
	const el = document.createElement("span");
	el.className = "more";
	el.textContent = text;
	return el;
}

customElements.define("nacre-log", Log);
