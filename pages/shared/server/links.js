// A click on the menu, or on a link to another page, changes the address at once and takes its parameters along. So the
// server knows which page a message is about that the browser sends before the next page is there, a server that has
// forgotten this tab draws the next page about the same table, and the address is one step of Back.
const LINKS = 'a[data-testid*="Nav"][href]';

function withParameters(event) {
  const link = event.target.closest?.(LINKS);
  if (!link || link.origin !== location.origin || link.pathname === location.pathname) return null;
  link.search = location.search; // also for a click that opens another tab
  return link;
}

for (const act of ["pointerdown", "focusin"]) addEventListener(act, withParameters, true);
addEventListener("click", (event) => {
  const link = withParameters(event);
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  history.pushState({}, "", link.href);
  dispatchEvent(new PopStateEvent("popstate"));
  if (link.closest('[data-testid="stSidebar"]') && matchMedia("(max-width: 768px)").matches) {
    document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
  }
}, true);
