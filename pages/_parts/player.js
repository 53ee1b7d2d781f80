// The cursor on a path. A native range input moves lines laid over a plotly figure that never changes, and tells the bars.
// Python hears of it once: on release of the pointer, or when the keys have rested.
const SVG = "http://www.w3.org/2000/svg";
const KEYS_REST = 200; // ms
const STEP_TIME = 90; // ms between two points while playing
const THUMB = 18; // px, as in the style sheet
const views = new WeakMap();

const chartOf = (view) => document.querySelector(".st-key-" + view.data.chart + " .js-plotly-plot");
const axesOf = (gd, axis) => ["x", "y"].map((letter) => gd._fullLayout[letter + "axis" + axis]);

function newView(root) {
  const view = {
    row: root.querySelector(".player"),
    range: root.querySelector("input"),
    play: root.querySelector("button"),
    value: root.querySelector("output"),
    turn: null,
    exact: null,
    reported: null,
    frame: 0,
    rest: 0,
    playing: 0,
    lines: [],
  };
  view.range.oninput = () => move(view, +view.range.value);
  view.range.onchange = () => release(view, view.range.matches(":active") ? 0 : KEYS_REST);
  view.play.onclick = () => (view.playing ? pause(view) : play(view));
  view.observer = new MutationObserver(() => attach(view));
  view.resized = new ResizeObserver(() => place(view));
  view.asked = (event) => event.detail.chart === view.data.chart && announce(view);
  return view;
}

// Lines over the figure: one visible in every panel, and a wide invisible one in the first to take hold of.
function attach(view) {
  const gd = chartOf(view);
  if (!gd || !gd._fullLayout || !gd.on) return;
  if (gd.cursorView !== view) {
    gd.cursorView = view;
    gd.on("plotly_afterplot", () => gd.cursorView === view && paint(view));
    gd.on("plotly_relayouting", () => gd.cursorView === view && paint(view));
    view.lines = [];
  }
  if (view.lines.length && view.lines[0].isConnected) return;
  gd.querySelectorAll(".path-cursor").forEach((old) => old.remove());
  const layer = document.createElementNS(SVG, "g");
  layer.setAttribute("class", "path-cursor");
  view.lines = view.data.axes.map((axis) => line(layer, axis, 1.75));
  view.handle = line(layer, view.data.axes[0], 18);
  view.handle.setAttribute("stroke", "transparent");
  view.handle.setAttribute("pointer-events", "stroke");
  view.handle.style.cursor = "ew-resize";
  view.handle.onpointerdown = (event) => grab(view, event);
  for (const type of ["mousedown", "touchstart"]) view.handle.addEventListener(type, (event) => event.stopPropagation());
  gd.querySelector(".main-svg").appendChild(layer);
  paint(view);
}

function line(layer, axis, width) {
  const drawn = document.createElementNS(SVG, "line");
  drawn.setAttribute("stroke-width", width);
  drawn.setAttribute("pointer-events", "none");
  drawn.dataset.axis = axis;
  return layer.appendChild(drawn);
}

function grab(view, event) {
  event.preventDefault();
  event.stopPropagation();
  const handle = view.handle;
  handle.setPointerCapture(event.pointerId);
  view.range.focus({ preventScroll: true });
  handle.onpointermove = (moved) => {
    const gd = chartOf(view);
    const [x] = axesOf(gd, view.data.axes[0]);
    const wanted = moved.clientX - gd.getBoundingClientRect().left - x._offset;
    const away = view.data.x.map((position) => Math.abs(x.d2p(position) - wanted));
    const nearest = away.indexOf(Math.min(...away));
    if (nearest !== +view.range.value) move(view, nearest);
  };
  handle.onpointerup = handle.onpointercancel = () => {
    handle.onpointermove = handle.onpointerup = handle.onpointercancel = null;
    release(view, 0);
  };
}

function move(view, index) {
  view.range.value = index;
  view.exact = null;
  cancelAnimationFrame(view.frame);
  view.frame = requestAnimationFrame(() => paint(view));
}

function release(view, wait) {
  clearTimeout(view.rest);
  view.rest = setTimeout(() => {
    const index = +view.range.value;
    if (index === view.reported || view.playing) return;
    view.reported = index;
    view.tell("report", { index, turn: view.turn, time: Date.now() }); // the time makes each report a new one
  }, wait);
}

function play(view) {
  if (+view.range.value >= +view.range.max) move(view, 0);
  view.playing = setInterval(() => {
    if (+view.range.value >= +view.range.max || !view.row.isConnected) pause(view);
    else move(view, +view.range.value + 1);
  }, STEP_TIME);
  label(view);
}

function pause(view) {
  clearInterval(view.playing);
  view.playing = 0;
  label(view);
  release(view, 0);
}

function label(view) {
  view.play.textContent = view.playing ? "❚❚" : "▶";
  view.play.setAttribute("aria-label", view.playing ? "Pause" : "Play along the path");
}

function announce(view) {
  const detail = { chart: view.data.chart, index: +view.range.value, exact: view.exact };
  document.dispatchEvent(new CustomEvent("path-cursor", { detail }));
}

function paint(view) {
  const { data, range } = view;
  const index = +range.value;
  const position = view.exact ? view.exact.x : data.x[index];
  const gd = chartOf(view);
  if (gd && gd._fullLayout) {
    const ink = getComputedStyle(view.row).color;
    for (const drawn of view.handle ? [...view.lines, view.handle] : []) {
      const [x, y] = axesOf(gd, drawn.dataset.axis);
      if (!x || !y) continue;
      const pixel = x.d2p(position);
      const inside = pixel >= -1 && pixel <= x._length + 1;
      drawn.setAttribute("x1", x._offset + pixel);
      drawn.setAttribute("x2", x._offset + pixel);
      drawn.setAttribute("y1", y._offset);
      drawn.setAttribute("y2", y._offset + y._length);
      drawn.setAttribute("visibility", inside ? "visible" : "hidden");
      if (drawn !== view.handle) drawn.setAttribute("stroke", ink);
    }
    place(view);
  }
  range.style.setProperty("--done", (100 * index) / Math.max(1, +range.max) + "%");
  view.value.textContent = view.exact ? view.exact.label : data.labels[index];
  range.setAttribute("aria-valuetext", view.exact ? view.exact.spoken : data.spoken[index]);
  announce(view);
}

// The thumb stands under the cursor line: the input spans the path's own part of the first axis.
function place(view) {
  const gd = chartOf(view);
  if (!gd || !gd._fullLayout) return;
  const [x] = axesOf(gd, view.data.axes[0]);
  const row = view.row.getBoundingClientRect();
  const origin = gd.getBoundingClientRect().left + x._offset - row.left;
  const ends = [view.data.x[0], view.data.x[view.data.x.length - 1]].map((position) => x.d2p(position));
  const [first, last] = ends[0] >= -1 && ends[1] <= x._length + 1 ? ends : [0, x._length];
  const left = origin + first - THUMB / 2;
  const aligned = left >= 40 && last - first > 80;
  view.row.classList.toggle("aligned", aligned);
  if (!aligned) return;
  view.range.style.left = left + "px";
  view.range.style.width = last - first + THUMB + "px";
  view.value.style.left = origin + last + THUMB + 4 + "px";
}

export default function ({ parentElement, data, setStateValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = newView(parentElement);
    views.set(parentElement, view);
  }
  view.data = data;
  view.tell = setStateValue;
  view.range.max = data.x.length - 1;
  view.row.classList.toggle("waiting", data.waiting);
  // Only a turn that Python itself took moves the cursor; the echo of our own report must not pull it back mid-drag.
  if (view.turn !== data.turn) {
    view.turn = data.turn;
    view.exact = data.exact;
    view.range.value = data.index;
    view.reported = data.exact ? null : data.index;
  }
  view.observer.observe(document.body, { subtree: true, childList: true });
  view.resized.observe(view.row);
  document.addEventListener("path-cursor-where", view.asked);
  label(view);
  attach(view);
  paint(view);
  return () => {
    view.observer.disconnect();
    view.resized.disconnect();
    document.removeEventListener("path-cursor-where", view.asked);
    cancelAnimationFrame(view.frame);
    if (!view.row.isConnected) clearInterval(view.playing);
  };
}
