// @ts-check
// Curves over steps with their spread, and a histogram over time.

/** @typedef {{name: string, run: number, at: ArrayLike<number>, mid: ArrayLike<number>, low?: ArrayLike<number>, high?: ArrayLike<number>}} Curve */

/**
 * @param {Curve[]} curves
 * @param {{title: string, log?: boolean, ends?: [number, number], at?: number, tall?: number, wide?: number, ticks?: boolean, marks?: {at: number, text: string, go: () => void}[]}} set
 */
function chart(curves, set) {
  const wide = set.wide ?? 620, tall = set.tall ?? 190, left = set.ticks === false ? 0 : 56, bottom = set.ticks === false ? 2 : 18;
  const stops = curves.flatMap((c) => [c.at[0], c.at[c.at.length - 1]]).filter(Number.isFinite);
  const [low, high] = set.ends ?? [Math.min(...stops), Math.max(...stops)];
  // Only what is seen makes the scale.
  const seen = curves.flatMap((c) => [c.mid, c.low ?? [], c.high ?? []].map((a) => Float32Array.from(a).filter((_, i) => c.at[i] >= low && c.at[i] <= high)));
  const scale = Scale.of(set.log ? "log" : "linear", seen);
  const x = (/** @type {number} */ v) => left + ((v - low) / (high - low || 1)) * (wide - left), y = (/** @type {number} */ v) => 6 + (1 - scale.place(v)) * (tall - bottom - 8);
  const picture = s("svg", { viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": set.title, preserveAspectRatio: "none" }, s("title", {}, set.title));
  if (set.ticks !== false) {
    picture.setAttribute("preserveAspectRatio", "xMidYMid meet");
    for (let i = 0; i <= 4; i++) {
      const v = set.log ? 10 ** (scale.logLow + (scale.logSpan * i) / 4) : scale.low + ((scale.high - scale.low) * i) / 4;
      picture.append(s("line", { class: "axis", x1: left, x2: wide, y1: y(v), y2: y(v) }), s("text", { x: left - 5, y: y(v) + 4, "text-anchor": "end" }, told(v)));
      const step = low + ((high - low) * i) / 4;
      picture.append(s("text", { x: x(step), y: tall - 3, "text-anchor": i === 0 ? "start" : i === 4 ? "end" : "middle" }, told(Math.round(step))));
    }
  }
  for (const c of curves) {
    const points = Array.from(c.at, (at, i) => /** @type {[number, number]} */ ([at, c.mid[i]])).filter(([at]) => at >= low && at <= high);
    if (c.low && c.high) {
      const there = Array.from(c.at, (_, i) => i).filter((i) => Number.isFinite(/** @type {any} */ (c.low)[i]) && c.at[i] >= low && c.at[i] <= high);
      const edge = [...there.map((i) => [i, /** @type {any} */ (c.high)[i]]), ...there.reverse().map((i) => [i, /** @type {any} */ (c.low)[i]])];
      if (edge.length) picture.append(s("path", { class: `band run${c.run % 4}`, d: `M${edge.map(([i, v]) => `${x(c.at[i]).toFixed(1)} ${y(v).toFixed(1)}`).join("L")}Z` }));
    }
    // A gap where nothing finite is.
    let pen = "M", d = "";
    for (const [at, v] of points) {
      if (Number.isFinite(v)) d += `${pen}${x(at).toFixed(1)} ${y(v).toFixed(1)}`;
      pen = Number.isFinite(v) ? "L" : "M";
    }
    if (points.length === 1) d += "h3";
    picture.append(s("path", { class: `curve run${c.run % 4}`, d, "stroke-dasharray": c.run ? `${7 - c.run} 3` : null, "vector-effect": "non-scaling-stroke" }, s("title", {}, c.name)));
  }
  if (set.at !== undefined) picture.append(s("line", { class: "at", x1: x(set.at), x2: x(set.at), y1: 0, y2: tall - bottom, "vector-effect": "non-scaling-stroke" }));
  for (const mark of set.marks ?? []) {
    if (mark.at < low || mark.at > high) continue;
    picture.append(s("path", { class: "warn", d: `M${x(mark.at)} ${tall - 12}l-5 11h10z`, tabindex: 0, role: "button", "aria-label": mark.text, click: mark.go,
      keydown: (/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter") mark.go(); } }, s("title", {}, mark.text)));
  }
  return picture;
}

/** A histogram for each of some steps, its values over one axis. @param {any} found @param {number} row @param {number[]} shape @param {string} title */
function overTime(found, row, shape, title) {
  const [, times, bins] = shape, wide = 620, tall = 190, left = 56;
  const at = (/** @type {any} */ array, /** @type {number} */ t) => array[row * times + t];
  const steps = [...found.steps], there = steps.map((_, t) => t).filter((t) => Number.isFinite(at(found.low, t)));
  const sizes = there.flatMap((t) => [Math.abs(at(found.low, t)), Math.abs(at(found.high, t))]).filter((v) => v > 0).sort((a, b) => a - b);
  // Like a logarithm on both sides of 0, so that one explosion doesn't hide the rest.
  const unit = sizes[Math.floor(sizes.length / 4)] || 1, bend = (/** @type {number} */ v) => Math.asinh(v / unit);
  const low = bend(Math.min(...there.map((t) => at(found.low, t)))), high = bend(Math.max(...there.map((t) => at(found.high, t))));
  const y = (/** @type {number} */ v) => 4 + (1 - (bend(v) - low) / (high - low || 1)) * (tall - 24), palette = colours("cividis");
  const picture = s("svg", { viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": title }, s("title", {}, title));
  there.forEach((t, i) => {
    const x0 = left + ((wide - left) * i) / there.length, width = (wide - left) / there.length, span = (at(found.high, t) - at(found.low, t) || 1) / bins;
    for (let b = 0; b < bins; b++) {
      const share = found.shares[(row * times + t) * bins + b], from = at(found.low, t) + b * span;
      if (share) picture.append(s("rect", { x: x0, y: y(from + span), width: width + 0.3, height: Math.max(0.6, y(from) - y(from + span)), fill: rgb(palette[share]) }));
    }
  });
  for (let i = 0; i <= 4; i++) {
    const v = Math.sinh(low + ((high - low) * i) / 4) * unit;
    picture.append(s("text", { x: left - 5, y: y(v) + 4, "text-anchor": "end" }, told(v)));
  }
  picture.append(s("text", { x: left, y: tall - 3 }, told(steps[there[0]])), s("text", { x: wide, y: tall - 3, "text-anchor": "end" }, told(steps[there[there.length - 1]])));
  return picture;
}
