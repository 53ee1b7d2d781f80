// What every player is made of: its view, which outlives a rerun of the page, and elements of HTML and SVG.
const views = new WeakMap(); // the root of a component -> its view

function viewOf(root, make) {
  if (!views.has(root)) views.set(root, make(root));
  return views.get(root);
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
