// Panels of lines and of bars: lines stand on a canvas and are drawn once, what moves with the cursor is laid over them.
// Python sends values; `y` of a panel tells between which of them it reaches, `xs` where the points are, from 0 to 1.
const NARROW = 38; // rem, below which names of a table beside the figure have no room
const NEAR = 24; // px within which a line is reported on hover
const MARKS = 6; // along a line of a figure whose kernels have signs
const BAR = 0.76; // of its slot that a bar fills

// What a cursor knows of this figure; one for each view, so that the cursor keeps it when data change.
class DrawnFigure {
  redraws = [];

  constructor(view) {
    Object.assign(this, { view, element: view.box, layer: view.over });
  }

  get there() {
    return this.element.isConnected && this.view.places.size > 0;
  }

  panel(suffix) {
    return this.view.places.get(suffix) ?? null;
  }

  ground(suffix) {
    return this.view.grounds.get(suffix);
  }

  laid(redraw) {
    this.redraws.push(redraw);
  }
}

function newView(root) {
  const find = (name) => root.querySelector(name);
  const view = { box: find(".chart"), canvas: find("canvas"), frame: find(".frame"), over: find(".over"), tip: find(".tip") };
  // The grounds stay, whatever is laid out anew: a slider holds them.
  Object.assign(view, { places: new Map(), grounds: new Map(), width: 0, index: 0, moving: null });
  view.figure = new DrawnFigure(view);
  view.resized = new ResizeObserver(() => Math.abs(view.box.clientWidth - view.width) > 1 && build(view));
  view.box.onpointermove = (event) => tell(view, event);
  view.box.onpointerleave = () => (view.tip.hidden = true);
  return view;
}

// What stands still

function build(view) {
  const { data, box, frame, over, places, grounds } = view;
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const width = (view.width = Math.max(120, box.clientWidth));
  frame.replaceChildren();
  for (const { suffix } of data.panels) if (!grounds.has(suffix)) grounds.set(suffix, make(over, "rect", { class: "ground" }));
  view.moving ??= make(over, "g", { "pointer-events": "none" });
  view.moving.replaceChildren();
  Object.assign(view, { dots: [], bars: [] });
  const height = layOut(view, width, rem);
  box.style.height = height + "px";
  for (const layer of [frame, over]) layer.setAttribute("viewBox", `0 0 ${width} ${height}`);
  for (const panel of data.panels) furnish(view, panel, places.get(panel.suffix), rem);
  paintLines(view, width, height);
  for (const redraw of view.figure.redraws) redraw();
  draw(view, view.index, view.exact);
}

// The place of every panel in px, and the height of all. Panels follow each other in rows of `columns`, fewer where a
// column would be less than `wraps` rem wide; the columns share what the margins leave.
function layOut({ data, places }, width, rem) {
  const narrow = data.narrow && width < NARROW * rem;
  const right = Math.min(data.right * rem, 0.32 * width);
  const left = (narrow ? data.narrow : data.left) * rem;
  const columns = data.wraps ? Math.max(1, Math.min(data.columns, Math.floor(width / (data.wraps * rem)))) : data.columns;
  const gap = data.wraps ? left + right : (narrow ? 0.5 : 1) * data.gap * rem;
  const column = Math.max(20, (width - left - right - gap * (columns - 1)) / columns);
  let [row, used, above] = [0, 0, 0];
  places.clear();
  for (const panel of data.panels) {
    const span = Math.min(panel.span ?? 1, columns);
    if (used + span > columns) [above, row, used] = [above + heightOf(data, row) * rem, row + 1, 0];
    const head = (panel.title ? 1.7 : 0.6) * rem;
    const under = ((panel.x.ticks.length ? 1.6 : 0.4) + (panel.x.title ? 1.2 : 0)) * rem;
    const place = { left: left + used * (column + gap), width: span * column + (span - 1) * gap, top: above + head, right };
    place.height = heightOf(data, row) * rem - head - under;
    place.edge = Math.min(left, 3.9 * rem) - 0.85 * rem;
    place.at = (position) => position * place.width;
    places.set(panel.suffix, place);
    used += span;
  }
  return above + heightOf(data, row) * rem;
}

const heightOf = ({ rows }, row) => rows[Math.min(row, rows.length - 1)];

function scales(panel, place) {
  const { low, high } = panel.y;
  const Y = (unit) => place.top + (1 - unit) * place.height;
  return { X: (unit) => place.left + place.at(unit), Y, at: (value) => Y((value - low) / (high - low)) };
}

function furnish(view, panel, place, rem) {
  const { X, Y, at } = scales(panel, place);
  const { data, frame, moving, grounds } = view;
  const crowded = data.narrow && view.width < NARROW * rem;
  drawAxes(frame, crowded ? sparing(panel) : panel, { X, Y, rem, edge: place.edge });
  if (panel.shade) {
    const [from, to] = panel.shade.map(X);
    make(frame, "rect", { class: "shade", x: from, y: Y(1), width: to - from, height: place.height });
  }
  if (panel.note) make(frame, "text", { class: "note", x: X(0.5), y: Y(0.55), "text-anchor": "middle" }, panel.note);
  if (panel.title)
    shorten(make(frame, "text", { class: "title", x: X(0), y: place.top - 0.6 * rem }, panel.title), place.width + (data.wraps ? place.right : 0));
  for (const line of panel.lines) {
    if (!line.label) continue;
    const label = { class: "end", x: X(1) + 8, y: Y(line.label_at), "dominant-baseline": "central" };
    const text = make(frame, "text", label, line.label);
    text.style.setProperty("--hue", line.label_colour);
    shorten(text, place.right - 8);
  }
  // One mark per solved point: full where it is certified, hollow where it is not, none where the method has no certificate.
  (panel.marks || []).forEach((mark, k) => {
    const [x, y] = [X(panel.xs[k]), Y(0)];
    if (mark === "sure") make(frame, "line", { class: "sure", x1: x, x2: x, y1: y, y2: y + 5 });
    if (mark === "open") make(frame, "circle", { class: "open", cx: x, cy: y + 3, r: 2.5 });
  });
  const fixed = !panel.xs.length; // bars have no axis of the cursor to take hold of
  set(grounds.get(panel.suffix), { x: place.left, y: place.top, width: fixed ? 0 : place.width, height: place.height });
  (panel.bars || []).forEach((bar, k) => {
    const slot = place.width / panel.bars.length;
    const box = { x: X(0) + slot * (k + (1 - BAR) / 2), width: Math.max(1, BAR * slot), fill: bar.colour };
    view.bars.push({ bar, at, foot: Y(0), drawn: make(moving, "rect", box) });
  });
  for (const line of panel.lines) {
    if (!(line.dot ?? Boolean(line.label))) continue;
    const drawn = make(moving, "circle", { class: "dot", r: 4, fill: line.colour });
    view.dots.push({ panel, line, X, at, drawn });
  }
}

// The axes of a panel too narrow for all that is written on them: a sign below, and no tick that reaches into the next panel.
function sparing({ x, y }) {
  const ticks = x.ticks.filter(([at]) => at > 0.15 && at < 0.85);
  return { x: { ...x, ticks, title: x.title.split(" (")[0] }, y: { ...y, title: "" } };
}

function shorten(text, room) {
  const whole = text.textContent;
  for (let letters = whole.length - 1; letters > 1 && text.getComputedTextLength() > room; letters--)
    text.textContent = whole.slice(0, letters).trimEnd() + "…";
}

function paintLines(view, width, height) {
  const { canvas, data } = view;
  const scale = window.devicePixelRatio || 1;
  Object.assign(canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.lineJoin = "round";
  const colours = new Map();
  for (const panel of data.panels) {
    const place = view.places.get(panel.suffix);
    pen.save();
    pen.beginPath();
    pen.rect(place.left - 2, place.top - 2, place.width + 4, place.height + 4);
    pen.clip();
    for (const line of panel.lines) paintLine(pen, panel, line, scales(panel, place), inkOf(view, line.colour, colours));
    pen.restore();
  }
}

// A canvas knows no custom properties: the page says what they stand for.
function inkOf(view, colour, known) {
  if (!known.has(colour)) {
    view.tip.style.color = colour;
    known.set(colour, getComputedStyle(view.tip).color);
    view.tip.style.color = "";
  }
  return known.get(colour);
}

// Solid between two points that are solved to tolerance, dashed elsewhere.
function paintLine(pen, panel, line, { X, at }, ink) {
  Object.assign(pen, { strokeStyle: ink, fillStyle: ink, lineWidth: line.width, globalAlpha: line.opacity ?? 1 });
  for (const solid of [true, false]) {
    pen.setLineDash(solid ? line.dash || [] : [6, 4]);
    pen.beginPath();
    let before = null;
    for (const k of panel.order) {
      const value = line.ys[k];
      const drawn = value !== null && before !== null && (panel.sure[k] && panel.sure[before]) === solid;
      if (drawn) pen.lineTo(X(panel.xs[k]), at(value));
      else if (value !== null) pen.moveTo(X(panel.xs[k]), at(value));
      before = value === null ? null : k;
    }
    pen.stroke();
  }
  if (line.mark) {
    pen.setLineDash([]);
    pen.font = "11px sans-serif";
    Object.assign(pen, { textAlign: "center", textBaseline: "middle" });
    const every = Math.ceil(panel.order.length / MARKS);
    for (const k of panel.order.filter((_, i) => i % every === 0))
      if (line.ys[k] !== null) pen.fillText(line.mark, X(panel.xs[k]), at(line.ys[k]));
  }
  if (panel.order.length === 1 && line.ys[0] !== null) {
    pen.beginPath();
    pen.arc(X(panel.xs[0]), at(line.ys[0]), 3, 0, 7);
    pen.fill();
  }
}

// What moves

function draw(view, index, exact) {
  Object.assign(view, { index, exact });
  const points = view.data.points ? view.data.points[index] : null; // of every panel's own path; else they share one
  for (const { panel, line, X, at, drawn } of view.dots) {
    const k = points ? points[panel.method] : index;
    const value = exact || k === null || k === undefined ? null : line.ys[k];
    drawn.setAttribute("visibility", value === null ? "hidden" : "visible");
    if (value !== null) set(drawn, { cx: X(panel.xs[k]), cy: at(value) });
  }
  for (const { bar, at, foot, drawn } of view.bars) {
    const top = at(bar.ys[index] ?? 0);
    set(drawn, { y: Math.min(top, foot), height: Math.max(0, foot - top) });
  }
  const said = view.data.said[index];
  view.box.setAttribute("aria-label", said && !exact ? view.data.alt + " " + said : view.data.alt);
}

// What is nearest to the pointer: of lines a solved point, of bars the one in whose slot it is.
function tell(view, event) {
  const box = view.box.getBoundingClientRect();
  const [px, py] = [event.clientX - box.left, event.clientY - box.top];
  let best = null;
  for (const panel of event.buttons || event.pointerType !== "mouse" ? [] : view.data.panels) {
    const place = view.places.get(panel.suffix);
    if (px < place.left - 4 || px > place.left + place.width + 4 || py < place.top || py > place.top + place.height) continue;
    const { X, at } = scales(panel, place);
    const slot = Math.floor(((px - place.left) / place.width) * (panel.bars?.length ?? 0));
    if (panel.bars?.[slot]) best = { away: 0, panel, line: panel.bars[slot], k: view.index };
    if (!panel.order.length) continue;
    const k = panel.order.reduce((near, j) => (Math.abs(X(panel.xs[j]) - px) < Math.abs(X(panel.xs[near]) - px) ? j : near));
    for (const line of panel.lines) {
      const away = line.ys[k] === null || !line.name ? Infinity : Math.abs(at(line.ys[k]) - py);
      if (away < (best ? best.away : NEAR)) best = { away, panel, line, k };
    }
  }
  view.tip.hidden = best === null;
  if (best === null) return;
  const { panel, line, k } = best;
  view.tip.textContent = `${line.name}: ${+line.ys[k].toPrecision(3)} at ${panel.labels[k]}` + (panel.sure[k] ? "" : ", not solved to tolerance");
  const side = px > view.width / 2 ? px - 12 - view.tip.offsetWidth : px + 12;
  Object.assign(view.tip.style, { left: Math.max(0, side) + "px", top: Math.max(0, py - 30) + "px" });
}

export default function ({ parentElement, data }) {
  const view = viewOf(parentElement, newView);
  view.data = data;
  figures.set(data.figure, view.figure);
  for (const panel of data.panels) panel.order = panel.xs.map((_, k) => k).sort((a, b) => panel.xs[a] - panel.xs[b]);
  view.index = Math.min(view.index, Math.max(0, data.said.length - 1));
  build(view);
  document.dispatchEvent(new CustomEvent("figure-drawn"));
  view.resized.observe(view.box);
  follow(view, draw);
  return ending(view, () => {
    document.removeEventListener("path-cursor", view.heard);
    view.resized.disconnect();
  });
}
