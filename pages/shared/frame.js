// Asks for the page anew where Python has drawn it for the other theme: nothing else does so when a person, or the system,
// turns light into dark, or when the choice of an earlier visit comes after the first run.
const MIDDLE = 382; // the sum of three channels, halfway between black and white

export default function ({ parentElement, data, setStateValue }) {
  makeOneStepOfAPage();
  const [red, green, blue] = getComputedStyle(parentElement.querySelector("span")).color.match(/[\d.]+/g).map(Number);
  const dark = red + green + blue < MIDDLE;
  if (dark !== data.dark) setStateValue("dark", dark);
}

// A click on the menu gives the address of the page first, and the server adds its parameters: one step of Back leads
// across both. What a person does there begins a step of its own.
function makeOneStepOfAPage() {
  const push = history.pushState;
  if (push.isOurs) return;
  let isBare = false;
  history.pushState = function (state, title, url) {
    const there = new URL(url, location.href), stays = there.pathname === location.pathname;
    const adds = isBare && stays;
    isBare = !stays && !there.search;
    (adds ? history.replaceState : push).call(history, state, title, url);
  };
  history.pushState.isOurs = true;
  for (const act of ["pointerdown", "keydown"]) window.addEventListener(act, () => (isBare = false), true);
}
