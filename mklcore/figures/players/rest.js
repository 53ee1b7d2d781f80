// Has Python draw anew what stands elsewhere on the page, once it knows that the cursor of a chart has come to rest elsewhere.
export default function ({ parentElement, data, setStateValue }) {
  const view = viewOf(parentElement, () => ({}));
  Object.assign(view, { chart: data.chart, index: data.index, tell: setStateValue });
  view.heard ??= ({ detail: { chart, index } }) => {
    if (chart !== view.chart || index === view.index) return;
    view.index = index;
    view.tell("report", { index, time: Date.now() });
  };
  document.addEventListener("path-cursor-rest", view.heard);
  return ending(view, () => document.removeEventListener("path-cursor-rest", view.heard));
}
