// @ts-check
// The views of a fault and of a comparison.

class FaultView {
  /** @param {any} view */
  constructor(view) {
    const chain = view.chain.map((/** @type {any} */ link, /** @type {number} */ i) => h("li", { class: link.origin ? "origin" : null },
      h("div", {}, h("b", {}, i === 0 ? "Result: " : link.origin ? "Cause: " : "", link.operation ?? "?"), link.path !== null && link.path !== undefined ? h("span", { class: "dim" }, ` in ${link.path || "the model"}`) : "", link.phase ? h("span", { class: "dim" }, `, ${link.phase}`) : ""),
      link.line ? h("code", { class: "code" }, link.line) : "",
      ...(link.inputs ?? []).map((/** @type {string} */ text, /** @type {number} */ k) => h("p", {}, h("span", { class: "dim" }, `before, input ${k}: `), h("code", {}, text))),
      link.output ? h("p", {}, h("span", { class: "dim" }, "after: "), h("code", { class: /NaN|infinite/.test(link.output) ? "mark" : null }, link.output)) : ""));
    const batch = (view.batch ?? []).map((/** @type {any} */ array, /** @type {number} */ _, /** @type {any[]} */ all) => {
      const bad = array.rows.filter((/** @type {any} */ row) => row[4] || row[5]).map((/** @type {any} */ row) => row[0]);
      const most = array.rows.reduce((/** @type {any} */ a, /** @type {any} */ row) => (Math.abs(row[2]) > Math.abs(a?.[2] ?? -1) ? row : a), null);
      return h("details", { open: all.length === 1 || bad.length > 0 }, h("summary", {}, `${array.name}: ${array.dtype}[${array.shape.join(", ")}]`, bad.length ? h("span", { class: "mark" }, `, not finite in rows ${bad.join(", ")}`) : "", most && array.rows.length > 1 && !bad.length ? `, the largest value ${told(most[2])} is in row ${most[0]}` : ""),
        array.rows.length ? table(["row", "smallest", "largest", "mean", "NaN", "infinite"], array.rows) : "");
    });
    const rows = view.chain.map((/** @type {any} */ l, /** @type {number} */ i) => [i, l.phase, l.path, l.operation, l.line, (l.inputs ?? []).join("; "), l.output]);
    this.element = h("div", {}, h("h2", { class: "mark" }, view.heading),
      h("div", { class: "bar" }, h("span", { class: "dim" }, view.chain.length ? "From the result back to the cause." : "The bundle tells no chain: replay it."), h("span", { class: "right" }, "Export", button("CSV", () => keep("fault.csv", csv([["link", "phase", "path", "operation", "line", "before", "after"], ...rows]), "text/csv"), { class: "csv" }))),
      h("div", { class: "cards" }, h("div", { class: "card" }, h("h2", {}, "The way back"), h("ol", { class: "chain" }, ...chain)),
        h("div", { class: "stack" }, h("div", { class: "card" }, h("h2", {}, "Report"), table(["", ""], view.report)),
          batch.length || view.replay ? h("div", { class: "card" }, h("h2", {}, "The batch"), ...batch, view.replay ? h("p", {}, "Run the step again, with the Parameters and the batch of then:") : "", view.replay ? h("code", { class: "code", id: "replay" }, view.replay) : "") : "")));
  }
}

class ComparisonView {
  /** @param {any} view */
  constructor(view) {
    this.rows = view.rows;
    this.sides = view.frameworks;
    /** @type {string[]} */
    this.kinds = [...new Set(this.rows.map((/** @type {any} */ r) => r.kind))];
    /** @type {string[]} */
    this.names = [...new Set(this.rows.map((/** @type {any} */ r) => r.a ?? r.b))];
    /** @type {Map<string, any>} */
    this.at = new Map(this.rows.map((/** @type {any} */ r) => [`${r.kind} ${r.a ?? r.b}`, r]));
    this.root = treeOf(this.names);
    this.differs = new Set(this.rows.filter((/** @type {any} */ r) => !r.same && r.a !== null && r.b !== null).map((/** @type {any} */ r) => r.a));
    const edges = Float64Array.from({ length: this.kinds.length + 1 }, (_, i) => i);
    const values = (/** @type {Line} */ line) => Float32Array.from(this.kinds, (kind) => this.most(line.of, kind));
    const scale = Scale.of("log", [Float32Array.from(this.rows, (/** @type {any} */ r) => r.difference ?? NaN)]);
    this.map = new HeatMap({
      title: "Differences", choose: (line) => this.detail(line.of), fold: (line, open) => (line.of.open = open), tip: (line, p, c) => this.tip(line, c), panels: () => [{ name: "", edges, column: (i) => this.kinds[i], values, scale, most: true }],
      lines: () => lines(this.root).map(([one, depth]) => ({ key: one.path, label: one.label, depth, open: one.shown.length && one !== this.root ? one.open : null, of: one, count: one.group ? `${one.group} alike` : "", flag: within(one).some((i) => this.differs.has(this.names[i])) })),
    });
    const first = this.rows.filter((/** @type {any} */ r) => r.first);
    const text = (/** @type {any} */ r) => `${r.kind} of ${r.a || "the model"}${r.b !== r.a ? ` / ${r.b}` : ""}: ${r.difference === null ? `shapes [${r.shape_a}] and [${r.shape_b}]` : `${told(r.difference)} of the largest value`}`;
    const line = (/** @type {any} */ r) => h("li", {}, h("button", { type: "button", click: () => this.go(r) }, h("span", { class: "mark" }, r.first ? "first: " : ""), text(r)));
    const others = this.rows.filter((/** @type {any} */ r) => !r.same && !r.first && r.a !== null && r.b !== null);
    this.info = h("div", { class: "card", id: "detail" }, h("p", { class: "dim" }, "Choose a row to see its numbers."));
    const head = ["kind", this.sides[0], this.sides[1], "difference", "same", "layout"], numbers = this.rows.map((/** @type {any} */ r) => [r.kind, r.a, r.b, r.difference, r.same ? "same" : "differs", r.layout]);
    this.element = h("div", {}, h("div", { class: "verdict" }, ...view.verdict.map((/** @type {string} */ said) => h("p", { class: first.length ? "mark" : null }, said))),
      h("div", { class: "bar" }, scale.legend(), this.map.exports("comparison")), this.map.element,
      h("div", { class: "cards" }, h("div", { class: "card", id: "found" }, h("h2", {}, "What differs"), h("ol", { class: "list" }, ...[...first, ...others].map(line))), this.info),
      h("details", {}, h("summary", {}, "Numbers"), table(head, numbers)));
  }

  start() {
    this.map.update();
    this.map.feet.replaceChildren(...this.kinds.map((kind) => h("div", { class: "dim" }, kind.replace("_", " "))));
  }

  /** The largest difference of a kind in a branch. @param {Branch} one @param {string} kind */
  most(one, kind) {
    let found = NaN;
    for (const i of one.open && one.rows.length ? one.rows : within(one)) {
      const row = this.at.get(`${kind} ${this.names[i]}`), v = !row || row.a === null || row.b === null ? NaN : row.difference ?? Infinity;
      if (!Number.isNaN(v) && !(found >= v)) found = v;
    }
    return found;
  }

  /** @param {Line} line @param {number} c */
  tip(line, c) {
    const v = this.most(line.of, this.kinds[c]);
    return [line.key || "(model)", this.kinds[c], Number.isNaN(v) ? "nothing to compare" : v === Infinity ? "other shapes, or not finite" : `largest difference ${told(v)}`];
  }

  /** @param {any} r */
  go(r) {
    const one = reveal(this.root, this.names.indexOf(r.a));
    this.map.update();
    this.map.choose(this.map.lines.findIndex((l) => l.of === one), 0, this.kinds.indexOf(r.kind));
  }

  /** @param {Branch} one */
  detail(one) {
    const rows = within(one).flatMap((i) => this.kinds.map((k) => this.at.get(`${k} ${this.names[i]}`)).filter(Boolean));
    this.info.replaceChildren(h("h2", {}, one.path || "(model)"), table(["kind", ...this.sides, "shapes", "difference", ""], rows.map((r) => [r.kind, r.a ?? "–", r.b ?? "–", `${JSON.stringify(r.shape_a)} ${JSON.stringify(r.shape_b)}`, r.difference ?? NaN, r.first ? "first difference" : r.same ? "same" : "differs"])));
  }
}
