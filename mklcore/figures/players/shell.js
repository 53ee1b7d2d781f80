// The page around the players: it mounts them, switches between light and dark, and hands arrow keys to the slider.
const { mounts, answer } = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const button = document.getElementById("theme");
const sheets = new Map();
let chosen = null; // "light" or "dark" once a person has said so

function styled(name) {
  if (!sheets.has(name)) {
    sheets.set(name, new CSSStyleSheet());
    sheets.get(name).replaceSync(":host { display: block; } [hidden] { display: none; }\n" + PLAYERS[name].css);
  }
  return sheets.get(name);
}

function play({ player, place, data }) {
  const host = document.getElementById(place);
  if (!host.shadowRoot) {
    host.attachShadow({ mode: "open" }).innerHTML = PLAYERS[player].html;
    host.shadowRoot.adoptedStyleSheets = [styled(player)];
  }
  PLAYERS[player].play({ parentElement: host.shadowRoot, data, setStateValue: tell });
}

// Inside a notebook the frame around the page hears where the cursor came to rest, and may lead it.
const framed = parent !== window;
const tell = (name, value) => framed && parent.postMessage({ index: value.index }, "*");
const leading = () => document.querySelector("[data-leads]")?.shadowRoot?.querySelector("input[type=range]");
addEventListener("message", ({ source, data }) => {
  const range = leading();
  if (!framed || source !== parent || !range || !Number.isInteger(data?.index) || data.index === +range.value) return;
  range.value = data.index;
  range.dispatchEvent(new Event("input"));
});

const isDark = () => (chosen ? chosen === "dark" : system.matches);

// Colours are custom properties: they change by themselves, except where a canvas has been painted with them.
function dress() {
  root.dataset.theme = isDark() ? "dark" : "light";
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
  for (const mount of mounts) play(mount);
}

button.onclick = () => {
  chosen = isDark() ? "light" : "dark";
  dress();
};
system.onchange = dress;

// Wherever the page is, arrows move the cursor.
document.addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!steps || event.target !== document.body || event.ctrlKey || event.altKey || event.metaKey) return;
  const range = leading();
  if (!range) return;
  event.preventDefault();
  range.focus({ preventScroll: true });
  range.value = steps > 0 ? Math.floor(+range.value) + 1 : Math.ceil(+range.value) - 1; // also where any value is a step
  range.dispatchEvent(new Event("input"));
});

// The answer of a lesson is shown once a person has guessed.
const guess = document.getElementById("guess");
if (guess)
  guess.onclick = (event) => {
    const option = event.target.closest("button");
    if (!option) return;
    for (const other of guess.querySelectorAll("button")) {
      other.setAttribute("aria-pressed", other === option);
      other.classList.toggle("right", other.dataset.option === answer);
    }
    document.getElementById("verdict").textContent = option.dataset.option === answer ? "Right." : "The answer is another one.";
    for (const part of document.querySelectorAll("#solution, #moral")) part.hidden = false;
  };

dress();
