// Texts about the point under the cursor: they change with it in the browser, without a word from the server.
function draw(view, index, exact) {
  const columns = exact ? exact.sets[view.data.set] : view.data.texts[index];
  if (!columns || columns === view.drawn) return;
  const same = view.drawn && shape(view.drawn) === shape(columns);
  view.drawn = columns;
  if (!same) return build(view, columns);
  columns.flat(2).forEach(([, text], k) => {
    if (view.runs[k].data !== text) view.runs[k].data = text;
  });
}

// How many columns, lines and runs of which kinds: texts of one shape are written over each other.
const shape = (columns) => JSON.stringify(columns.map((lines) => lines.map((runs) => runs.map(([kind]) => kind))));

function build(view, columns) {
  view.runs = [];
  view.box.replaceChildren();
  columns.forEach((lines, k) => {
    const column = cell(view.box, "div", "cell");
    column.style.flex = view.data.widths[k] + " 1 " + 130 * view.data.widths[k] + "px";
    for (const runs of lines) {
      const line = cell(column, "p", "");
      for (const [kind, text] of runs)
        view.runs.push(cell(line, kind === "b" ? "b" : "span", kind).appendChild(new Text(text)));
    }
  });
}

export default function ({ parentElement, data }) {
  const view = viewOf(parentElement, (root) => ({ box: root.querySelector(".texts") }));
  view.data = data;
  view.drawn = null;
  draw(view, data.index, null);
  return follow(view, draw);
}
