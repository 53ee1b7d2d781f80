// The slider of every player: a native range input, and a button that plays it. The picture is drawn at most once a frame;
// Python learns of it once: on release of the pointer, or when the keys have rested.
const KEYS_REST = 200; // ms

// The place of the least distance; of equal ones the nearest to `current`.
function nearest(away, current) {
  const least = Math.min(...away);
  const places = away.map((distance, k) => (distance === least ? k : Infinity));
  return places.reduce((best, k) => (Math.abs(k - current) < Math.abs(best - current) ? k : best));
}

class Slider {
  // `paint` draws what the position means, `stepTime` is in ms between two positions while playing, `title` names the button.
  constructor(root, { paint, stepTime, title }) {
    Object.assign(this, { paint, stepTime, title, turn: null, reported: null, between: null, extra: {} });
    Object.assign(this, { frame: 0, rest: 0, playing: 0 });
    this.range = root.querySelector("input");
    this.button = root.querySelector("button");
    this.value = root.querySelector("output");
    this.range.oninput = () => this.move(this.index);
    this.range.onchange = () => this.release(this.range.matches(":active") ? 0 : KEYS_REST);
    this.button.onclick = () => (this.playing ? this.pause() : this.play());
  }

  get index() {
    return +this.range.value;
  }

  // What Python sends: how many positions, where the thumb belongs, what stands `between` two positions if anything does,
  // and its `turn`. Only a new turn moves the thumb: the echo of our own report must not pull it back mid-drag.
  take({ count, index, turn, between = null, extra = {} }, tell) {
    Object.assign(this, { tell, extra });
    this.range.max = count - 1;
    if (this.turn !== turn) {
      Object.assign(this, { turn, between, reported: between ? null : index });
      this.range.value = index;
    }
    this.label();
  }

  move(index) {
    this.range.value = index;
    this.between = null;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.paint());
  }

  release(wait) {
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      const { index, turn, extra } = this;
      if (this.between || this.playing || index === this.reported) return;
      this.reported = index;
      this.tell("report", { ...extra, index, turn, time: Date.now() }); // the time makes each report a new one
    }, wait);
  }

  play() {
    const atEnd = () => this.index >= +this.range.max;
    if (atEnd()) this.move(0);
    this.playing = setInterval(() => {
      if (atEnd() || !this.range.isConnected) this.pause();
      else this.move(this.index + 1);
    }, this.stepTime);
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

  // A pointer that holds `element` leads the thumb: `away(event)` tells how far it is from every position.
  hold(element, away, atOnce = false) {
    const follow = (event) => {
      const wanted = nearest(away(event), this.index);
      if (wanted !== this.index || this.between) this.move(wanted);
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

  show(text, spoken) {
    this.range.style.setProperty("--done", (100 * this.index) / Math.max(1, +this.range.max) + "%");
    this.value.textContent = text;
    this.range.setAttribute("aria-valuetext", spoken);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    if (!this.range.isConnected) clearInterval(this.playing);
  }
}
