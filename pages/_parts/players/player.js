// The cursor on a path. A native range input moves lines laid over plotly figures that never change, and tells bars and texts.
// Python hears of it once: on release of the pointer, or when the keys have rested.
const SVG = "http://www.w3.org/2000/svg";
const KEYS_REST = 200; // ms
const STEP_TIME = 90; // ms between two points while playing
const THUMB = 18; // px, as in the style sheet
const views = new WeakMap();
let born = 0; // views so far: while a page changes, an old one may still stand beside its successor

const chartCalled = (name) => document.querySelector(".st-key-" + name + " .js-plotly-plot");
const ready = (gd) => gd && gd._fullLayout && gd.on;
const axesOf = (gd, axis) => ["x", "y"].map((letter) => gd._fullLayout[letter + "axis" + axis]);

function newView(root) {
  const view = {
    born: ++born,
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
    drawn: new Map(), // chart -> its figure, the line over it, and the first one's handle
  };
  view.range.oninput = () => move(view, +view.range.value);
  view.range.onchange = () => release(view, view.range.matches(":active") ? 0 : KEYS_REST);
  view.play.onclick = () => (view.playing ? pause(view) : play(view));
  view.observer = new MutationObserver(() => attach(view));
  view.resized = new ResizeObserver(() => place(view));
  view.asked = (event) => event.detail.chart === view.data.chart && announce(view);
  return view;
}

// A line over every figure, and a wide invisible one to take hold of. A tab without figures has the slider alone.
function attach(view) {
  if (!view.row.isConnected) return;
  let fresh = false;
  for (const name of view.data.charts) {
    const gd = chartCalled(name);
    if (!ready(gd)) {
      view.drawn.delete(name);
      continue;
    }
    const other = gd.cursorView;
    // Two views that took the figure from each other in turn would never end.
    if (other && other.born > view.born && other.row.isConnected) {
      view.drawn.delete(name);
      continue;
    }
    if (other !== view) {
      gd.cursorView = view;
      gd.on("plotly_afterplot", () => gd.cursorView === view && arrange(view));
      gd.on("plotly_relayouting", () => gd.cursorView === view && arrange(view));
      view.drawn.delete(name);
    }
    const known = view.drawn.get(name);
    if (known && known.line.isConnected) continue;
    gd.querySelectorAll(".path-cursor").forEach((old) => old.remove());
    const layer = document.createElementNS(SVG, "g");
    layer.setAttribute("class", "path-cursor");
    view.drawn.set(name, { gd, line: line(layer, 1.75), handle: handleIn(layer, view, gd) });
    gd.querySelector(".main-svg").appendChild(layer);
    fresh = true;
  }
  if (fresh) arrange(view);
}

// What needs the layout of the page is not asked for in every frame of a drag.
function arrange(view) {
  view.ink = getComputedStyle(view.row).color;
  place(view);
  paint(view);
}

function handleIn(layer, view, gd) {
  const handle = line(layer, 18);
  handle.setAttribute("stroke", "transparent");
  handle.setAttribute("pointer-events", "stroke");
  handle.style.cursor = "ew-resize";
  handle.onpointerdown = (event) => grab(view, gd, handle, event);
  for (const type of ["mousedown", "touchstart"]) handle.addEventListener(type, (event) => event.stopPropagation());
  return handle;
}

function line(layer, width) {
  const drawn = document.createElementNS(SVG, "line");
  drawn.setAttribute("stroke-width", width);
  drawn.setAttribute("pointer-events", "none");
  return layer.appendChild(drawn);
}

function grab(view, gd, handle, event) {
  event.preventDefault();
  event.stopPropagation();
  handle.setPointerCapture(event.pointerId);
  view.range.focus({ preventScroll: true });
  handle.onpointermove = (moved) => {
    const [x] = axesOf(gd, "");
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
  for (const { gd, line, handle } of view.drawn.values()) {
    const [x, y] = gd._fullLayout ? axesOf(gd, "") : [];
    if (!x || !y) continue;
    const pixel = x.d2p(position);
    const inside = pixel >= -1 && pixel <= x._length + 1;
    for (const drawn of [line, handle]) {
      drawn.setAttribute("x1", x._offset + pixel);
      drawn.setAttribute("x2", x._offset + pixel);
      drawn.setAttribute("y1", y._offset);
      drawn.setAttribute("y2", y._offset + y._length);
      drawn.setAttribute("visibility", inside ? "visible" : "hidden");
    }
    line.setAttribute("stroke", view.ink);
  }
  range.style.setProperty("--done", (100 * index) / Math.max(1, +range.max) + "%");
  view.value.textContent = view.exact ? view.exact.label : data.labels[index];
  range.setAttribute("aria-valuetext", view.exact ? view.exact.spoken : data.spoken[index]);
  announce(view);
}

// The thumb stands under the cursor line: the input spans the path's own part of the first figure's axis.
function place(view) {
  const first = view.drawn.get(view.data.charts[0]);
  if (!first || !first.gd.isConnected || !first.gd._fullLayout) {
    view.row.classList.remove("aligned");
    for (const part of [view.range, view.value]) part.style.left = part.style.width = "";
    return;
  }
  const { gd } = first;
  const [x] = axesOf(gd, "");
  const row = view.row.getBoundingClientRect();
  const origin = gd.getBoundingClientRect().left + x._offset - row.left;
  const ends = [view.data.x[0], view.data.x[view.data.x.length - 1]].map((position) => x.d2p(position));
  const [begin, end] = ends[0] >= -1 && ends[1] <= x._length + 1 ? ends : [0, x._length];
  const left = origin + begin - THUMB / 2;
  const aligned = left >= 40 && end - begin > 80 && origin + end < row.width;
  view.row.classList.toggle("aligned", aligned);
  view.range.style.left = aligned ? left + "px" : "";
  view.range.style.width = aligned ? end - begin + THUMB + "px" : "";
  view.value.style.left = aligned ? origin + end + THUMB + 4 + "px" : "";
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
  arrange(view);
  return () => {
    view.observer.disconnect();
    view.resized.disconnect();
    document.removeEventListener("path-cursor-where", view.asked);
    cancelAnimationFrame(view.frame);
    if (!view.row.isConnected) clearInterval(view.playing);
  };
}
