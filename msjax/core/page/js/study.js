// @ts-check
// The study view: arrays over named axes as heat maps, and a captured step as a graph of modules.

class MapView {
  /** @param {any} found */
  constructor(found) {
    this.name = found.name;
    /** @type {string[]} */
    this.axes = found.axes;
    this.labels = found.labels;
    this.shape = found.shape;
    this.values = found.values;
    const n = this.axes.length;
    this.row = n > 1 ? n - 2 : -1;
    this.column = n - 1;
    this.place = this.axes.map(() => 0);
    const signed = this.values.some((/** @type {number} */ v) => v < 0);
    this.scale = Scale.of(signed ? "diverging" : "linear", [this.values]);
    this.map = new HeatMap({
      title: this.name, panels: () => [this.panel()], choose: (line, p, c) => this.chosen(line, c), tip: (line, p, c) => this.tip(line, c), moved: () => this.foot(),
      lines: () => Array.from({ length: this.size(this.row) }, (_, i) => ({ key: this.label(this.row, i), label: this.label(this.row, i), depth: 0, open: null, count: "", flag: false, of: i })),
    });
    this.bar = h("div", { class: "bar" });
    this.thumbs = h("div", { class: "thumbs" });
    this.info = h("p", { class: "dim" });
    this.element = h("div", { class: "card" }, h("h2", {}, this.name), this.bar, this.thumbs, this.map.element, this.info);
  }

  /** @param {number} axis */
  size(axis) {
    return axis < 0 ? 1 : this.shape[axis];
  }

  /** @param {number} axis @param {number} i */
  label(axis, i) {
    if (axis < 0) return this.name;
    const own = this.labels[this.axes[axis]];
    // White space of a token is seen.
    return own ? `${i} ${own[i].replace(/ /g, "␣").replace(/\n/g, "⏎")}` : `${this.axes[axis]} ${i}`;
  }

  /** @param {number} i @param {number} [j] @param {number[]} [place] the value in a row and column */
  value(i, j = 0, place = this.place) {
    let at = 0;
    this.shape.forEach((/** @type {number} */ size, /** @type {number} */ axis) => (at = at * size + (axis === this.row ? i : axis === this.column ? j : place[axis])));
    return this.values[at];
  }

  /** @returns {Panel} */
  panel() {
    const size = this.size(this.column);
    return {
      name: this.name, edges: Float64Array.from({ length: size + 1 }, (_, i) => i), column: (i) => this.label(this.column, i), scale: this.scale, most: true,
      values: (line) => Float32Array.from({ length: size }, (_, j) => this.value(line.of, j)),
    };
  }

  /** @param {Line} line @param {number} c */
  tip(line, c) {
    return [this.row < 0 ? "" : `${this.axes[this.row]}: ${line.label}`, this.column < 0 ? "" : `${this.axes[this.column]}: ${this.label(this.column, c)}`, told(this.value(line.of, c))].filter(Boolean);
  }

  /** @param {Line} line @param {number} c */
  chosen(line, c) {
    this.info.textContent = this.tip(line, c).join(", ");
  }

  /** The columns' labels, as many as there is room for. */
  foot() {
    const size = this.size(this.column), [low, high] = this.map.ends(), width = Math.max(100, this.map.canvases[0]?.clientWidth || 600), each = Math.max(1, Math.ceil(((high - low) * 15) / width));
    const picture = s("svg", { viewBox: `0 0 ${width} 86`, "aria-hidden": "true" });
    for (let i = Math.ceil(low); i < Math.min(size, high); i += each) {
      const x = ((i + 0.5 - low) / (high - low)) * width;
      picture.append(s("text", { x, y: 10, transform: `rotate(55 ${x} 10)` }, this.label(this.column, i).slice(0, 15)));
    }
    this.map.feet.replaceChildren(h("div", {}, picture));
  }

  start() {
    const others = this.axes.map((_, i) => i).filter((i) => i !== this.row && i !== this.column);
    const options = (/** @type {number} */ but) => /** @type {[string, string][]} */ (this.axes.map((name, i) => [String(i), name]).filter(([i]) => Number(i) !== but));
    const redo = () => this.start();
    this.bar.replaceChildren(
      this.axes.length > 1 ? select("Rows", options(this.column), String(this.row), (v) => { this.row = Number(v); redo(); }) : "",
      this.axes.length > 1 ? select("Columns", options(this.row), String(this.column), (v) => { this.column = Number(v); redo(); }) : "",
      ...others.map((axis) => select(this.axes[axis], Array.from({ length: this.shape[axis] }, (_, i) => [String(i), this.label(axis, i)]), String(this.place[axis]), (v) => { this.place[axis] = Number(v); redo(); })),
      this.scale.legend(), this.map.exports(this.name));
    const axis = others[others.length - 1];
    this.thumbs.replaceChildren(...(axis === undefined || this.shape[axis] > 64 ? [] : Array.from({ length: this.shape[axis] }, (_, i) => this.thumb(axis, i))));
    this.map.element.style.maxWidth = `${300 + 64 * this.size(this.column)}px`;
    this.map.update();
  }

  /** A small map of one place along an axis. @param {number} axis @param {number} i */
  thumb(axis, i) {
    const rows = Math.min(64, this.size(this.row)), columns = Math.min(64, this.size(this.column)), canvas = h("canvas", { width: columns, height: rows, "aria-hidden": "true" });
    const context = canvas.getContext("2d"), image = context.createImageData(columns, rows), place = [...this.place];
    place[axis] = i;
    for (let y = 0; y < rows; y++) {
      for (let x = 0; x < columns; x++) {
        const v = this.value(Math.floor((y * this.size(this.row)) / rows), Math.floor((x * this.size(this.column)) / columns), place);
        image.data.set([...(Number.isFinite(v) ? this.scale.colour(v) : WRONG), 255], 4 * (y * columns + x));
      }
    }
    context.putImageData(image, 0, 0);
    return button("", () => { this.place[axis] = i; this.start(); }, { "aria-pressed": String(this.place[axis] === i), "aria-label": this.label(axis, i) }).appendChild(canvas).parentElement.appendChild(h("span", {}, this.label(axis, i))).parentElement;
  }
}

/** The places of a captured step in program order: how large what flows is, forward and backward. @param {any[]} nodes */
function graphOf(nodes) {
  const tall = 30, wide = 720, left = 30, of = (/** @type {string} */ key) => Float32Array.from(nodes, (n) => n[key] ?? NaN);
  const forward = Scale.of("log", [of("norm")]), backward = Scale.of("log", [of("gradient")]), some = nodes.some((n) => n.gradient !== null);
  const picture = s("svg", { class: "graph", viewBox: `0 0 ${wide} ${nodes.length * tall + 24}`, role: "list", "aria-label": "Places in program order" });
  const thick = (/** @type {Scale} */ scale, /** @type {number|null} */ v) => (v === null || !(v > 0) ? 1 : 2 + 8 * scale.place(v));
  picture.append(s("text", { class: "small", x: 380, y: 12 }, "forward, root mean square"), some ? s("text", { class: "small", x: 560, y: 12 }, "backward") : "");
  nodes.forEach((n, i) => {
    const y = 20 + i * tall, depth = Math.min(8, n.name ? n.name.split(".").length - 1 : 0), words = `${n.name || "(model)"}${n.edited ? ", edited" : ""}: forward ${told(n.norm)}${some ? `, backward ${told(n.gradient)}` : ""}, shape ${JSON.stringify(n.shape)}`;
    const group = s("g", { class: `node${n.edited ? " edited" : ""}`, role: "listitem", tabindex: 0, "aria-label": words, mousemove: (/** @type {MouseEvent} */ e) => tip(e, words.split(/: |, (?=back|shape)/)), mouseleave: () => tip(null) });
    if (i < nodes.length - 1) {
      group.append(s("line", { x1: 12, x2: 12, y1: y + 12, y2: y + 12 + tall, stroke: rgb(forward.colour(n.norm ?? 0)), "stroke-width": thick(forward, n.norm) }));
      if (some) group.append(s("line", { x1: 24, x2: 24, y1: y + 12, y2: y + 12 + tall, stroke: rgb(backward.colour(n.gradient ?? 0)), "stroke-width": thick(backward, n.gradient) }));
    }
    group.append(s("rect", { class: "box", x: left + 6 + depth * 16, y, width: 330 - depth * 16, height: 22, rx: 4 }), s("text", { x: left + 14 + depth * 16, y: y + 15 }, `${n.edited ? "✎ " : ""}${n.name || "(model)"}`));
    for (const [x, key, scale] of /** @type {[number, string, Scale][]} */ (some ? [[380, "norm", forward], [560, "gradient", backward]] : [[380, "norm", forward]])) {
      if (n[key] === null) continue;
      group.append(s("rect", { x, y: y + 4, width: n[key] === 0 ? 0 : 14 + 90 * scale.place(n[key]), height: 14, fill: rgb(Number.isFinite(n[key]) ? scale.colour(n[key]) : WRONG) }), s("text", { class: "small", x: x + 110, y: y + 15 }, told(n[key])));
    }
    picture.append(group);
  });
  return picture;
}

class StudyView {
  /** @param {any} view */
  constructor(view) {
    this.maps = view.maps.map((/** @type {any} */ found) => new MapView(found));
    const nodes = view.graph, head = ["place", "forward", "backward", "edited"], rows = (nodes ?? []).map((/** @type {any} */ n) => [n.name || "(model)", n.norm, n.gradient, n.edited ? "edited" : ""]);
    const graph = nodes && graphOf(nodes);
    this.element = h("div", { class: "stack" }, ...(view.notes ?? []).map((/** @type {string} */ text) => h("p", { class: "dim" }, text)),
      graph ? h("div", { class: "card" }, h("div", { class: "bar" }, h("h2", {}, "A captured step"), h("span", { class: "dim" }, "Lines on the left: thicker and lighter is larger."), h("span", { class: "right" }, "Export", button("CSV", () => keep("step.csv", csv([head, ...rows]), "text/csv")), button("SVG", () => keep("step.svg", svgText(graph), "image/svg+xml")))), graph, h("details", {}, h("summary", {}, "Numbers"), table(head, rows))) : "",
      ...this.maps.map((/** @type {MapView} */ m) => m.element));
  }

  start() {
    for (const one of this.maps) one.start();
  }

  redraw() {
    for (const one of this.maps) one.map.draw();
  }
}
