// @ts-check
// Reads the data, and shows the view that the reader chooses.

/** @type {Record<string, new (view: any) => any>} */
const VIEWS = { run: RunView, fault: FaultView, comparison: ComparisonView, study: StudyView };

(async () => {
  const root = document.documentElement, theme = byId("theme");
  const dress = (/** @type {boolean} */ dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    theme.textContent = dark ? "Light" : "Dark";
    theme.setAttribute("aria-label", dark ? "Light colours" : "Dark colours");
  };
  const asked = matchMedia("(prefers-color-scheme: dark)");
  dress(asked.matches);
  const data = await decoded(JSON.parse(byId("data").textContent));
  byId("title").textContent = data.title || "msjax";
  const views = data.views.filter((/** @type {any} */ v) => v.kind in VIEWS).map((/** @type {any} */ v) => ({ data: v, view: /** @type {any} */ (null) }));
  let shown = -1;
  const tabs = views.map((/** @type {any} */ v, /** @type {number} */ i) => button(v.data.title, () => show(i), {
    role: "tab", keydown: (/** @type {KeyboardEvent} */ e) => {
      const next = { ArrowRight: i + 1, ArrowLeft: i - 1 }[e.key];
      if (next !== undefined && tabs[next]) { show(next); tabs[next].focus(); }
    },
  }));
  const show = (/** @type {number} */ i) => {
    shown = i;
    tabs.forEach((/** @type {any} */ tab, /** @type {number} */ j) => { tab.setAttribute("aria-selected", i === j); tab.tabIndex = i === j ? 0 : -1; });
    const one = views[i], made = !one.view;
    one.view ??= new VIEWS[one.data.kind](one.data);
    byId("main").replaceChildren(one.view.element);
    if (made) one.view.start?.();
    else one.view.map?.draw();
  };
  if (tabs.length > 1) byId("tabs").append(...tabs);
  const redraw = () => { const one = views[shown]; one?.view.redraw ? one.view.redraw() : one?.view.map?.draw(); };
  theme.addEventListener("click", () => { dress(root.dataset.theme !== "dark"); redraw(); });
  asked.addEventListener("change", () => { dress(asked.matches); redraw(); });
  if (views.length) show(0);
  else byId("main").replaceChildren(h("p", {}, "There is nothing to show."));
  root.dataset.ready = String(Math.round(performance.now()));
})();
