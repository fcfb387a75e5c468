// @ts-check
// Elements, numbers as text, colours, files to keep. Data only ever becomes text nodes and attributes, never markup or code.

/**
 * An element; strings among the children become text nodes.
 * @param {string} tag
 * @param {Record<string, any>} [set] attributes; functions become listeners
 * @param {...(Node|string|number|null|undefined|false)} children
 * @returns {any}
 */
function h(tag, set = {}, ...children) {
  return fill(document.createElement(tag), set, children);
}

/** The same for SVG. @param {string} tag @param {Record<string, any>} [set] @param {...any} children @returns {any} */
function s(tag, set = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), set, children);
}

/** @param {any} element @param {Record<string, any>} set @param {any[]} children */
function fill(element, set, children) {
  for (const [name, value] of Object.entries(set)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  return element;
}

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/** Data as `document.py` has written it. @param {any} value @returns {Promise<any>} */
async function decoded(value) {
  if (Array.isArray(value)) return Promise.all(value.map(decoded));
  if (value === null || typeof value !== "object") return value;
  if (!("$" in value)) {
    const entries = await Promise.all(Object.entries(value).map(async ([name, inner]) => [name, await decoded(inner)]));
    return Object.fromEntries(entries);
  }
  if (!("data" in value)) return Number({ nan: NaN, inf: Infinity, "-inf": -Infinity }[/** @type {"nan"} */ (value.$)]);
  const text = atob(value.data);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  if (value.$ === "f4") return new Float32Array(buffer);
  if (value.$ === "i4") return new Int32Array(buffer);
  const bytes = new Uint8Array(buffer);
  if (value.$ === "u1") return bytes;
  const columns = value.shape[value.shape.length - 1], rows = bytes.length / columns;
  const [low, high] = await Promise.all([decoded(value.low), decoded(value.high)]);
  const numbers = new Float32Array(bytes.length);
  const levels = new Float64Array(256);
  for (let r = 0; r < rows; r++) {
    for (let code = 3; code < 256; code++) {
      const v = low[r] + ((code - 3) * (high[r] - low[r])) / 252;
      levels[code] = value.log ? 10 ** v : v;
    }
    levels.set([NaN, 0, Infinity]);
    for (let i = r * columns; i < (r + 1) * columns; i++) numbers[i] = levels[bytes[i]];
  }
  return numbers;
}

/** A number in few characters. @param {number|null|undefined} v */
function told(v) {
  if (v === null || v === undefined || Number.isNaN(v)) return "–";
  if (!Number.isFinite(v)) return v > 0 ? "infinite" : "-infinite";
  const size = Math.abs(v);
  if (v === 0) return "0";
  return size >= 1e5 || size < 1e-3 ? v.toExponential(2) : String(Number(v.toPrecision(4)));
}

const SCALES = {
  viridis: ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6dcd59", "#b4de2c", "#fde725"],
  cividis: ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"],
  // Blue and orange are told apart by all; the middle is neither.
  diverging: ["#0d3b8c", "#2f78c4", "#8bbce6", "#dfe6ec", "#f3c08a", "#d9761e", "#8c3d00"],
};
const WRONG = [230, 0, 126];

/** 256 colours of a scale, as [r, g, b]. @param {"viridis"|"cividis"|"diverging"} name @returns {number[][]} */
function colours(name) {
  const stops = SCALES[name].map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (stops.length - 1);
    const j = Math.min(Math.floor(at), stops.length - 2);
    return stops[j].map((v, k) => Math.round(v + (stops[j + 1][k] - v) * (at - j)));
  });
}

/** @param {number[]} c */
const rgb = (c) => `rgb(${c[0]},${c[1]},${c[2]})`;

/** @param {string} name the name of a colour in the style */
const styled = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Where numbers lie on a scale, 0 to 1. */
class Scale {
  /** @param {"log"|"linear"|"diverging"} kind @param {number} low @param {number} high */
  constructor(kind, low, high) {
    this.kind = kind;
    this.low = low;
    this.high = high > low ? high : low + (Math.abs(low) || 1);
    this.colours = colours(kind === "diverging" ? "diverging" : kind === "log" ? "viridis" : "cividis");
    this.logLow = kind === "log" ? Math.log10(this.low) : 0;
    this.logSpan = kind === "log" ? Math.log10(this.high) - this.logLow || 1 : 1;
  }

  /** The scale of some numbers. @param {"log"|"linear"|"diverging"} kind @param {Iterable<Float32Array>} arrays */
  static of(kind, arrays) {
    let low = Infinity, high = -Infinity;
    for (const array of arrays) {
      for (const v of array) {
        if (!Number.isFinite(v) || (kind === "log" && v <= 0)) continue;
        if (v < low) low = v;
        if (v > high) high = v;
      }
    }
    if (low > high) [low, high] = kind === "log" ? [0.1, 1] : [0, 1];
    if (kind === "diverging") {
      high = Math.max(Math.abs(low), Math.abs(high)) || 1;
      low = -high;
    }
    // The last decades below are those of single numbers.
    if (kind === "log") low = Math.max(low, high * 1e-16);
    return new Scale(kind, low, high);
  }

  /** @param {number} v */
  place(v) {
    const at = this.kind === "log" ? (v > 0 ? (Math.log10(v) - this.logLow) / this.logSpan : 0) : (v - this.low) / (this.high - this.low);
    return Math.min(1, Math.max(0, at));
  }

  /** @param {number} v @returns {number[]} */
  colour(v) {
    return this.colours[Math.round(255 * this.place(v))];
  }

  /** The scale with its ends, and what its other colours mean. */
  legend() {
    const canvas = h("canvas", { width: 256, height: 1, "aria-hidden": "true" });
    const context = canvas.getContext("2d");
    this.colours.forEach((c, i) => {
      context.fillStyle = rgb(c);
      context.fillRect(i, 0, 1, 1);
    });
    const name = `${told(this.low)} to ${told(this.high)}${this.kind === "log" ? ", logarithmic" : ""}`;
    return h("span", { class: "legend", role: "img", "aria-label": `Colours from ${name}` }, told(this.low), canvas, told(this.high),
      this.kind === "log" ? h("span", {}, "(log)") : null, h("span", { class: "swatch wrong" }), "NaN, infinite", h("span", { class: "swatch hole" }), "none");
  }
}

/** Text for people who do not see the picture. @param {string} text */
function say(text) {
  byId("say").textContent = text;
}

/** @param {MouseEvent|null} event @param {string[]} [lines] */
function tip(event, lines) {
  const box = byId("tip");
  box.hidden = !event || !lines;
  if (!event || !lines) return;
  box.textContent = lines.join("\n");
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 6))}px`;
  box.style.top = `${event.clientY + height + 24 > innerHeight ? event.clientY - height - 10 : event.clientY + 16}px`;
}

/** Let the reader keep a file. @param {string} name @param {Blob|string} content @param {string} [type] */
function keep(name, content, type = "text/plain") {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = h("a", { href: url, download: name.replace(/[^\w.-]+/g, "_") });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** @param {any[][]} rows */
function csv(rows) {
  // A text that a spreadsheet would take for a formula begins with an apostrophe.
  const cell = (/** @type {any} */ v) => {
    if (typeof v === "number") return Number.isFinite(v) ? String(v) : Number.isNaN(v) ? "" : v > 0 ? "inf" : "-inf";
    const text = String(v ?? "");
    return `"${(/^[=+\-@\t\r]/.test(text) ? "'" + text : text).replace(/"/g, '""')}"`;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** An SVG element as a file of its own. @param {any} svg */
function svgText(svg) {
  return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(svg);
}

/** @param {string[]} head @param {any[][]} rows @param {number} [most] */
function table(head, rows, most = 400) {
  const shown = rows.slice(0, most);
  const cell = (/** @type {any} */ v) => (typeof v === "number" ? h("td", { class: "number" }, told(v)) : h("td", {}, v ?? ""));
  return h("div", { class: "table", tabindex: 0 },
    h("table", {},
      h("thead", {}, h("tr", {}, ...head.map((name, i) => h("th", { scope: "col", class: typeof rows[0]?.[i] === "number" ? "number" : null }, name)))),
      h("tbody", {}, ...shown.map((row) => h("tr", {}, ...row.map(cell))))),
    rows.length > most ? h("p", { class: "dim" }, `${rows.length - most} more are in the CSV file.`) : null);
}

/** @param {string} label @param {[string, string][]} options @param {string} chosen @param {(value: string) => void} then */
function select(label, options, chosen, then) {
  const box = h("select", { change: () => then(box.value) }, ...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  return h("label", {}, label, box);
}

/** @param {string} text @param {() => void} then @param {Record<string, any>} [set] */
const button = (text, then, set = {}) => h("button", { type: "button", click: then, ...set }, text);
