// @ts-check
// The run view: modules by steps, the loss and warnings over them, one module's curves, what stands out.

/** @type {[string, string, "log"|"linear"|"diverging", boolean][]} */
const PLANES = [["norm", "norm", "log", true], ["ratio", "update ratio", "log", true], ["mean", "mean", "diverging", false], ["zeros", "share of zeros", "linear", true], ["wrong", "NaN and infinite", "log", true]];

class RunView {
  /** @param {any} view */
  constructor(view) {
    /** @type {any[]} */
    this.runs = view.runs;
    /** @type {string[]} */
    this.kinds = [...new Set(this.runs.flatMap((r) => Object.keys(r.kinds)))];
    this.kind = this.kinds[0];
    this.plane = "norm";
    this.mode = "side";
    /** @type {Map<string, any>} */
    this.trees = new Map();
    this.map = new HeatMap({
      title: "Modules by steps", lines: () => this.lines(), panels: () => this.panels(), tip: (l, p, c) => this.tip(l, p, c),
      choose: (line) => this.detail(line.of), fold: (line, open) => (line.of.open = open), moved: () => this.strips(),
    });
    this.bar = h("div", { class: "bar" });
    this.keys = h("div", { class: "bar" });
    this.info = h("div", { class: "card", id: "detail" }, h("p", { class: "dim" }, "Choose a row to see its curves, its histogram and its numbers."));
    this.list = h("div", { class: "card", id: "found" });
    this.element = h("div", {}, this.bar, this.keys, this.map.element, h("div", { class: "cards" }, this.list, this.info));
  }

  start() {
    if (!this.kinds.length) return this.element.replaceChildren(h("p", {}, "No statistics have come yet. The file is written anew while the run goes on: reload the page."));
    this.update();
    this.stands();
  }

  /** The union of the runs' names, and where each run has them. */
  names() {
    const known = this.trees.get(this.kind);
    if (known) return known;
    const names = [...new Set(this.runs.flatMap((r) => r.kinds[this.kind]?.names ?? []))];
    const rows = this.runs.map((r) => {
      const own = new Map((r.kinds[this.kind]?.names ?? []).map((/** @type {string} */ n, /** @type {number} */ i) => [n, i]));
      return names.map((n) => own.get(n) ?? -1);
    });
    const found = { names, rows, root: treeOf(names), cache: new Map() };
    this.trees.set(this.kind, found);
    return found;
  }

  /** @param {any} run @returns {string[]} */
  planesOf(run) {
    return Object.keys(run.kinds[this.kind]?.planes ?? {});
  }

  /** @returns {Line[]} */
  lines() {
    const { root, names } = this.names();
    const warned = new Set(this.runs.flatMap((r) => r.warnings.filter((/** @type {any} */ w) => w.kind === this.kind).map((/** @type {any} */ w) => w.name)));
    return lines(root).map(([one, depth]) => ({
      key: one.path, label: one.label, depth, open: one.shown.length && one !== root ? one.open : null, of: one,
      count: one.group ? `${one.group} alike` : one.rows.length ? "" : `${within(one).length} inside`,
      flag: warned.size > 0 && (one.open ? one.rows : within(one)).some((r) => warned.has(names[r])),
    }));
  }

  /** The spread over the series of a row in one run: the mean, the smallest and the largest at each column. @param {Branch} one @param {number} r @param {string} plane */
  spread(one, r, plane) {
    const { rows, cache } = this.names(), key = `${r} ${plane}`;
    if (!cache.has(key)) cache.set(key, new Map());
    const known = cache.get(key).get(one);
    if (known) return known;
    const data = this.runs[r].kinds[this.kind], size = data?.first.length ?? 0, planes = data?.planes ?? {};
    const found = { mid: new Float32Array(size), low: new Float32Array(size).fill(NaN), high: new Float32Array(size).fill(NaN), infinite: new Uint8Array(size) };
    // What is folded in shows at least that it isn't finite.
    for (const name of planes.wrong ? within(one) : []) {
      const at = rows[r][name] * size;
      for (let c = 0; c < size && at >= 0; c++) if (planes.wrong[at + c] > 0) found.infinite[c] = 1;
    }
    const counts = new Uint32Array(size), middle = planes[plane], low = planes[`${plane}_min`] ?? middle, high = planes[`${plane}_max`] ?? middle;
    for (const name of middle ? seriesOf(one) : []) {
      const at = rows[r][name] * size;
      if (at < 0) continue;
      for (let c = 0; c < size; c++) {
        if (Number.isNaN(middle[at + c])) continue;
        found.mid[c] += middle[at + c];
        counts[c]++;
        if (!(found.low[c] <= low[at + c])) found.low[c] = low[at + c];
        if (!(found.high[c] >= high[at + c])) found.high[c] = high[at + c];
      }
    }
    for (let c = 0; c < size; c++) found.mid[c] = counts[c] ? found.mid[c] / counts[c] : NaN;
    cache.get(key).set(one, found);
    return found;
  }

  /** What the map shows of a row: the largest of its series, or, of means, their mean; infinite where a value is not finite. @param {Branch} one @param {number} r @returns {Float32Array} */
  values(one, r) {
    const found = this.spread(one, r, this.plane);
    found.shown ??= (this.plane === "mean" ? found.mid : found.high).map((/** @type {number} */ v, /** @type {number} */ c) => (found.infinite[c] && this.plane !== "wrong" && this.plane !== "zeros" ? Infinity : v));
    return found.shown;
  }

  /** @returns {Panel[]} */
  panels() {
    const kind = PLANES.find(([p]) => p === this.plane)?.[2] ?? "linear", { root } = this.names();
    const there = this.runs.map((_, r) => r).filter((r) => this.runs[r].kinds[this.kind]?.first.length);
    const edges = (/** @type {number} */ r) => {
      const { first, last } = this.runs[r].kinds[this.kind], n = first.length, gap = n > 1 ? (last[n - 1] - first[0]) / (n - 1) : 1;
      return Float64Array.from([...first, last[n - 1] + Math.max(1, first.length === last.length && n > 1 ? Math.min(gap, first[n - 1] - first[n - 2]) : 1)]);
    };
    const column = (/** @type {number} */ r) => (/** @type {number} */ i) => {
      const { first, last } = this.runs[r].kinds[this.kind];
      return first[i] === last[i] ? `step ${first[i]}` : `steps ${first[i]} to ${last[i]}`;
    };
    if (this.mode === "difference" && there.length > 1) {
      const [a, b] = there, cache = new Map();
      const values = (/** @type {Line} */ line) => {
        if (!cache.has(line.of)) cache.set(line.of, this.against(line.of, a, b, kind === "log"));
        return cache.get(line.of);
      };
      const scale = Scale.of("diverging", this.lines().map(values));
      return [{ name: `${this.runs[b].name} ${kind === "log" ? "by" : "less"} ${this.runs[a].name}${kind === "log" ? ", powers of 10" : ""}`, edges: edges(a), column: column(a), values, scale }];
    }
    const scale = this.plane === "zeros" ? new Scale("linear", 0, 1) : Scale.of(kind, there.flatMap((r) => this.names().names.length ? [this.plane === "mean" ? this.spread(root, r, "mean").mid : new Float32Array(), ...this.lines().map((l) => this.values(l.of, r))] : []));
    return there.map((r) => ({ name: this.runs[r].name, edges: edges(r), column: column(r), values: (line) => this.values(line.of, r), scale, most: this.plane !== "mean", run: r }));
  }

  /** Run b against run a, at a's columns. @param {Branch} one @param {number} a @param {number} b @param {boolean} log */
  against(one, a, b, log) {
    const va = this.values(one, a), vb = this.values(one, b), fa = this.runs[a].kinds[this.kind].first, fb = this.runs[b].kinds[this.kind].first;
    let at = 0;
    return Float32Array.from(va, (v, c) => {
      while (at + 1 < fb.length && fb[at + 1] <= fa[c]) at++;
      return log ? Math.log10(vb[at] / v) : vb[at] - v;
    });
  }

  /** @param {Line} line @param {number} p @param {number} c */
  tip(line, p, c) {
    const panel = /** @type {any} */ (this.map.panels[p]), text = [`${line.key || "(model)"}${line.count ? `, ${line.count}` : ""}`, panel.column(c)];
    if (panel.run === undefined) return [...text, told(panel.values(line)[c])];
    const found = this.spread(line.of, panel.run, this.plane), name = PLANES.find(([n]) => n === this.plane)?.[1];
    text.push(`${name} ${told(found.mid[c])}${found.low[c] < found.high[c] ? `, from ${told(found.low[c])} to ${told(found.high[c])}` : ""}`);
    if (found.infinite[c]) text.push("NaN or infinite values");
    return this.runs.length > 1 ? [panel.name, ...text] : text;
  }

  update() {
    const there = new Set(this.runs.flatMap((r) => this.planesOf(r)));
    if (!there.has(this.plane)) this.plane = PLANES.find(([p]) => there.has(p))?.[0] ?? "norm";
    const { root } = this.names();
    this.map.update();
    const redo = () => this.update();
    this.bar.replaceChildren(
      select("Of", this.kinds.map((k) => [k, `${k}s`]), this.kind, (v) => { this.kind = v; redo(); }),
      select("Show", PLANES.filter(([p]) => there.has(p)).map(([p, text]) => [p, text]), this.plane, (v) => { this.plane = v; redo(); }),
      this.runs.length > 1 ? select("Runs", [["side", "side by side"], ["difference", "the second against the first"]], this.mode, (v) => { this.mode = v; redo(); }) : "",
      button("Unfold all", () => { openAll(root, true); redo(); }, { id: "unfold" }), button("Fold all", () => { openAll(root, false); redo(); }, { id: "fold" }),
      button("Zoom in", () => this.map.zoom(0.5), { id: "zoom" }), button("Zoom out", () => this.map.zoom(2)),
      button("Table", () => this.table(), { id: "table" }));
    this.keys.replaceChildren(this.map.panels[0]?.scale.legend() ?? "", this.map.exports(`${document.title} ${this.kind} ${this.plane}`));
  }

  /** The loss and the warnings above the map, steps below it. */
  strips() {
    const panels = /** @type {any[]} */ (this.map.panels);
    const ends = this.map.ends(), cursor = panels[this.map.cursor.panel]?.edges[this.map.cursor.column];
    this.map.heads.replaceChildren(...panels.map((panel) => {
      const runs = panel.run === undefined ? [0, 1] : [panel.run];
      const curves = runs.flatMap((r) => Object.entries(this.runs[r].numbers).map(([name, n]) => ({ name, run: r, at: n.first, mid: n.planes.value, low: n.planes.value_min, high: n.planes.value_max })));
      const marks = runs.flatMap((r) => this.runs[r].warnings.map((/** @type {any} */ w) => ({ at: w.step, text: `step ${w.step}: ${w.rule}, ${w.kind} of ${w.name || "the model"}: ${w.message}`, go: () => this.go(w.kind, w.name, w.step, r) })));
      const seen = curves.flatMap((c) => [...c.mid]).filter(Number.isFinite), log = seen.length > 0 && Math.min(...seen) > 0 && Math.max(...seen) > 30 * Math.min(...seen);
      const first = curves[0], last = first && first.mid[first.mid.length - 1], title = [...new Set(curves.map((c) => c.name))].join(", ");
      return h("div", {}, h("div", { class: "name" }, panel.name, first ? h("span", { class: "dim" }, ` ${title}${log ? " (log)" : ""}, ${Number.isNaN(last) ? "NaN" : told(last)} at last`) : ""),
        curves.length || marks.length ? chart(curves, { title: `${title} over the steps, and ${marks.length} warnings`, log, ends, at: cursor, tall: 64, wide: Math.max(200, this.map.canvases?.[0]?.clientWidth || 620), ticks: false, marks }) : "");
    }));
    const at = (/** @type {Panel} */ panel, /** @type {number} */ place) => { const c = this.map.columnAt(panel, place); return c < 0 ? "" : panel.column(c); };
    this.map.feet.replaceChildren(...panels.map((panel) => h("div", { class: "bar" }, h("span", { class: "dim" }, at(panel, ends[0])), h("span", { class: "dim right" }, at(panel, ends[1] - 1e-6)))));
  }

  /** Show one series at a step. @param {string} kind @param {string} name @param {number} step @param {number} run */
  go(kind, name, step, run) {
    if (this.kinds.includes(kind)) this.kind = kind;
    const found = this.names(), row = found.names.indexOf(name);
    if (row < 0) return;
    const one = reveal(found.root, row);
    this.update();
    const p = Math.max(0, this.map.panels.findIndex((panel) => /** @type {any} */ (panel).run === run)), at = this.map.lines.findIndex((l) => l.of === one);
    this.map.choose(Math.max(0, at), p, Math.max(0, this.map.columnAt(this.map.panels[p], step)));
    say(`${name || "the model"}, step ${step}`);
  }

  /** @param {Branch} one */
  detail(one) {
    const { rows } = this.names(), plane = this.plane, text = PLANES.find(([p]) => p === plane)?.[1] ?? plane, log = PLANES.find(([p]) => p === plane)?.[2] === "log";
    const step = this.map.panels[this.map.cursor.panel]?.edges[this.map.cursor.column];
    const curves = this.runs.map((run, r) => ({ run: r, name: run.name, at: run.kinds[this.kind]?.first ?? [], ...this.spread(one, r, plane) })).filter((c) => c.at.length);
    const many = seriesOf(one).length > 1;
    this.info.replaceChildren(h("h2", {}, `${one.path || "(model)"}: ${text} of ${this.kind}s`),
      h("p", { class: "dim" }, ...(many ? [`${seriesOf(one).length} series: their mean, and from the smallest to the largest. `] : []), ...this.runs.flatMap((run, r) => (this.runs.length > 1 ? [h("span", { class: "name" }, `${r ? "- - " : "— "}${run.name}  `)] : []))),
      chart(curves, { title: `${text} of ${one.path || "the model"} over the steps`, log, at: step }));
    for (const [r, run] of this.runs.entries()) {
      const found = run.kinds[this.kind]?.histograms, row = rows[r][seriesOf(one)[0]];
      if (!found || many || row < 0) continue;
      const shape = [0, found.steps.length, found.shares.length / (run.kinds[this.kind].names.length * found.steps.length)];
      this.info.append(h("h2", {}, `Histogram over time${this.runs.length > 1 ? `, ${run.name}` : ""}`), overTime(found, row, shape, `Histogram of ${one.path} over ${found.steps.length} steps`));
    }
    const numbers = curves.flatMap((c) => Array.from(c.at, (at, i) => [c.name, at, c.mid[i], c.low[i], c.high[i]]));
    this.info.append(h("details", {}, h("summary", {}, "Numbers"), table(["run", "step", text, "smallest", "largest"], numbers), button("CSV", () => keep(`${one.path || "model"}.csv`, csv([["run", "step", text, "smallest", "largest"], ...numbers]), "text/csv"))));
    this.info.scrollIntoView?.({ block: "nearest" });
  }

  /** The map as a table, at the step of the cursor. */
  table() {
    const c = this.map.cursor.column, p = this.map.cursor.panel, panel = /** @type {any} */ (this.map.panels[p]), r = panel.run ?? 0;
    const there = PLANES.filter(([name]) => this.planesOf(this.runs[r]).includes(name));
    const rows = this.map.lines.map((l) => [l.key || "(model)", l.count, ...there.map(([name]) => this.spread(l.of, r, name).mid[c])]);
    this.info.replaceChildren(h("h2", {}, `${this.kind}s at ${panel.column(c)}${this.runs.length > 1 ? `, ${this.runs[r].name}` : ""}`), table(["module", "", ...there.map(([, text]) => text)], rows));
    this.info.scrollIntoView?.({ block: "nearest" });
  }

  /** What stands out: what rules said, the first values that are not finite, norms that jump, layers that are dead. */
  stands() {
    /** @type {{step: number, kind: string, name: string, run: number, text: string}[]} */
    const found = [];
    this.runs.forEach((run, r) => {
      for (const w of run.warnings) found.push({ ...w, run: r, text: `${w.rule}: ${w.message}${w.count > 1 ? `, ${w.count} times` : ""}` });
      for (const [kind, { names, first, planes }] of Object.entries(/** @type {Record<string, any>} */ (run.kinds))) {
        /** @type {Record<string, any>} */
        const most = {};
        const note = (/** @type {string} */ what, /** @type {number} */ rank, /** @type {number} */ row, /** @type {number} */ c, /** @type {string} */ text) => {
          if (!(what in most) || rank > most[what].rank) most[what] = { rank, step: first[c], kind, name: names[row], run: r, text };
        };
        for (let row = 0; row < names.length; row++) {
          const at = row * first.length, norms = planes.norm?.subarray(at, at + first.length), high = planes.norm_max?.subarray(at, at + first.length) ?? norms;
          const bad = planes.wrong ? planes.wrong.subarray(at, at + first.length).findIndex((/** @type {number} */ v) => v > 0) : -1;
          if (bad >= 0) note("wrong", -bad + row * 1e-6 * (kind === "gradient" ? 1 : -1), row, bad, "the first NaN or infinite values");
          for (let c = 0, sum = 0, count = 0; norms && c < norms.length; c++) {
            const usual = Math.exp(sum / count);
            if (count >= 5 && high[c] > 30 * usual) { note("jump", Math.min(1e6, high[c] / usual) * 1e-7 - c, row, c, `its norm is ${told(high[c] / usual)} times what it was before`); break; }
            if (Number.isFinite(norms[c]) && norms[c] > 0) { sum += Math.log(norms[c]); count++; }
          }
          if (kind === "activation" && planes.zeros?.[at + first.length - 1] >= 0.999) note("dead", 1 + first.length - row * 1e-6, row, first.length - 1, "all its values are 0 at last");
        }
        found.push(...Object.values(most));
      }
    });
    found.sort((a, b) => a.step - b.step);
    this.list.replaceChildren(h("h2", {}, "What stands out"), found.length ? h("ol", { class: "list" }, ...found.slice(0, 200).map((f) => h("li", {}, h("button", { type: "button", click: () => this.go(f.kind, f.name, f.step, f.run) },
      h("span", { class: "mark" }, `step ${f.step} `), this.runs.length > 1 ? h("span", { class: "dim" }, `${this.runs[f.run].name} `) : "", `${f.kind} of ${f.name || "the model"}: ${f.text}`)))) : h("p", { class: "dim" }, "Nothing: no rule was broken, no value is NaN or infinite, no norm jumps."));
  }
}
