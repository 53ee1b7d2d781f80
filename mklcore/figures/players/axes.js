// The axes of a panel whose places are given in units, from 0 to 1: hair lines, ticks and titles in a picture of SVG.
const LETTER = 0.42; // of a rem, about the width of a letter of a tick

// `X` and `Y` lead from units to px, `rem` is the size of the page's type in px, `edge` how far left the title stands.
function drawAxes(svg, { x, y }, { X, Y, rem, edge }) {
  for (const [at, text] of y.ticks) {
    make(svg, "line", { class: "hair", x1: X(0), x2: X(1), y1: Y(at), y2: Y(at) });
    make(svg, "text", { x: X(0) - 6, y: Y(at), "text-anchor": "end", "dominant-baseline": "central" }, text);
  }
  make(svg, "line", { class: "base", x1: X(0), x2: X(1), y1: Y(0), y2: Y(0) });
  for (const [at, text] of withRoom(x.ticks, (at) => X(at), rem))
    make(svg, "text", { x: X(at), y: Y(0) + 1.05 * rem, "text-anchor": "middle" }, text);
  make(svg, "text", { x: X(0.5), y: Y(0) + 2.25 * rem, "text-anchor": "middle" }, x.title);
  const turned = `rotate(-90) translate(${-Y(0.5)}, ${X(0) - edge})`;
  make(svg, "text", { transform: turned, "text-anchor": "middle" }, y.title);
}

// Those ticks, from the left, whose texts do not touch.
function withRoom(ticks, place, rem) {
  let free = -Infinity;
  return ticks
    .slice()
    .sort((a, b) => a[0] - b[0])
    .filter(([at, text]) => {
      const half = (LETTER * rem * text.length) / 2;
      if (place(at) - half < free) return false;
      free = place(at) + half + 0.3 * rem;
      return true;
    });
}
