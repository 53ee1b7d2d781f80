// What every player is made of: its view, which outlives a rerun of the page, and elements of HTML and SVG.
const views = new WeakMap(); // the root of a component -> its view

function viewOf(root, make) {
  if (!views.has(root)) views.set(root, make(root));
  return views.get(root);
}

// What ends a call of a player. Data that come before its script has loaded call it twice, and the end of the first call is
// asked for when the second has begun: it would cut off what both share, so only the end of the last call is one.
function ending(view, end) {
  const call = (view.calls = (view.calls ?? 0) + 1);
  return () => call === view.calls && end();
}

function cell(parent, tag, name) {
  const made = document.createElement(tag);
  made.className = name;
  return parent.appendChild(made);
}

function make(parent, tag, attributes = {}, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(made, attributes);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}
