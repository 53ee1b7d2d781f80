// Hulls along a path: the slider redraws grid, graph and relevance from states that came with the page; a click, or Enter, tells a node.
const LARGEST = 17; // px, radius; areas are proportional to the norm above the smallest
const SMALLEST = 3.5;
const ROW = 58; // px between depths
const LANE = 28; // px between the lines of one depth
const WIDE = 820; // px from which three panels stand side by side
const NARROW = 520;
const LONGEST = 20; // letters of a label

// A long name loses words from its middle, as in Python (`style.cut`); a word is cut only where it fills the label alone.
function short(name) {
  if (name.length <= LONGEST) return name;
  const words = name.split(/(?<=[\s_.-])/);
  let best = "";
  for (let first = 0; first < words.length; first++)
    for (let last = first + 1; last <= words.length; last++) {
      const label = words.slice(0, first).join("").trimEnd() + "…" + words.slice(last).join("");
      if (label.length <= LONGEST && label.length > Math.max(best.length, (2 * LONGEST) / 3)) best = label;
    }
  return best || name.slice(0, 6) + "…" + name.slice(7 - LONGEST);
}
// A product is written factor by factor.
const named = (name) => (name.length <= LONGEST ? [name] : name.split(/(?<=·|, )/).map(short));
const here = ({ slider, data }) => slider.between || data.states[slider.index];

function newView(root) {
  const find = (name) => root.querySelector(name);
  const view = { root: find(".hull"), badge: find(".badge"), said: find(".said"), bars: find(".bars") };
  Object.assign(view, { grid: find(".grid svg"), graph: find(".graph svg"), picked: find(".picked") });
  for (const picture of ["grid", "graph"]) view[picture + "Marks"] = new Marks(view[picture], (id) => pick(view, id));
  // A hull takes longer to read than a bar.
  view.slider = new Slider(root, { paint: () => paint(view), stepTime: 250, title: "Play along the path" });
  view.resized = new ResizeObserver(() => fit(view));
  return view;
}

function pick(view, id) {
  view.selected = id;
  paint(view);
  view.tell("picked", { node: id, time: Date.now() });
}

// What stays while the cursor moves

function fit(view) {
  const width = view.root.clientWidth;
  if (!width || width === view.width) return;
  view.width = width;
  view.root.classList.toggle("medium", width < WIDE && width >= NARROW);
  view.root.classList.toggle("narrow", width < NARROW);
  view.root.classList.toggle("single", !view.data.grid && !view.data.bars.length);
  build(view);
  paint(view);
}

function build(view) {
  buildGrid(view);
  buildGraph(view);
  buildBars(view);
}

function buildGrid(view) {
  const { grid } = view.data;
  const svg = view.grid;
  view.gridMarks.hold();
  svg.replaceChildren();
  svg.parentElement.style.display = grid ? "" : "none";
  if (!grid) return;
  const count = grid.top + 1;
  const width = svg.parentElement.clientWidth;
  const cell = Math.max(20, Math.min(46, (width - 48) / count));
  const bottom = 8 + cell * count;
  set(svg, { height: bottom + 40 });
  for (let level = 0; level < count; level++) {
    const across = make(svg, "text", { x: 40 + cell * (level + 0.5), y: bottom + 15, "text-anchor": "middle", class: "quiet" });
    const up = make(svg, "text", { x: 32, y: bottom - cell * (level + 0.5) + 4, "text-anchor": "end", class: "quiet" });
    across.textContent = up.textContent = level;
  }
  const middle = bottom - (cell * count) / 2;
  make(svg, "text", { x: 40 + (cell * count) / 2, y: bottom + 33, "text-anchor": "middle", class: "quiet" }).textContent =
    "level of " + short(grid.first);
  make(svg, "text", { transform: `translate(11 ${middle}) rotate(-90)`, "text-anchor": "middle", class: "quiet" }).textContent =
    "level of " + short(grid.second);
  view.cells = make(svg, "g");
  view.cellSize = cell;
  view.cellBottom = bottom;
}

function buildGraph(view) {
  const { nodes } = view.data;
  const svg = view.graph;
  view.graphMarks.hold();
  svg.replaceChildren();
  const width = svg.parentElement.clientWidth;
  const deepest = Math.max(...nodes.map((node) => node.depth));
  const lanes = Array(deepest + 1).fill(1);
  for (const node of nodes) lanes[node.depth] = Math.max(lanes[node.depth], node.lane + 1);
  const tops = [];
  let y = 34;
  for (const count of lanes) {
    tops.push(y);
    y += ROW + LANE * (count - 1);
  }
  const products = nodes.some(({ name }) => name.includes("·"));
  view.graphHeight = y - ROW + (products ? 58 : 46);
  set(svg, { height: view.graphHeight });
  lanes.forEach((count, depth) => {
    const text = make(svg, "text", { x: 0, y: tops[depth] + 4, class: "quiet" });
    text.textContent = depth ? depth : "depth 0";
  });
  const left = 52;
  view.places = nodes.map((node) => ({ x: left + node.x * (width - left - 8), y: tops[node.depth] + LANE * node.lane }));
  view.graphWidth = width;
  view.edges = [];
  nodes.forEach((node, k) =>
    node.parents.forEach((parent) => {
      const [a, b] = [view.places[parent], view.places[k]];
      view.edges.push({ k, parent, line: make(svg, "line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, stroke: "var(--grey)" }) });
    })
  );
  view.marks = nodes.map((node, k) => {
    const group = make(svg, "g", { class: "node", "data-node": node.id });
    const { x, y } = view.places[k];
    const ring = make(group, "circle", { cx: x, cy: y, fill: "none", stroke: "var(--st-primary-color)", "stroke-width": 2 });
    const circle = make(group, "circle", { cx: x, cy: y });
    return { group, ring, circle, title: make(circle, "title") };
  });
  view.words = make(svg, "g", { "pointer-events": "none" });
}

function buildBars(view) {
  view.bars.replaceChildren();
  view.bars.parentElement.style.display = view.data.bars.length ? "" : "none";
  view.lines = view.data.bars.map((name) => {
    const line = cell(view.bars, "div", "line");
    line.setAttribute("role", "listitem");
    const text = cell(line, "span", "name");
    text.textContent = text.title = name;
    const track = cell(line, "span", "track");
    return { line, name, bar: cell(track, "i", "bar"), tick: cell(track, "i", "tick") };
  });
}

// What moves with it

function paint(view) {
  if (!view.marks) return;
  const state = here(view);
  view.slider.show(state.label, state.label + ", " + state.status);
  view.badge.textContent = state.badge;
  view.badge.classList.toggle("sure", state.certified);
  view.badge.classList.toggle("open", !state.certified);
  view.said.textContent = state.status;
  paintGraph(view, state);
  if (view.data.tells) view.picked.textContent = described(view, state);
  if (view.data.grid) paintGrid(view, state);
  // How often a column is selected on other rows is known of the hull alone that Python has drawn.
  const { ticks } = state === (view.data.exact ?? view.data.states[view.data.index]) ? view.data : {};
  view.bars.classList.toggle("ticked", Boolean(ticks));
  view.lines.forEach(({ line, name, bar, tick }, i) => {
    if (ticks) tick.style.left = 100 * ticks[i] + "%";
    bar.style.transform = "scaleX(" + state.bars[i] + ")";
    bar.classList.toggle("hollow", !state.certified);
    line.classList.toggle("zero", state.bars[i] === 0);
    const again = ticks ? `, selected on ${Math.round(100 * ticks[i])} % of the half samples` : "";
    line.setAttribute("aria-label", `${name}: ${Math.round(100 * state.bars[i])} % of the most relevant${again}`);
  });
}

// What the chosen node is at this point, or the hull while none is chosen, where nothing else on the page tells it.
function described(view, state) {
  const k = view.data.nodes.findIndex((node) => node.id === view.selected);
  if (k >= 0) return view.roles[k] ? view.roles[k].hover : view.data.nodes[k].name + ": not here at this λ";
  const found = state.cells.find((cell) => idOf(view.data.grid, cell[0], cell[1]) === view.selected);
  return found ? found[5] : state.said + " Choose a node, or a cell of the grid, to read what it is.";
}

function idOf(grid, a, b) {
  const levels = [[grid.numbers[0], a], [grid.numbers[1], b]].filter(([, level]) => level);
  return levels.map((pair) => pair.join("^")).join("*") || "root";
}

function paintGraph(view, state) {
  const roles = (view.roles = Array(view.marks.length).fill(null));
  for (const [k, share, extreme, hover] of state.inside) roles[k] = { inside: true, share, extreme, hover };
  for (const [k, share, way, hover] of state.outside) roles[k] = { inside: false, share, way, hover };
  const sure = state.certified;
  roles.forEach((role, k) => {
    const { group, ring, circle, title } = view.marks[k];
    const radius = !role ? 1.5 : role.inside ? Math.max(SMALLEST, LARGEST * Math.sqrt(role.share)) : 5.5;
    const chosen = role && view.data.nodes[k].id === view.selected;
    group.style.cursor = role ? "pointer" : "default";
    group.dataset.role = role ? (role.inside ? (role.extreme ? "extreme" : "inside") : "outside") : "none";
    title.textContent = role ? role.hover : view.data.nodes[k].name + ": not here at this λ";
    set(ring, { r: radius + 5, visibility: chosen ? "visible" : "hidden" });
    set(circle, {
      r: radius,
      fill: !role ? "var(--grid)" : role.inside ? "var(--hue)" : "var(--paper)",
      "fill-opacity": role && role.inside && !sure ? 0.35 : 1,
      stroke: !role ? "none" : role.inside ? (role.extreme ? "var(--ink)" : sure ? "none" : "var(--hue)") : "var(--muted)",
      "stroke-width": role && role.inside && role.extreme ? 2.5 : 1.5,
      "stroke-dasharray": role && role.inside && !sure ? "3 2" : "none",
    });
  });
  for (const { k, parent, line } of view.edges) {
    const [child, above] = [roles[k], roles[parent]];
    const shown = child && above && above.inside;
    line.setAttribute("visibility", shown ? "visible" : "hidden");
    if (shown) set(line, child.inside
      ? { "stroke-width": 1.25, "stroke-dasharray": sure ? "none" : "5 3", opacity: 0.75 }
      : { "stroke-width": 1, "stroke-dasharray": "1.5 3", opacity: 0.6 });
  }
  view.graph.setAttribute("aria-label", state.said);
  const there = view.data.nodes.flatMap(({ id }, k) =>
    roles[k] ? [{ id, element: view.marks[k].group, ...view.places[k], said: roles[k].hover }] : []
  );
  view.graphMarks.show(there, view.selected);
  write(view, roles);
}

// Labels go to the largest marks first, above or below them, wherever they touch neither another label nor a mark.
function write(view, roles) {
  view.words.replaceChildren();
  const marks = roles.flatMap((role, k) => {
    if (!role) return [];
    const { circle, ring } = view.marks[k];
    const r = +(ring.getAttribute("visibility") === "visible" ? ring : circle).getAttribute("r");
    const { x, y } = view.places[k];
    return [{ k, left: x - r, right: x + r, top: y - r, bottom: y + r }];
  });
  const taken = [];
  const rank = (k) => (view.data.nodes[k].id === view.selected ? 2 : 0) + (roles[k].inside ? 1 + roles[k].share : roles[k].share);
  const touches = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  for (const mark of marks.slice().sort((a, b) => rank(b.k) - rank(a.k))) {
    const role = roles[mark.k];
    const lines = [...named(view.data.nodes[mark.k].name), ...(role.inside ? [] : [role.way])];
    const half = (6.1 * Math.max(...lines.map((text) => text.length))) / 2 + 1;
    const x = Math.min(Math.max(view.places[mark.k].x, half + 46), view.graphWidth - half);
    const tall = 13 * lines.length;
    const above = { left: x - half, right: x + half, top: mark.top - 3 - tall, bottom: mark.top - 2 };
    const below = { left: x - half, right: x + half, top: mark.bottom + 2, bottom: mark.bottom + 3 + tall };
    const free = (box) => box.bottom < view.graphHeight && !taken.some((other) => touches(box, other)) && !marks.some((other) => other.k !== mark.k && touches(box, other));
    const box = (role.inside ? [above, below] : [below, above]).find(free);
    if (!box) continue;
    taken.push(box);
    lines.forEach((text, i) => {
      const kind = role.inside ? "" : "quiet";
      make(view.words, "text", { x, y: box.top + 10.5 + 13 * i, "text-anchor": "middle", class: kind }).textContent = text;
    });
  }
}

function paintGrid(view, state) {
  const { grid } = view.data;
  const size = view.cellSize;
  const group = view.cells;
  view.gridMarks.hold();
  group.replaceChildren();
  const there = [];
  const known = new Map(state.cells.map((cell) => [cell[0] + "," + cell[1], cell]));
  for (let a = 0; a <= grid.top; a++)
    for (let b = 0; b <= grid.top; b++) {
      const [x, y] = [40 + size * a, view.cellBottom - size * (b + 1)];
      const [cx, cy] = [x + size / 2, y + size / 2];
      const found = known.get(a + "," + b);
      if (!found) {
        make(group, "circle", { cx, cy, r: 1.5, fill: "var(--grey)" });
        continue;
      }
      there.push({ ...paintCell(view, state, found, x, y, size), x, y, said: found[5] });
    }
  view.gridMarks.show(there, view.selected);
  view.grid.setAttribute("aria-label", `Levels of ${grid.first} against levels of ${grid.second}. ` + state.said);
}

function paintCell(view, state, [a, b, kind, share, extreme, hover], x, y, size) {
  const { grid } = view.data;
  const id = idOf(grid, a, b);
  const cell = make(view.cells, "g", { class: "cell", "data-cell": a + "," + b, "data-kind": extreme ? "extreme" : kind });
  const [cx, cy] = [x + size / 2, y + size / 2];
  const back = make(cell, "rect", { x, y, width: size, height: size, fill: "transparent" });
  make(back, "title").textContent = hover;
  if (kind === "next") {
    const half = 0.16 * size;
    const path = `M${cx - half} ${cy}H${cx + half}M${cx} ${cy - half}V${cy + half}`;
    make(cell, "path", { d: path, stroke: "var(--muted)", "stroke-width": 2, "pointer-events": "none" });
  } else {
    set(back, { fill: "var(--hue)", "fill-opacity": 0.2 });
    const side = kind === "active" ? size * Math.max(0.16, 0.8 * Math.sqrt(share)) : 0;
    const quiet = { "pointer-events": "none", fill: "var(--hue)", "fill-opacity": state.certified ? 1 : 0.45 };
    make(cell, "rect", { x: cx - side / 2, y: cy - side / 2, width: side, height: side, ...quiet });
    if (extreme || !state.certified)
      make(cell, "rect", {
        x: x + 1.5, y: y + 1.5, width: size - 3, height: size - 3, fill: "none", "pointer-events": "none",
        stroke: extreme ? "var(--ink)" : "var(--hue)", "stroke-width": extreme ? 2.5 : 1,
        "stroke-dasharray": state.certified ? "none" : "4 3",
      });
  }
  if (id === view.selected)
    make(cell, "rect", {
      x: x + 4, y: y + 4, width: size - 8, height: size - 8, fill: "none", "pointer-events": "none",
      stroke: "var(--st-primary-color)", "stroke-width": 2,
    });
  return { id, element: cell };
}

export default function ({ parentElement, data, setStateValue }) {
  const view = viewOf(parentElement, newView);
  Object.assign(view, { data, tell: setStateValue, selected: data.selected, width: 0 });
  view.root.style.setProperty("--hue", data.hue);
  const { states, index, turn, exact } = data;
  view.slider.take({ count: states.length, index, turn, between: exact }, setStateValue);
  view.resized.observe(view.root);
  fit(view);
  return ending(view, () => {
    view.resized.disconnect();
    view.slider.stop();
  });
}
