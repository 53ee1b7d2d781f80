// Marks of a picture that can be chosen, by a click or by keys alone: Tab leads into the picture, arrows lead to the nearest
// mark on their side, Enter and Space choose it.
const SIDES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const ASIDE = 2; // a px to the side counts as much as this many px ahead

class Marks {
  // `choose(id)` receives the chosen mark.
  constructor(svg, choose) {
    Object.assign(this, { svg, choose, there: [], at: null, held: false });
    svg.onkeydown = (event) => this.#key(event);
    svg.onfocusin = ({ target }) => (this.at = this.there.find(({ element }) => element === target)?.id ?? this.at);
  }

  // Before marks are taken out of the picture: the focus returns to the same mark.
  hold() {
    this.held ||= this.svg.contains(this.svg.getRootNode().activeElement);
  }

  // What can be chosen now: [{ id, element, x, y, said }]. One of them can be reached by Tab, the others from there.
  show(there, chosen) {
    this.hold();
    for (const { element } of this.there) {
      element.onclick = null;
      for (const name of ["role", "tabindex", "aria-label", "aria-pressed"]) element.removeAttribute(name);
    }
    this.there = there;
    const reached = this.#of(this.at) ?? this.#of(chosen) ?? there[0];
    for (const mark of there) {
      const named = { role: "button", "aria-label": mark.said, "aria-pressed": mark.id === chosen };
      set(mark.element, { ...named, tabindex: mark === reached ? 0 : -1 });
      mark.element.onclick = () => this.choose(mark.id);
    }
    if (this.held && reached) reached.element.focus({ preventScroll: true });
    this.held = false;
  }

  #of(id) {
    return this.there.find((mark) => mark.id === id);
  }

  #key(event) {
    const from = this.there.find(({ element }) => element === event.target);
    const [side, pressed] = [SIDES[event.key], event.key === "Enter" || event.key === " "];
    if (!from || !(side || pressed) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (pressed) return this.choose(from.id);
    const next = this.#nearest(from, side);
    if (!next) return;
    from.element.setAttribute("tabindex", -1);
    next.element.setAttribute("tabindex", 0);
    next.element.focus();
  }

  #nearest(from, [right, down]) {
    let [best, least] = [null, Infinity];
    for (const mark of this.there) {
      const [dx, dy] = [mark.x - from.x, mark.y - from.y];
      const ahead = dx * right + dy * down;
      const away = ahead > 1 ? ahead + ASIDE * (Math.abs(dx * down) + Math.abs(dy * right)) : Infinity;
      if (away < least) [best, least] = [mark, away];
    }
    return best;
  }
}
