// One button per sample: its name, its shares as bars, and the largest of them. A press reports the name once.
const SVG = "http://www.w3.org/2000/svg";
const [WIDE, HIGH, ROOM] = [100, 30, 1.5]; // of a picture, in units of its own

function picture(card) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const most = Math.max(...card.bars, 1e-9);
  const slot = WIDE / Math.max(card.bars.length, 6);
  card.bars.forEach((share, k) => {
    const bar = document.createElementNS(SVG, "rect");
    const tall = Math.max(0.6, ((HIGH - ROOM) * share) / most);
    const place = { x: k * slot, y: HIGH - tall, width: slot * 0.78, height: tall };
    for (const [name, value] of Object.entries(place)) bar.setAttribute(name, value);
    svg.append(bar);
  });
  return svg;
}

function span(kind, text) {
  const made = document.createElement("span");
  made.className = kind;
  made.textContent = text;
  return made;
}

export default function ({ parentElement, data, setStateValue }) {
  const box = parentElement.querySelector(".cards");
  box.replaceChildren(
    ...data.cards.map((card) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = card.line;
      button.setAttribute("aria-label", `${card.label}. ${card.spoken}`);
      const said = span("said", "");
      said.append(span("largest", card.largest), span("share", card.share));
      button.append(span("name", card.label), picture(card), said);
      button.onclick = () => setStateValue("picked", { name: card.name, time: Date.now() });
      return button;
    }),
  );
}
