// Lines over figures that stand still, where a slider stands; and the news of it for bars and texts of the page.
let born = 0; // cursors so far: while a page changes, an old one may still stand beside its successor
const figures = (document.drawnFigures ??= new Map()); // by their names, from whichever script of the page drew them

function figureOf(chart) {
  const own = figures.get(chart);
  return own && own.there ? own : null;
}

class Cursor {
  // `host` is an element of the player, `positions(k)` where line k stands at every step of the `slider`. `redraw` is called
  // when the figure is laid out anew.
  constructor(chart, { host, slider, positions, redraw }) {
    Object.assign(this, { chart, host, slider, positions, redraw, born: ++born, figure: null, panels: [], marks: [] });
  }

  // Lay one line over each of `panels`, lists of axis suffixes from the top, and tell whether they had to be laid anew.
  // Slider and figure receive new data one after the other: until the figure has all the panels, no line is laid.
  attach(panels) {
    if (!this.host.isConnected) return false;
    const figure = figureOf(this.chart);
    const complete = figure && panels.flat().every((suffix) => figure.panel(suffix));
    if (!complete || this.#older(figure.element.cursor)) {
      Object.assign(this, { figure: null, marks: [] });
      return false;
    }
    if (figure.element.cursor !== this) this.#take(figure);
    Object.assign(this, { figure, panels });
    if (this.marks.length === panels.length && this.marks.every(({ handle }) => handle.isConnected)) return false;
    figure.element.querySelectorAll(".path-cursor").forEach((old) => old.remove());
    const layer = make(figure.layer, "g", { class: "path-cursor" });
    this.marks = panels.map((suffixes, k) => ({
      lines: suffixes.map(() => make(layer, "line", { "stroke-width": 1.75, "pointer-events": "none" })),
      handle: this.#handle(layer, k),
    }));
    return true;
  }

  // Two that took the figure from each other in turn would never end.
  #older(other) {
    return other && other.born > this.born && other.host.isConnected;
  }

  #take(figure) {
    figure.element.cursor = this;
    figure.laid(() => figure.element.cursor === this && this.redraw());
    this.marks = [];
  }

  // A wide invisible line to take hold of, and the whole panel.
  #handle(layer, k) {
    const handle = make(layer, "line", { "stroke-width": 18, stroke: "transparent", "pointer-events": "stroke" });
    handle.style.cursor = "ew-resize";
    const away = (event) => {
      const panel = this.figure.panel(this.panels[k][0]);
      const wanted = event.clientX - this.figure.element.getBoundingClientRect().left - panel.left;
      return this.positions(k).map((position) => panel.at(position) - wanted);
    };
    this.slider.hold(handle, away);
    for (const suffix of this.panels[k]) this.slider.hold(this.figure.ground(suffix), away, true);
    return handle;
  }

  // Lead line k to a position of its axis; null, and what is outside of the panel, hides it.
  stand(k, position, ink) {
    const mark = this.marks[k];
    if (!mark || !this.figure.there) return;
    const panels = this.panels[k].map((suffix) => this.figure.panel(suffix));
    const [first] = panels;
    const pixel = first && position !== null ? first.at(position) : NaN;
    const inside = pixel >= -1 && pixel <= first.width + 1;
    for (const line of [...mark.lines, mark.handle]) line.setAttribute("visibility", inside ? "visible" : "hidden");
    if (!inside) return;
    const ends = panels.map(({ top, height }) => [top, top + height]);
    const at = first.left + pixel;
    mark.lines.forEach((line, i) => set(line, { x1: at, x2: at, y1: ends[i][0], y2: ends[i][1], stroke: ink }));
    set(mark.handle, { x1: at, x2: at, y1: ends[0][0], y2: ends[ends.length - 1][1] });
  }
}

// Where the cursor of a chart stands: sent on every move, and on request.
function announce(chart, { index, position, between, label }) {
  const detail = { chart, index, position, exact: between, label };
  document.dispatchEvent(new CustomEvent("path-cursor", { detail }));
}

// Draw a view of the page whenever the cursor of its chart moves, and at once. Returns what ends it.
function follow(view, draw) {
  view.heard ??= ({ detail }) => detail.chart === view.data.chart && draw(view, detail.index, detail.exact, detail.position, detail.label);
  document.addEventListener("path-cursor", view.heard);
  document.dispatchEvent(new CustomEvent("path-cursor-where", { detail: { chart: view.data.chart } }));
  return ending(view, () => document.removeEventListener("path-cursor", view.heard));
}
