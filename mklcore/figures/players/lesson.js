// The picture of a lesson. Python sends every position of the slider at once, in units of the panels (0 to 1).
const STEP_TIME = 450; // ms from position to position while it plays: slow enough to be talked over
const MANY = 20; // positions from which on it plays faster

function newView(root) {
  const find = (name) => root.querySelector(name);
  const view = { scene: find(".scene"), box: find(".panels"), said: find(".said"), panels: [], width: 0, swept: false };
  view.slider = new Slider(root, { paint: () => paint(view), stepTime: STEP_TIME, title: "Play all positions" });
  view.slider.range.onkeydown = (event) => handOn(event);
  view.resized = new ResizeObserver(() => {
    if (Math.abs(view.scene.clientWidth - view.width) > 1) build(view);
  });
  return view;
}

function build(view) {
  view.width = view.scene.clientWidth;
  view.box.replaceChildren();
  const frames = view.data.panels.map((panel) => {
    const frame = cell(view.box, "figure", panel.wide ? "panel wide" : "panel");
    cell(frame, "p", "title").textContent = panel.title;
    return frame;
  });
  view.panels = view.data.panels.map((panel, k) => draw(view, panel, frames[k]));
  paint(view);
}

// On the first screen, panels grow with a window that has room for them.
function heightOf({ data, width }, panel) {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  if (!data.sweep || width < 40 * rem) return panel.height;
  return Math.min(Math.max(panel.height, (innerHeight / rem - 23) / 2), 1.7 * panel.height);
}

// What stands still: axes, lines and labels; and the pieces that move, kept for paint().
function draw(view, panel, frame) {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const width = Math.max(160, frame.clientWidth);
  const height = heightOf(view, panel) * rem;
  const left = (panel.y.title || panel.y.ticks.length ? 3.5 : 0.75) * rem;
  const right = (panel.lines.some((line) => line.label) ? 5.5 : 0.75) * rem;
  const [top, bottom] = [0.6 * rem, 2.9 * rem];
  const [w, h] = [Math.max(40, width - left - right), height - top - bottom];
  const X = (x) => left + x * w;
  const Y = (y) => top + (1 - y) * h;
  const svg = make(frame, "svg", { role: "img", "aria-label": panel.alt, viewBox: `0 0 ${width} ${height}`, height });
  drawAxes(svg, panel, { X, Y, rem });
  const bars = panel.bars.map((bar) => {
    const drawn = make(svg, "rect", { x: X(bar.x0), width: Math.max(1, X(bar.x1) - X(bar.x0)), fill: bar.colour });
    drawn.setAttribute("opacity", bar.opacity);
    return { bar, drawn, title: make(drawn, "title", {}) };
  });
  const lines = panel.lines.map((line) => {
    const path = line.points.map((p, i) => p && (i && line.points[i - 1] ? "L" : "M") + X(p[0]) + " " + Y(p[1]));
    const drawn = make(svg, "path", { d: path.filter(Boolean).join(" "), fill: line.fill || "none", stroke: line.colour });
    drawn.setAttribute("stroke-width", line.width);
    drawn.setAttribute("opacity", line.opacity);
    if (line.dash) drawn.setAttribute("stroke-dasharray", line.dash);
    if (line.name) make(drawn, "title", {}, line.name);
    if (line.label) {
      const label = { class: "end", x: X(1) + 8, y: Y(line.label_at), "dominant-baseline": "central" };
      make(svg, "text", label, line.label).style.setProperty("--hue", line.label_colour);
    }
    return { line, drawn };
  });
  const cells = make(svg, "g", {});
  const cursor = panel.cursor && make(svg, "line", { class: "cursor", y1: Y(0), y2: Y(1) });
  const dots = panel.dots.map((dot) => ({ dot, drawn: make(svg, "circle", { class: "dot", r: 0.34 * rem, fill: dot.colour }) }));
  if (panel.cursor) hold(view, panel, svg, (pixel) => (pixel - left) / w);
  return { panel, svg, X, Y, w, h, rem, bars, lines, cells, cursor, dots };
}

// The panel with the cursor can be taken hold of anywhere.
function hold(view, panel, svg, place) {
  svg.classList.add("held");
  const away = (event) => {
    const wanted = place(event.clientX - svg.getBoundingClientRect().left);
    return panel.cursor.map((at) => Math.abs(at - wanted));
  };
  view.slider.hold(svg, away, true);
}

function paint(view) {
  const { index } = view.slider;
  for (const { panel, svg, X, Y, w, h, rem, bars, lines, cells, cursor, dots } of view.panels) {
    svg.setAttribute("aria-label", panel.alt + " " + view.data.said[index]);
    for (const { bar, drawn, title } of bars) {
      const tall = bar.heights[index];
      drawn.setAttribute("y", Y(tall));
      drawn.setAttribute("height", Math.max(0, Y(0) - Y(tall)));
      title.textContent = bar.name + (bar.spoken ? ": " + bar.spoken[index] : "");
    }
    for (const { line, drawn } of lines) {
      if (line.only === null) continue;
      drawn.setAttribute("opacity", line.only === index ? 1 : 0.22);
      drawn.setAttribute("stroke-width", line.only === index ? 3 : 1.5);
    }
    if (cursor) for (const end of ["x1", "x2"]) cursor.setAttribute(end, X(panel.cursor[index]));
    for (const { dot, drawn } of dots) {
      const at = dot.at[index];
      drawn.setAttribute("visibility", at ? "visible" : "hidden");
      if (at) drawn.setAttribute("cx", X(at[0]));
      if (at) drawn.setAttribute("cy", Y(at[1]));
    }
    cells.replaceChildren();
    const size = 0.62 * Math.min(w, h) * panel.cell;
    for (const cell of panel.cells[index] || []) square(cells, cell, X(cell.x), Y(cell.y), size, rem, panel.tone);
  }
  view.slider.show(view.data.steps[index], view.data.steps[index] + ". " + view.data.said[index]);
  view.said.textContent = view.data.said[index];
}

// In the hull: a full square, outlined where nothing below it is. Next to enter: a plus. Further out: a point.
function square(layer, cell, x, y, size, rem, tone) {
  if (cell.kind === "out") return make(layer, "circle", { cx: x, cy: y, r: 0.1 * rem, fill: tone.grey });
  if (cell.kind === "next") {
    const arm = size / 4;
    const d = `M${x - arm} ${y}H${x + arm}M${x} ${y - arm}V${y + arm}`;
    return make(layer, "path", { d, stroke: tone.ink, "stroke-width": 1.75 });
  }
  const box = { x: x - size / 2, y: y - size / 2, width: size, height: size, rx: 2, fill: tone.hue };
  if (cell.kind === "extreme") Object.assign(box, { stroke: tone.ink, "stroke-width": 2.5 });
  make(make(layer, "rect", box), "title", {}, cell.name);
}

// A presenter's remote sends these two keys: they lead through the steps of the lesson, which an input would swallow.
function handOn(event) {
  if (event.key !== "PageDown" && event.key !== "PageUp") return;
  event.preventDefault();
  event.stopPropagation();
  const { key, code, keyCode } = event;
  for (const type of ["keydown", "keyup"])
    document.dispatchEvent(new KeyboardEvent(type, { key, code, keyCode, which: keyCode, bubbles: true }));
}

export default function ({ parentElement, data, setStateValue }) {
  const view = viewOf(parentElement, newView);
  view.data = data;
  const { steps, index, turn, lesson, sweep } = data;
  view.slider.stepTime = steps.length > MANY ? (STEP_TIME * MANY) / (2 * steps.length) : STEP_TIME;
  view.scene.classList.toggle("first", Boolean(sweep));
  view.slider.take({ count: steps.length, index, turn, extra: { lesson } }, sweep ? () => {} : setStateValue);
  build(view);
  if (sweep && !view.swept && !matchMedia("(prefers-reduced-motion: reduce)").matches) view.slider.sweep(sweep);
  view.swept = true;
  view.resized.observe(view.scene);
  return ending(view, () => {
    view.resized.disconnect();
    view.slider.stop();
  });
}
