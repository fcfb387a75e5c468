// @ts-check
// Modules as a tree of their dotted paths, in which blocks of equal structure are one row with a spread.

/**
 * @typedef {object} Branch
 * @property {string} path of the module; with "*" for several
 * @property {string} label
 * @property {number[]} rows numbers of the series that are its own
 * @property {Map<string, Branch>} kids
 * @property {Branch[]} shown what is below it when it is unfolded
 * @property {Branch|null} parent
 * @property {number} group of so many blocks it stands for; 0 for one module
 * @property {boolean} open
 */

/** @param {string} path @param {string} label @returns {Branch} */
const branch = (path, label) => ({ path, label, rows: [], kids: new Map(), shown: [], parent: null, group: 0, open: false });

/** @param {string[]} names @returns {Branch} */
function treeOf(names) {
  const root = branch("", "(model)");
  names.forEach((name, i) => {
    let at = root;
    if (name !== "") {
      for (const part of name.split(".")) {
        const found = at.kids.get(part) ?? branch(at === root ? part : `${at.path}.${part}`, part);
        at.kids.set(part, found);
        at = found;
      }
    }
    at.rows.push(i);
  });
  arrange(root, new Map());
  root.open = true;
  // What fits is unfolded.
  for (let wave = root.shown; wave.length && lines(root).length + wave.reduce((n, b) => n + b.shown.length, 0) <= 28; ) {
    for (const one of wave) one.open = one.shown.length > 0;
    wave = wave.filter((b) => b.open).flatMap((b) => b.shown);
  }
  return root;
}

/** What a branch and all below it look like. @param {Branch} one @param {Map<Branch, string>} known @returns {string} */
function structure(one, known) {
  let text = known.get(one);
  if (text === undefined) {
    text = (one.rows.length ? "*" : "") + "(" + [...one.kids].map(([name, kid]) => name + structure(kid, known)).join() + ")";
    known.set(one, text);
  }
  return text;
}

/** Fill `shown` of a branch and of all below: equal blocks become one group. @param {Branch} one @param {Map<Branch, string>} known */
function arrange(one, known) {
  /** @type {Map<string, Branch[]>} */
  const alike = new Map();
  for (const [name, kid] of one.kids) {
    const like = /\d/.test(name) ? `${name.replace(/\d+/g, "#")} ${structure(kid, known)}` : name;
    alike.set(like, [...(alike.get(like) ?? []), kid]);
  }
  for (const kids of alike.values()) {
    // Neighbours without anything inside, such as the layers of a sequence, may be of different kinds.
    if (kids.length < (kids[0].kids.size ? 3 : 16)) {
      for (const kid of kids) add(one, kid, known);
      continue;
    }
    const all = merged(kids, `${kids[0].path.slice(0, kids[0].path.length - kids[0].label.length)}*`);
    all.label = `${kids[0].label} … ${kids[kids.length - 1].label}`;
    all.group = kids.length;
    add(one, all, known);
    for (const kid of kids) add(all, kid, known);
  }
}

/** @param {Branch} parent @param {Branch} kid @param {Map<Branch, string>} known */
function add(parent, kid, known) {
  kid.parent = parent;
  parent.shown.push(kid);
  arrange(kid, known);
}

/** One branch for several of equal structure. @param {Branch[]} kids @param {string} path @returns {Branch} */
function merged(kids, path) {
  const all = branch(path, kids[0].label);
  all.group = kids.length;
  all.rows = kids.flatMap((kid) => kid.rows);
  for (const name of kids[0].kids.keys()) all.kids.set(name, merged(kids.map((kid) => /** @type {Branch} */ (kid.kids.get(name))), `${path}.${name}`));
  return all;
}

/** Those that are seen: [branch, depth]. @param {Branch} root @returns {[Branch, number][]} */
function lines(root) {
  /** @type {[Branch, number][]} */
  const found = [];
  const walk = (/** @type {Branch} */ one, /** @type {number} */ depth) => {
    found.push([one, depth]);
    if (one.open) for (const kid of one.shown) walk(kid, depth + 1);
  };
  if (root.rows.length) walk(root, 0);
  else for (const kid of root.shown) walk(kid, 0);
  return found;
}

/** The series that a branch shows: its own, or, if it has none, all within it. @param {Branch} one @returns {number[]} */
function seriesOf(one) {
  return one.rows.length ? one.rows : [...one.kids.values()].flatMap(seriesOf);
}

/** All series of a branch. @param {Branch} one @returns {number[]} */
function within(one) {
  return [...one.rows, ...[...one.kids.values()].flatMap(within)];
}

/** Unfold the way to a series, past groups to the module itself. @param {Branch} root @param {number} row @returns {Branch} */
function reveal(root, row) {
  let at = root;
  for (;;) {
    if (!at.group && at.rows.includes(row)) return at;
    // Of a group, the blocks themselves come after what is the same in all.
    const next = at.shown.filter((kid) => within(kid).includes(row)).pop();
    if (!next) return at;
    at.open = true;
    at = next;
  }
}

/** @param {Branch} root @param {boolean} open */
function openAll(root, open) {
  for (const one of root.shown) {
    one.open = open && one.shown.length > 0;
    openAll(one, open);
  }
}
