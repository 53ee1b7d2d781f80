// Texts about the point under the cursor: they change with it in the browser, without a word from the server.
const views = new WeakMap();

function draw(view, index, exact) {
  const columns = exact ? exact.sets[view.data.set] : view.data.texts[index];
  if (!columns || columns === view.drawn) return;
  view.drawn = columns;
  view.box.replaceChildren(
    ...columns.map((lines, k) => {
      const cell = document.createElement("div");
      cell.className = "cell";
      cell.style.flex = view.data.widths[k] + " 1 " + 130 * view.data.widths[k] + "px";
      for (const runs of lines) {
        const line = cell.appendChild(document.createElement("p"));
        for (const [kind, text] of runs) {
          const run = line.appendChild(document.createElement(kind === "b" ? "b" : "span"));
          run.className = kind;
          run.textContent = text;
        }
      }
      return cell;
    }),
  );
}

export default function ({ parentElement, data }) {
  let view = views.get(parentElement);
  if (!view) {
    view = { box: parentElement.querySelector(".texts") };
    view.heard = ({ detail }) => {
      if (detail.chart === view.data.chart && (detail.exact || detail.index < view.data.texts.length))
        draw(view, detail.index, detail.exact);
    };
    views.set(parentElement, view);
  }
  view.data = data;
  view.drawn = null;
  view.box.classList.toggle("waiting", data.waiting);
  draw(view, data.index, null);
  document.addEventListener("path-cursor", view.heard);
  document.dispatchEvent(new CustomEvent("path-cursor-where", { detail: { chart: data.chart } }));
  return () => document.removeEventListener("path-cursor", view.heard);
}
