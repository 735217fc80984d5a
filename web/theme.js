// Before the first paint: the theme that was chosen, else the one of the system.
(() => {
	let chosen = null;
	try {
		chosen = localStorage.getItem("nacre-theme");
	} catch { /* nothing is kept */ }
	const dark = matchMedia("(prefers-color-scheme: dark)");
	const set = () => { document.documentElement.dataset.theme = chosen || (dark.matches ? "dark" : "light"); };
	dark.addEventListener("change", set);
	set();
	window.nacreTheme = (name) => {
		chosen = name;
		try {
			localStorage.setItem("nacre-theme", name);
		} catch { /* for this page only */ }
		set();
	};
})();
