// The slider of every player: a native range input, and a button that plays it. The picture is drawn at most once a frame;
// Python learns of it once: on release of the pointer, or when the keys have rested. A `smooth` slider also stops between
// two positions; its keys go from position to position.
const KEYS_REST = 200; // ms
const SNAP = 0.06; // of a step, within which a smooth slider stops at the position itself
const STRIDE = 0.25; // of a step, by which a smooth slider plays

// The place of the least distance; of equal ones the nearest to `current`.
function nearest(away, current) {
  const least = Math.min(...away);
  const places = away.map((distance, k) => (distance === least ? k : Infinity));
  return places.reduce((best, k) => (Math.abs(k - current) < Math.abs(best - current) ? k : best));
}

// A presenter's remote sends these two keys: they lead through the steps of a lesson, which an input would swallow.
function handOn(event) {
  if (event.key !== "PageDown" && event.key !== "PageUp") return;
  event.preventDefault();
  event.stopPropagation();
  const { key, code, keyCode } = event;
  for (const type of ["keydown", "keyup"])
    document.dispatchEvent(new KeyboardEvent(type, { key, code, keyCode, which: keyCode, bubbles: true }));
}

class Slider {
  // `paint` draws what the position means, `stepTime` is in ms between two positions while playing, `title` names the button.
  constructor(root, { paint, stepTime, title, smooth = false }) {
    Object.assign(this, { paint, stepTime, title, smooth, turn: null, reported: null, between: null, extra: {} });
    Object.assign(this, { frame: 0, rest: 0, playing: 0 });
    this.range = root.querySelector("input");
    this.button = root.querySelector("button");
    this.value = root.querySelector("output");
    if (smooth) this.range.step = "any";
    this.range.oninput = () => this.move(this.position);
    this.range.onpointerup = () => this.release(0); // a thumb that snapped has no change event: its value was set here
    this.range.onkeydown = (event) => {
      handOn(event);
      if (this.smooth) this.#key(event); // a handler that returns false would take the key away
    };
    this.range.onchange = () => this.release(this.range.matches(":active") ? 0 : KEYS_REST);
    this.button.onclick = () => (this.playing ? this.pause() : this.play());
  }

  get position() {
    return +this.range.value;
  }

  get index() {
    return Math.round(this.position);
  }

  // What Python sends: how many positions, where the thumb belongs, what stands `between` two positions if anything does,
  // and its `turn`. Only a new turn moves the thumb: the echo of our own report must not pull it back mid-drag.
  take({ count, index, turn, between = null, extra = {} }, tell) {
    Object.assign(this, { tell, extra });
    this.range.max = count - 1;
    if (this.turn !== turn) {
      Object.assign(this, { turn, between, reported: between ? null : index });
      this.range.value = between && between.position !== undefined ? between.position : index;
    } else if (between && this.position === this.reported) this.between = between; // solved since it was reported
    this.label();
  }

  move(position) {
    const near = Math.round(position);
    const wanted = Math.abs(position - near) < SNAP ? near : position;
    if (wanted !== this.position) this.range.value = wanted; // a value that is set anew takes the change event away
    this.between = null;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.paint());
  }

  release(wait) {
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      const { index, position, turn, extra } = this;
      if (this.between || this.playing || position === this.reported) return;
      this.reported = position;
      this.tell("report", { ...extra, index, position, turn, time: Date.now() }); // the time makes each report a new one
    }, wait);
  }

  #key(event) {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const step = steps[event.key];
    this.move(Math.min(+this.range.max, Math.max(0, step > 0 ? Math.floor(this.position) + 1 : Math.ceil(this.position) - 1)));
    this.release(KEYS_REST);
  }

  play() {
    const stride = this.smooth ? STRIDE : 1;
    const atEnd = () => this.position >= +this.range.max;
    if (atEnd()) this.move(0);
    this.playing = setInterval(() => {
      if (atEnd() || !this.range.isConnected) this.pause();
      else this.move(Math.min(+this.range.max, this.position + stride));
    }, this.stepTime * stride);
    this.label();
  }

  pause() {
    if (!this.playing) return;
    clearInterval(this.playing);
    this.playing = 0;
    this.label();
    this.release(0);
  }

  label() {
    this.button.textContent = this.playing ? "❚❚" : "▶";
    this.button.setAttribute("aria-label", this.playing ? "Pause" : this.title);
  }

  // A pointer that holds `element` leads the thumb: `away(event)` tells how far it is from every position, for a smooth
  // slider below 0 on one side.
  hold(element, away, atOnce = false) {
    const follow = (event) => {
      const wanted = this.#wanted(away(event));
      if (wanted !== this.position || this.between) this.move(wanted);
    };
    element.onpointerdown = (event) => {
      event.preventDefault();
      event.stopPropagation();
      this.pause();
      element.setPointerCapture(event.pointerId);
      this.range.focus({ preventScroll: true });
      if (atOnce) follow(event);
      element.onpointermove = follow;
      element.onpointerup = element.onpointercancel = () => {
        element.onpointermove = element.onpointerup = element.onpointercancel = null;
        this.release(0);
      };
    };
  }

  #wanted(offsets) {
    const at = nearest(offsets.map(Math.abs), this.index);
    const shares = [-1, 1].map((side) => ({ side, share: offsets[at] / (offsets[at] - offsets[at + side]) }));
    const inner = this.smooth && shares.find(({ share }) => share > 0 && share < 1);
    return inner ? at + inner.side * inner.share : at;
  }

  show(text, spoken) {
    this.range.style.setProperty("--done", (100 * this.position) / Math.max(1, +this.range.max) + "%");
    this.value.textContent = text;
    this.range.setAttribute("aria-valuetext", spoken);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    if (!this.range.isConnected) clearInterval(this.playing);
  }
}
