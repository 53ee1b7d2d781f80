// Asks for the page anew where Python has drawn it for the other theme: nothing else does so when a person, or the system,
// turns light into dark, or when the choice of an earlier visit comes after the first run.
const MIDDLE = 382; // the sum of three channels, halfway between black and white

export default function ({ parentElement, data, setStateValue }) {
  const [red, green, blue] = getComputedStyle(parentElement.querySelector("span")).color.match(/[\d.]+/g).map(Number);
  const dark = red + green + blue < MIDDLE;
  if (dark !== data.dark) setStateValue("dark", dark);
}
