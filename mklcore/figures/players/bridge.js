// The page of a path in a frame of its own: what its slider tells goes to Python, what Python sets goes to its slider.
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  frame.style.cssText = "width: 100%; height: 620px; border: 0";
  frame.srcdoc = model.get("page");
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow || !Number.isInteger(data?.index) || data.index === model.get("index")) return;
    model.set("index", data.index);
    model.save_changes();
  };
  const lead = () => frame.contentWindow?.postMessage({ index: model.get("index") }, "*");
  addEventListener("message", hear);
  model.on("change:index", lead);
  frame.onload = lead;
  el.append(frame);
  return () => {
    removeEventListener("message", hear);
    model.off("change:index", lead);
  };
}

export default { render };
