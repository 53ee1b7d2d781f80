// Texts about the point under the cursor: they change with it in the browser, without a word from the server.
function draw(view, index, exact) {
  const columns = exact ? exact.sets[view.data.set] : view.data.texts[index];
  if (!columns || columns === view.drawn) return;
  view.drawn = columns;
  view.box.replaceChildren();
  columns.forEach((lines, k) => {
    const column = cell(view.box, "div", "cell");
    column.style.flex = view.data.widths[k] + " 1 " + 130 * view.data.widths[k] + "px";
    for (const runs of lines) {
      const line = cell(column, "p", "");
      for (const [kind, text] of runs) cell(line, kind === "b" ? "b" : "span", kind).textContent = text;
    }
  });
}

export default function ({ parentElement, data }) {
  const view = viewOf(parentElement, (root) => ({ box: root.querySelector(".texts") }));
  view.data = data;
  view.drawn = null;
  view.box.classList.toggle("waiting", data.waiting);
  draw(view, data.index, null);
  return follow(view, draw);
}
