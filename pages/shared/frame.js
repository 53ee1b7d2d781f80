// Asks for the page anew where Python has drawn it for the other theme: nothing else does so when a person, or the system,
// turns light into dark, or when the choice of an earlier visit comes after the first run.
const MIDDLE = 382; // the sum of three channels, halfway between black and white

export default function ({ parentElement, data, setStateValue }) {
  rememberTheTable(data.table);
  const [red, green, blue] = getComputedStyle(parentElement.querySelector("span")).color.match(/[\d.]+/g).map(Number);
  const dark = red + green + blue < MIDDLE;
  if (dark !== data.dark) setStateValue("dark", dark);
}

// Which table of its own this browser had last, until it is closed: a tab that begins without parameters offers it.
function rememberTheTable(table) {
  if (table === null) return;
  const place = new URL(".", location.href).pathname;
  const age = table ? "" : "; max-age=0";
  document.cookie = `mkl_table=${encodeURIComponent(table)}; path=${place}; samesite=lax${age}`;
}
