// @ts-check
// A heat map with a tree or a list of rows beside it, of which only what is seen is drawn; by mouse and by keyboard.

const ROW = 19, LONGEST = 26;
let maps = 0;

/**
 * @typedef {object} Line
 * @property {string} key
 * @property {string} label
 * @property {number} depth
 * @property {boolean|null} open whether it is unfolded; null if there is nothing in it
 * @property {string} count
 * @property {boolean} flag
 * @property {any} of what the line stands for
 */
/**
 * @typedef {object} Panel
 * @property {string} name
 * @property {Float64Array} edges where columns begin; one more than there are columns
 * @property {(i: number) => string} column a column in words
 * @property {(line: Line) => Float32Array} values
 * @property {Scale} scale
 * @property {boolean} [most] whether the largest of the columns of one pixel is shown, not their mean
 * @property {string[]} [labels] of the columns
 */

class HeatMap {
  /**
   * @param {object} set
   * @param {string} set.title
   * @param {() => Line[]} set.lines
   * @param {() => Panel[]} set.panels
   * @param {(line: Line, panel: number, column: number) => string[]} set.tip
   * @param {(line: Line, panel: number, column: number) => void} set.choose
   * @param {(line: Line, open: boolean) => void} [set.fold]
   * @param {() => void} [set.moved]
   */
  constructor(set) {
    this.set = set;
    this.id = `map${maps++}`;
    /** @type {Line[]} */
    this.lines = [];
    /** @type {Panel[]} */
    this.panels = [];
    this.cursor = { row: 0, panel: 0, column: 0 };
    /** @type {string|null} */
    this.chosen = null;
    /** @type {any[]} */
    this.canvases = [];
    /** @type {[number, number]|null} */
    this.range = null;
    this.labels = h("div", { class: "labels", role: "presentation" });
    this.stick = h("div", { class: "stick" }, this.labels);
    this.space = h("div", {});
    this.box = h("div", {
      class: "map", tabindex: 0, role: "treegrid", "aria-label": `${set.title}. Arrows move, + and - fold, Enter chooses, z and Z zoom.`,
      scroll: () => this.draw(), keydown: (/** @type {KeyboardEvent} */ e) => this.key(e),
    }, this.stick, this.space);
    this.heads = h("div", { class: "heads" });
    this.feet = h("div", { class: "feet" });
    this.element = h("div", {}, this.heads, this.box, this.feet);
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  /** Read rows and panels anew. */
  update() {
    this.lines = this.set.lines();
    this.panels = this.set.panels();
    this.cursor.row = Math.min(this.cursor.row, Math.max(0, this.lines.length - 1));
    this.cursor.panel = Math.min(this.cursor.panel, Math.max(0, this.panels.length - 1));
    const shown = Math.max(1, Math.min(this.lines.length, LONGEST)) * ROW;
    this.box.style.height = `${shown + 2}px`;
    this.space.style.height = `${this.lines.length * ROW}px`;
    this.stick.replaceChildren(this.labels);
    this.canvases = this.panels.map((panel, i) => {
      const canvas = h("canvas", {
        "aria-hidden": "true", mousemove: (/** @type {MouseEvent} */ e) => this.hover(e, i), mouseleave: () => tip(null),
        click: (/** @type {MouseEvent} */ e) => this.click(e, i), dblclick: () => this.fold(this.cursor.row),
      });
      this.stick.append(h("div", { class: "panel" }, canvas));
      return canvas;
    });
    this.box.setAttribute("aria-rowcount", this.lines.length);
    this.draw();
  }

  /** The ends of what is shown of the axis of columns. @returns {[number, number]} */
  ends() {
    if (this.range) return this.range;
    const starts = this.panels.map((p) => p.edges[0]), stops = this.panels.map((p) => p.edges[p.edges.length - 1]);
    return [Math.min(...starts), Math.max(...stops)];
  }

  /** The column of a panel at a place of the axis; -1 if there is none. @param {Panel} panel @param {number} at */
  columnAt(panel, at) {
    const edges = panel.edges;
    if (at < edges[0] || at >= edges[edges.length - 1]) return -1;
    let low = 0, high = edges.length - 2;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (edges[middle] <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** For each pixel, the columns that it shows. @param {Panel} panel @param {number} width */
  pixels(panel, width) {
    const [low, high] = this.ends();
    const first = new Int32Array(width).fill(-1), last = new Int32Array(width).fill(-2);
    for (let x = 0; x < width; x++) {
      first[x] = this.columnAt(panel, low + ((high - low) * x) / width);
      last[x] = Math.max(first[x], this.columnAt(panel, low + ((high - low) * (x + 0.999)) / width));
      if (first[x] < 0) first[x] = last[x];
    }
    return { first, last };
  }

  /** What a pixel shows of a row. @param {Panel} panel @param {Float32Array} values @param {number} first @param {number} last */
  shown(panel, values, first, last) {
    if (first === last) return values[first];
    let found = NaN, count = 0;
    for (let c = first; c <= last; c++) {
      const v = values[c];
      if (Number.isNaN(v)) continue;
      found = count === 0 ? v : panel.most ? Math.max(found, v) : found + v;
      count++;
    }
    return panel.most || count === 0 ? found : found / count;
  }

  draw() {
    if (!this.canvases.length || !this.box.isConnected) return;
    const top = Math.floor(this.box.scrollTop / ROW), offset = this.box.scrollTop - top * ROW;
    const count = Math.min(this.lines.length - top, Math.ceil(this.box.clientHeight / ROW) + 1);
    this.drawLabels(top, count, offset);
    const hole = [0, 2, 4].map((i) => parseInt(styled("--hole").slice(1 + i, 3 + i), 16));
    this.canvases.forEach((canvas, p) => {
      const panel = this.panels[p], ratio = devicePixelRatio || 1;
      const width = Math.max(1, Math.round(canvas.parentElement.clientWidth * ratio)), tall = Math.round(ROW * ratio), gap = Math.max(1, Math.round(ratio));
      canvas.width = width;
      canvas.height = Math.max(1, count * tall);
      canvas.style.height = `${count * ROW}px`;
      canvas.style.marginTop = `${-offset}px`;
      const context = canvas.getContext("2d"), { first, last } = this.pixels(panel, width);
      const image = context.createImageData(width, Math.max(1, count * tall)), data = new Uint32Array(image.data.buffer);
      const line = new Uint32Array(width);
      const packed = (/** @type {number[]} */ c) => (255 << 24) | (c[2] << 16) | (c[1] << 8) | c[0];
      const palette = panel.scale.colours.map(packed), wrong = packed(WRONG), none = packed(hole);
      for (let r = 0; r < count; r++) {
        const values = panel.values(this.lines[top + r]);
        for (let x = 0; x < width; x++) {
          if (first[x] < 0) line[x] = 0;
          else {
            const v = this.shown(panel, values, first[x], last[x]);
            line[x] = Number.isNaN(v) ? none : Number.isFinite(v) ? palette[Math.round(255 * panel.scale.place(v))] : wrong;
          }
        }
        for (let y = 0; y < tall - gap; y++) data.set(line, (r * tall + y) * width);
      }
      context.putImageData(image, 0, 0);
      this.drawCursor(context, p, top, width, tall, ratio);
    });
    this.set.moved?.();
  }

  /** @param {any} context @param {number} p @param {number} top @param {number} width @param {number} tall @param {number} ratio */
  drawCursor(context, p, top, width, tall, ratio) {
    const [low, high] = this.ends(), own = this.panels[this.cursor.panel], panel = this.panels[p];
    const start = own?.edges[this.cursor.column];
    const column = p === this.cursor.panel ? this.cursor.column : start === undefined ? -1 : this.columnAt(panel, start);
    if (column < 0 || column >= panel.edges.length - 1) return;
    const x0 = ((panel.edges[column] - low) / (high - low)) * width, x1 = ((panel.edges[column + 1] - low) / (high - low)) * width;
    const y = (this.cursor.row - top) * tall;
    for (const [colour, wide] of [["#000000", 4], ["#ffffff", 2]]) {
      context.strokeStyle = colour;
      context.lineWidth = Number(wide) * ratio;
      context.strokeRect(x0, y + ratio, Math.max(3 * ratio, x1 - x0), tall - 3 * ratio);
    }
  }

  /** @param {number} top @param {number} count @param {number} offset */
  drawLabels(top, count, offset) {
    const rows = [];
    for (let r = top; r < top + count; r++) {
      const line = this.lines[r], here = r === this.cursor.row;
      rows.push(h("div", {
        class: `row${here ? " here" : ""}${line.key === this.chosen ? " chosen" : ""}`, id: `${this.id}row${r}`, role: "row", title: line.key,
        "aria-level": line.depth + 1, "aria-rowindex": r + 1, "aria-expanded": line.open === null ? null : String(line.open), click: () => this.choose(r, this.cursor.panel, this.cursor.column),
      },
        h("span", { class: "twist", click: (/** @type {Event} */ e) => { e.stopPropagation(); this.fold(r); } }, line.open === null ? "" : line.open ? "▾" : "▸"),
        h("span", { class: "text", role: "rowheader" }, line.label), line.count ? h("span", { class: "count" }, line.count) : null,
        line.flag ? h("span", { class: "flag", title: "a warning", "aria-label": "a warning" }, "▲") : null));
      const at = rows[rows.length - 1].style;
      at.top = `${(r - top) * ROW - offset}px`;
      at.paddingLeft = `${line.depth * 13}px`;
    }
    this.labels.replaceChildren(...rows);
    this.box.setAttribute("aria-activedescendant", `${this.id}row${this.cursor.row}`);
  }

  /** @param {MouseEvent} event @param {number} p @returns {{row: number, column: number}} */
  at(event, p) {
    const box = this.canvases[p].getBoundingClientRect(), [low, high] = this.ends();
    const row = Math.floor(this.box.scrollTop / ROW) + Math.floor((event.clientY - box.top) / ROW);
    return { row, column: this.columnAt(this.panels[p], low + ((event.clientX - box.left) / box.width) * (high - low)) };
  }

  /** @param {MouseEvent} event @param {number} p */
  hover(event, p) {
    const { row, column } = this.at(event, p);
    if (column < 0 || !this.lines[row]) return tip(null);
    tip(event, this.set.tip(this.lines[row], p, column));
  }

  /** @param {MouseEvent} event @param {number} p */
  click(event, p) {
    const { row, column } = this.at(event, p);
    if (this.lines[row]) this.choose(row, p, column < 0 ? this.cursor.column : column);
  }

  /** @param {number} row @param {number} panel @param {number} column */
  choose(row, panel, column) {
    this.cursor = { row, panel, column };
    this.chosen = this.lines[row].key;
    this.show();
    this.set.choose(this.lines[row], panel, column);
  }

  /** @param {number} row */
  fold(row) {
    const line = this.lines[row];
    if (line && line.open !== null && this.set.fold) {
      this.set.fold(line, !line.open);
      this.update();
      say(`${line.label} ${line.open ? "folded" : "unfolded"}, ${this.lines.length} rows`);
    }
  }

  /** Bring the cursor into sight. */
  show() {
    const y = this.cursor.row * ROW;
    if (y < this.box.scrollTop) this.box.scrollTop = y;
    if (y + ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = y + ROW - this.box.clientHeight;
    this.draw();
  }

  /** @param {number} factor of the present range; 0 for all */
  zoom(factor) {
    const [low, high] = this.ends(), panel = this.panels[this.cursor.panel];
    if (!panel) return;
    this.range = null;
    const [start, stop] = this.ends(), half = ((high - low) * factor) / 2;
    const middle = Math.min(Math.max(panel.edges[this.cursor.column] ?? low, start + half), stop - half);
    if (factor && 2 * half < stop - start && half > 0.5) this.range = [middle - half, middle + half];
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const c = this.cursor, panel = this.panels[c.panel], last = this.lines.length - 1, page = LONGEST - 2;
    if (!panel || event.ctrlKey || event.metaKey || event.altKey) return;
    const columns = panel.edges.length - 2, step = event.shiftKey ? 10 : 1, line = this.lines[c.row];
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowUp: () => (c.row = Math.max(0, c.row - step)), ArrowDown: () => (c.row = Math.min(last, c.row + step)),
      PageUp: () => (c.row = Math.max(0, c.row - page)), PageDown: () => (c.row = Math.min(last, c.row + page)),
      Home: () => (c.column = 0), End: () => (c.column = columns),
      ArrowLeft: () => { if (c.column > 0) c.column = Math.max(0, c.column - step); else if (c.panel > 0) { c.panel--; c.column = this.panels[c.panel].edges.length - 2; } },
      ArrowRight: () => { if (c.column < columns) c.column = Math.min(columns, c.column + step); else if (c.panel < this.panels.length - 1) { c.panel++; c.column = 0; } },
      Enter: () => this.choose(c.row, c.panel, c.column), " ": () => this.fold(c.row),
      "+": () => { if (line?.open === false) this.fold(c.row); }, "-": () => { if (line?.open) this.fold(c.row); },
      z: () => this.zoom(0.5), Z: () => this.zoom(2),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    this.show();
    const at = this.lines[this.cursor.row];
    if (at && event.key !== "Enter" && event.key !== " ") say(this.set.tip(at, this.cursor.panel, this.cursor.column).join(", "));
  }

  /** The rows in sight as an SVG, neighbours of one colour as one rectangle. */
  svg() {
    const wide = 620, left = 220, count = Math.min(this.lines.length, 400), ink = styled("--ink");
    const picture = s("svg", { xmlns: "http://www.w3.org/2000/svg", width: left + this.panels.length * (wide + 16), height: count * ROW + 40, "font-family": "sans-serif", "font-size": 11 });
    picture.append(s("title", {}, this.set.title), s("rect", { width: "100%", height: "100%", fill: styled("--paper") }));
    const [low, high] = this.ends();
    for (let r = 0; r < count; r++) picture.append(s("text", { x: 4 + this.lines[r].depth * 10, y: 20 + r * ROW + 13, fill: ink }, `${this.lines[r].label} ${this.lines[r].count}`));
    this.panels.forEach((panel, p) => {
      const x = left + p * (wide + 16), { first, last } = this.pixels(panel, wide);
      picture.append(s("text", { x, y: 13, fill: ink }, panel.name || this.set.title));
      picture.append(s("text", { x, y: 34 + count * ROW, fill: ink }, told(low)), s("text", { x: x + wide, y: 34 + count * ROW, fill: ink, "text-anchor": "end" }, told(high)));
      for (let r = 0; r < count; r++) {
        const values = panel.values(this.lines[r]);
        let from = 0, before = "";
        for (let at = 0; at <= wide; at++) {
          const v = at < wide && first[at] >= 0 ? this.shown(panel, values, first[at], last[at]) : NaN;
          const colour = at === wide || Number.isNaN(v) ? "" : rgb(Number.isFinite(v) ? panel.scale.colour(v) : WRONG);
          if (colour === before && at < wide) continue;
          if (before) picture.append(s("rect", { x: x + from, y: 20 + r * ROW, width: at - from, height: ROW - 1, fill: before }));
          from = at;
          before = colour;
        }
      }
    });
    return picture;
  }

  /** @param {string} name of the file */
  keepPng(name) {
    const svg = this.svg(), width = Number(svg.getAttribute("width")), height = Number(svg.getAttribute("height"));
    const image = new Image();
    image.onload = () => {
      const canvas = h("canvas", { width: 2 * width, height: 2 * height });
      canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
      canvas.toBlob((/** @type {Blob} */ blob) => keep(name, blob));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  }

  /** The numbers of all rows as they are folded. */
  numbers() {
    const head = ["row", ...this.panels.flatMap((p) => Array.from({ length: p.edges.length - 1 }, (_, i) => `${p.name} ${p.column(i)}`.trim()))];
    return [head, ...this.lines.map((line) => [line.key || "(model)", ...this.panels.flatMap((p) => [...p.values(line)])])];
  }

  /** Buttons that keep the map as a file. @param {string} name */
  exports(name) {
    return h("span", { class: "right" }, "Export", button("CSV", () => keep(`${name}.csv`, csv(this.numbers()), "text/csv"), { class: "csv" }),
      button("PNG", () => this.keepPng(`${name}.png`), { class: "png" }), button("SVG", () => keep(`${name}.svg`, svgText(this.svg()), "image/svg+xml"), { class: "svg" }));
  }
}
