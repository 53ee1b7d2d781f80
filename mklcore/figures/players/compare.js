// One smooth slider for several paths: it leads a line in every method's panels. Each path has points of its own, so a step
// says at which place of every path it stands: a whole number at a solved point, a fraction between two of them.
const suffixes = (method) => [method ? String(2 * method + 1) : "", String(2 * method + 2)];
const panelsOf = (view) => view.data.methods.map((_, method) => suffixes(method));

function placesOf({ data, slider }) {
  if (slider.between) return data.place.places;
  const low = Math.floor(slider.position);
  const share = slider.position - low;
  const { places } = data.steps[low];
  return share ? places.map((at, k) => (at === null ? null : at + share * (data.steps[low + 1].places[k] - at))) : places;
}

// What moves by factors is spaced by factors.
function between(low, high, share) {
  if (!share) return low;
  return low > 0 && high > 0 ? low * (high / low) ** share : low + share * (high - low);
}

function positionAt({ positions, whole }, at) {
  if (at === null || at === undefined) return null;
  const place = whole ? Math.round(at) : at;
  const low = Math.floor(place);
  return low < positions.length ? positions[low] + (place - low) * (positions[Math.ceil(place)] - positions[low]) : null;
}

function labelOf({ data, slider }) {
  if (slider.between) return data.place.label;
  const low = Math.floor(slider.position);
  const share = slider.position - low;
  if (!share) return data.steps[low].label;
  const value = between(data.steps[low].value, data.steps[low + 1].value, share);
  return data.sign ? data.sign + " ≈ " + +value.toPrecision(3) : value.toFixed(1) + " % of each path";
}

function newView(root) {
  const view = { box: root.querySelector(".methods") };
  view.slider = new Slider(root, { paint: () => paint(view), stepTime: 90, title: "Play along all paths", smooth: true });
  view.drawn = () => attach(view);
  view.asked = ({ detail }) => detail.chart === view.data.chart && tell(view);
  return view;
}

// Whichever method's line is taken hold of, the slider follows to where that method's line meets the pointer.
function cursorOver(view) {
  const positions = (k) => view.data.steps.map((step) => positionAt(view.data.methods[k], step.places[k]));
  return new Cursor(view.data.chart, { host: view.box, slider: view.slider, positions, redraw: () => redraw(view) });
}

function attach(view) {
  if (view.cursor.attach(panelsOf(view))) redraw(view);
}

// What needs the layout of the page is not asked for in every frame of a drag.
function redraw(view) {
  view.ink = getComputedStyle(view.box).color;
  document.dispatchEvent(new CustomEvent("figure-laid", { detail: { chart: view.data.chart } }));
  paint(view);
}

function tell(view) {
  const { index, position, between } = view.slider;
  announce(view.data.chart, { index, position: placesOf(view), between });
}

function paint(view) {
  const { data, slider } = view;
  const places = placesOf(view);
  data.methods.forEach((method, k) => view.cursor.stand(k, positionAt(method, places[k]), view.ink));
  const label = labelOf(view);
  slider.range.classList.toggle("free", Boolean(slider.between));
  slider.show(label, label);
  tell(view);
}

export default function ({ parentElement, data, setStateValue }) {
  const view = viewOf(parentElement, newView);
  view.data = data;
  view.cursor ??= cursorOver(view);
  const { free, step } = data.place;
  const between = free ? data.place : null;
  view.slider.take({ count: data.steps.length, index: step, turn: data.turn, between }, setStateValue);
  document.addEventListener("figure-drawn", view.drawn);
  document.addEventListener("path-cursor-where", view.asked);
  attach(view);
  redraw(view);
  return ending(view, () => {
    document.removeEventListener("figure-drawn", view.drawn);
    document.removeEventListener("path-cursor-where", view.asked);
    view.slider.stop();
  });
}
