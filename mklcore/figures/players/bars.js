// Shares or weights at the cursor, one bar each, in an order that does not change while the cursor moves.
// A press of "Sort" brings them into the order of the moment, and keeps that order until it is pressed again.
const PITCH = 24; // px from row to row, as in the style sheet
const REST = 200; // ms

function number(value, unit) {
  if (value === null) return "not yet";
  if (unit === "%") return (100 * value).toFixed(1) + " %";
  if (value === 0) return "0";
  const digits = value.toPrecision(3);
  return Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4 ? value.toExponential(1) : String(+digits);
}

function draw(view, index, exact, position = index, label = null) {
  const { data } = view;
  view.asked = [index, exact, position, label];
  if (view.folded) return;
  const open = !exact && typeof position === "number" && position !== index;
  const weights = exact ? exact.sets[data.set] : open ? between(data.weights, position) : data.weights[index];
  if (!weights) return;
  const hollow = exact ? exact.hollow : open || data.hollow[index];
  view.title.textContent = data.title + (exact ? exact.label : open && label ? label : data.labels[index]);
  const numbers = exact ? exact.sets[data.set + " numbers"] : open || !data.numbers ? null : data.numbers[index];
  Object.assign(view, { now: weights, hollow, numbers });
  view.list.classList.toggle("ticked", !exact && !open && index === data.ticked);
  write(view, ...inSight(view));
  clearTimeout(view.rest);
  if (data.tall) view.rest = setTimeout(() => write(view, 0, view.order.length), REST);
}

// Bars between two solved points, in proportion to how near they are.
function between(table, at) {
  const [low, part] = [Math.floor(at), at - Math.floor(at)];
  const next = table[Math.min(low + 1, table.length - 1)];
  return table[low].map((value, m) => (value === null || next[m] === null ? null : value + part * (next[m] - value)));
}

// The rows of a long list that can be seen; the others follow when the cursor rests.
function inSight({ data, order, scrolled, height }) {
  return data.tall ? [Math.floor(scrolled / PITCH), Math.ceil((scrolled + height) / PITCH)] : [0, order.length];
}

// Only what changes is written: most kernels of a sparse path keep their zero.
function write({ data, rows, order, now, hollow, numbers }, from, to) {
  for (const m of order.slice(from, to)) {
    const [row, value] = [rows[m], now[m]];
    const text = (numbers ? numbers[m] + " · " : "") + number(value, data.unit);
    if (row.text !== text) row.number.data = row.text = text;
    if (row.shown === value && row.hollow === hollow) continue;
    row.bar.style.transform = "scaleX(" + Math.max(0, Math.min(1, (value || 0) / data.most)) + ")";
    if (row.hollow !== hollow) row.bar.classList.toggle("hollow", hollow);
    if ((row.shown === 0) !== (value === 0)) row.line.classList.toggle("zero", value === 0);
    Object.assign(row, { shown: value, hollow });
  }
}

function sort(view) {
  view.order = view.rows.map((_, m) => m);
  if (view.sorted) view.order.sort((a, b) => (view.now[b] || 0) - (view.now[a] || 0) || a - b);
  view.list.replaceChildren(...view.order.map((m) => view.rows[m].line));
  write(view, 0, view.order.length);
}

function build(view) {
  view.list.replaceChildren();
  view.list.setAttribute("aria-label", view.data.title);
  view.list.style.setProperty("--names", Math.max(...view.data.names.map((name) => name.length)) + "ch");
  view.rows = view.data.names.map((name, m) => {
    const line = cell(view.list, "div", "line");
    line.setAttribute("role", "listitem");
    const picks = view.data.picks ? view.data.picks[m] : null;
    const text = cell(line, picks ? "button" : "span", "name");
    text.textContent = name;
    text.title = view.data.full[m];
    if (picks) line.onclick = () => view.pick("picked", { name: picks });
    const track = cell(line, "span", "track");
    const bar = cell(track, "i", "bar");
    const tick = view.data.ticks ? view.data.ticks[m] : null;
    if (tick !== null) cell(track, "i", "tick").style.left = 100 * Math.min(1, tick / view.data.most) + "%";
    bar.style.setProperty("--hue", view.data.colours[m]);
    const number = cell(line, "span", "number").appendChild(new Text());
    return { line, bar, number };
  });
  view.order = view.rows.map((_, m) => m);
  view.sorter.hidden = !view.data.sortable;
  view.list.classList.toggle("tall", Boolean(view.data.tall));
  view.list.classList.toggle("wide", Boolean(view.data.numbers));
}

function newView(root) {
  const [list, title, sorter] = [".bars", ".title", ".sort"].map((name) => root.querySelector(name));
  const view = { list, title, sorter, rows: [], order: [], sorted: false, folded: false };
  Object.assign(view, { scrolled: 0, height: 0 });
  list.onscroll = () => {
    view.scrolled = list.scrollTop;
    if (view.now) write(view, ...inSight(view));
  };
  // What is in a closed fold is drawn when it is opened.
  view.resized = new ResizeObserver(() => {
    const folded = list.clientWidth === 0;
    view.height = list.clientHeight;
    if (folded === view.folded) return;
    view.folded = folded;
    if (!folded && view.asked) draw(view, ...view.asked);
  });
  sorter.onclick = () => {
    view.sorted = !view.sorted;
    sorter.setAttribute("aria-pressed", view.sorted);
    sort(view);
  };
  return view;
}

export default function ({ parentElement, data, setTriggerValue }) {
  const view = viewOf(parentElement, newView);
  Object.assign(view, { data, pick: setTriggerValue });
  build(view);
  draw(view, data.index, null);
  view.resized.observe(view.list);
  const end = follow(view, draw);
  if (view.sorted) sort(view);
  return end;
}
