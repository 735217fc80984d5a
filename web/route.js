// #/page/ID?name=value: every view is a link.

export const PAGES = ["approvals", "tasks", "sessions", "audit", "policy", "metrics", "doctor"];

export function parse(hash) {
	const found = /^#\/([a-z]+)(?:\/([A-Za-z0-9._-]+))?(?:\?(.*))?$/.exec(hash);
	const page = found && PAGES.includes(found[1]) ? found[1] : "approvals";
	return { page, id: (found && found[2]) || "", query: Object.fromEntries(new URLSearchParams((found && found[3]) || "")) };
}

export function address(page, id, query) {
	const q = new URLSearchParams(Object.entries(query || {}).filter(([, v]) => v !== "" && v !== undefined && v !== null && v !== false)).toString();
	return `#/${page}${id ? "/" + id : ""}${q ? "?" + q : ""}`;
}

export function go(page, id, query) {
	const to = address(page, id, query);
	if (location.hash !== to) location.hash = to;
}

/** The same view with another filter: no step to go back to. */
export function refine(route, query, id = route.id) {
	history.replaceState(null, "", address(route.page, id, { ...route.query, ...query }));
	window.dispatchEvent(new HashChangeEvent("hashchange"));
}
