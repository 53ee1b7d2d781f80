// Asks for the page anew where Python has drawn it for the other theme: nothing else does so when a person, or the system,
// turns light into dark, or when the choice of an earlier visit comes after the first run.
const MIDDLE = 382; // the sum of three channels, halfway between black and white

export default function ({ parentElement, data, setStateValue }) {
  carryTheLink();
  rememberTheTable(data.table);
  const [red, green, blue] = getComputedStyle(parentElement.querySelector("span")).color.match(/[\d.]+/g).map(Number);
  const dark = red + green + blue < MIDDLE;
  if (dark !== data.dark) setStateValue("dark", dark);
}

// A click on the menu, or on a link to another page, takes the parameters in the address along: should the server have
// forgotten this tab meanwhile, the page it draws is still about the same table. The address is one step of Back.
const LINKS = 'a[data-testid*="Nav"][href]';

function carryTheLink() {
  if (window.carriesTheLink) return;
  window.carriesTheLink = true;
  const carried = (event) => {
    const link = event.target.closest?.(LINKS);
    if (!link || link.origin !== location.origin || link.pathname === location.pathname || !location.search) return null;
    link.search = location.search; // also for a click that opens another tab
    return link;
  };
  for (const act of ["pointerdown", "focusin"]) window.addEventListener(act, carried, true);
  window.addEventListener("click", (event) => {
    const link = carried(event);
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    history.pushState({}, "", link.href);
    window.dispatchEvent(new PopStateEvent("popstate"));
    if (link.closest('[data-testid="stSidebar"]') && matchMedia("(max-width: 768px)").matches) {
      document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
    }
  }, true);
}

// Which table of its own this browser had last, until it is closed: a tab that begins without parameters offers it.
function rememberTheTable(table) {
  if (table === null) return;
  const place = new URL(".", location.href).pathname;
  const age = table ? "" : "; max-age=0";
  document.cookie = `mkl_table=${encodeURIComponent(table)}; path=${place}; samesite=lax${age}`;
}
