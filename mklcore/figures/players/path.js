// The cursor on a path: its slider leads a line over every figure of the path, and bars and texts that listen.
const THUMB = 18; // px, as in the style sheet

function newView(root) {
  const view = { row: root.querySelector(".player"), cursors: [] };
  view.slider = new Slider(root, { paint: () => paint(view), title: "Play along the path" });
  view.drawn = () => attach(view);
  view.resized = new ResizeObserver(() => place(view));
  view.asked = (event) => event.detail.chart === view.data.chart && tell(view);
  return view;
}

function cursorOver(view, chart) {
  const [host, slider] = [view.row, view.slider];
  return new Cursor(chart, { host, slider, positions: () => view.data.x, redraw: () => arrange(view) });
}

// A tab without figures has the slider alone; `panels` are those of each figure over which a line is laid.
function attach(view) {
  const panels = (view.data.panels || [""]).map((suffix) => [suffix]);
  const laid = view.cursors.map((cursor) => cursor.attach(panels));
  if (laid.some(Boolean)) arrange(view);
}

// What needs the layout of the page is not asked for in every frame of a drag.
function arrange(view) {
  view.ink = getComputedStyle(view.row).color;
  place(view);
  paint(view);
}

function paint(view) {
  const { data, slider, cursors, ink } = view;
  const { index, between } = slider;
  const { x, label, open } = standing(view);
  for (const cursor of cursors) cursor.panels.forEach((_, k) => cursor.stand(k, x, ink));
  slider.show(label, open ? label : between ? between.spoken : data.spoken[index]);
  tell(view);
}

// Where the cursor stands: at a solved point, at a solved value between two, or between two, where nothing is solved yet.
function standing({ data, slider: { index, position, between } }) {
  if (between) return { x: between.x, label: between.label, open: false };
  if (position === index) return { x: data.x[index], label: data.labels[index], open: false };
  const [x, value] = [amid(data.x, position), amid(data.values, position, data.log)];
  return { x, label: `${data.sign} = ${+value.toPrecision(3)}, between solved points`, open: true };
}

function tell(view) {
  const { index, position, between } = view.slider;
  announce(view.data.chart, { index, position, between, label: standing(view).label });
}

// What is between two solved points, by ratio where values move by factors.
function amid(values, at, byFactors = false) {
  const [low, part] = [Math.floor(at), at - Math.floor(at)];
  const [first, next] = [values[low], values[Math.min(low + 1, values.length - 1)]];
  return byFactors ? first * (next / first) ** part : first + part * (next - first);
}

// The thumb stands under the cursor line: the input spans the path's own part of the first figure's axis.
function place({ data, row, slider, cursors }) {
  const { range, value } = slider;
  const { figure } = cursors[0];
  if (!figure || !figure.there) {
    row.classList.remove("aligned");
    for (const part of [range, value]) part.style.left = part.style.width = "";
    return;
  }
  const panel = figure.panel("");
  const box = row.getBoundingClientRect();
  const origin = figure.element.getBoundingClientRect().left + panel.left - box.left;
  const ends = [data.x[0], data.x[data.x.length - 1]].map((position) => panel.at(position));
  const [begin, end] = ends[0] >= -1 && ends[1] <= panel.width + 1 ? ends : [0, panel.width];
  const left = origin + begin - THUMB / 2;
  const aligned = left >= 40 && end - begin > box.width / 3 && origin + end < box.width;
  row.classList.toggle("aligned", aligned);
  range.style.left = aligned ? left + "px" : "";
  range.style.width = aligned ? end - begin + THUMB + "px" : "";
  value.style.left = aligned ? origin + end + THUMB + 4 + "px" : "";
}

export default function ({ parentElement, data, setStateValue }) {
  const view = viewOf(parentElement, newView);
  view.data = data;
  for (const chart of data.charts)
    if (!view.cursors.some((cursor) => cursor.chart === chart)) view.cursors.push(cursorOver(view, chart));
  view.slider.smooth = Boolean(data.smooth);
  view.slider.range.step = data.smooth ? "any" : 1;
  view.slider.stepTime = Math.max(90, Math.min(450, 4000 / data.x.length)); // few points are slow enough to be talked over
  view.slider.take({ count: data.x.length, index: data.index, turn: data.turn, between: data.exact }, setStateValue);
  view.resized.observe(view.row);
  document.addEventListener("figure-drawn", view.drawn);
  document.addEventListener("path-cursor-where", view.asked);
  attach(view);
  arrange(view);
  return ending(view, () => {
    view.resized.disconnect();
    document.removeEventListener("figure-drawn", view.drawn);
    document.removeEventListener("path-cursor-where", view.asked);
    view.slider.stop();
  });
}
