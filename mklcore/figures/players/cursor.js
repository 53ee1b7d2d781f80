// Lines over a plotly figure that never changes, where a slider stands; and the news of it for bars and texts of the page.
let born = 0; // cursors so far: while a page changes, an old one may still stand beside its successor

const axesOf = (gd, panel) => ["x", "y"].map((letter) => gd._fullLayout[letter + "axis" + panel]);

class Cursor {
  // `chart` is the key of a figure in Streamlit or the id of its element elsewhere, `host` an element of the player,
  // `positions(k)` where line k stands at every step of the `slider`. `redraw` is called when the figure is laid out anew.
  constructor(chart, { host, slider, positions, redraw }) {
    Object.assign(this, { chart, host, slider, positions, redraw, born: ++born, gd: null, panels: [], marks: [] });
  }

  // Lay one line over each of `panels`, lists of axis suffixes from the top, and tell whether they had to be laid anew.
  attach(panels) {
    if (!this.host.isConnected) return false;
    const gd = document.querySelector(`.st-key-${this.chart} .js-plotly-plot, #${this.chart}.js-plotly-plot`);
    if (!gd || !gd._fullLayout || !gd.on || this.#older(gd.cursor)) {
      Object.assign(this, { gd: null, marks: [] });
      return false;
    }
    if (gd.cursor !== this) this.#take(gd);
    Object.assign(this, { gd, panels });
    if (this.marks.length === panels.length && this.marks.every(({ handle }) => handle.isConnected)) return false;
    gd.querySelectorAll(".path-cursor").forEach((old) => old.remove());
    const layer = make(gd.querySelector(".main-svg"), "g", { class: "path-cursor" });
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

  #take(gd) {
    gd.cursor = this;
    for (const event of ["plotly_afterplot", "plotly_relayouting"])
      gd.on(event, () => gd.cursor === this && this.redraw());
    this.marks = [];
  }

  // A wide invisible line to take hold of.
  #handle(layer, k) {
    const handle = make(layer, "line", { "stroke-width": 18, stroke: "transparent", "pointer-events": "stroke" });
    handle.style.cursor = "ew-resize";
    this.slider.hold(handle, (event) => {
      const [x] = axesOf(this.gd, this.panels[k][0]);
      const wanted = event.clientX - this.gd.getBoundingClientRect().left - x._offset;
      return this.positions(k).map((position) => Math.abs(x.d2p(position) - wanted));
    });
    for (const type of ["mousedown", "touchstart"]) handle.addEventListener(type, (event) => event.stopPropagation());
    return handle;
  }

  // Lead line k to a position of its axis; null, and what lies outside of the panel, hides it.
  stand(k, position, ink) {
    const mark = this.marks[k];
    if (!mark || !this.gd._fullLayout) return;
    const panels = this.panels[k].map((suffix) => axesOf(this.gd, suffix));
    const [x] = panels[0];
    const pixel = x && position !== null ? x.d2p(position) : NaN;
    const inside = pixel >= -1 && pixel <= x._length + 1;
    for (const drawn of [...mark.lines, mark.handle]) drawn.setAttribute("visibility", inside ? "visible" : "hidden");
    if (!inside) return;
    const ends = panels.map(([, y]) => [y._offset, y._offset + y._length]);
    const at = x._offset + pixel;
    mark.lines.forEach((line, i) => set(line, { x1: at, x2: at, y1: ends[i][0], y2: ends[i][1], stroke: ink }));
    set(mark.handle, { x1: at, x2: at, y1: ends[0][0], y2: ends[ends.length - 1][1] });
  }
}

// Where the cursor of a chart stands: told on every move, and to whoever asks.
function announce(chart, { index, between }) {
  document.dispatchEvent(new CustomEvent("path-cursor", { detail: { chart, index, exact: between } }));
}

// Draw a view of the page whenever the cursor of its chart moves, and at once. Returns what ends it.
function follow(view, draw) {
  view.heard ??= ({ detail }) => detail.chart === view.data.chart && draw(view, detail.index, detail.exact);
  document.addEventListener("path-cursor", view.heard);
  document.dispatchEvent(new CustomEvent("path-cursor-where", { detail: { chart: view.data.chart } }));
  return ending(view, () => document.removeEventListener("path-cursor", view.heard));
}
