// Make the truth yourself: bars one drags, and what lp-norm MKL learns from draws of it, solved in the browser by `norms`.
// The state is the truth, the rows and the point (p, C); the picture is a function of the state and of the last answer.
const { STEPS_OF_P, COSTS, TRUE_COLUMNS, cost } = norms();
const ROWS = [20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400, 600, 800];
const DRAWS = 8;
const PAUSE = 334; // ms between two answers while something is dragged
const SLOW = 200; // ms, beyond which such an answer is made of half as many draws
const ALIKE = 0.03; // points of error
const CERTIFIED = 1e-3; // relative gap
const FINE = { tolerance: CERTIFIED, steps: 60 };
const COARSE = { tolerance: 3 * CERTIFIED, steps: 15 };
const TRUTHS = {
  start: { bars: [1, 0.9, 0.8, 0.75, 0.6, 0.5, 0.4, 0.3, 0.2, 0], noise: 40, rows: 50, overlap: 4, correlation: 0 },
  one: { bars: [0, 0, 0, 1, 0, 0, 0, 0, 0, 0], noise: 40, rows: 50, overlap: 4, correlation: 0 },
  all: { bars: Array(TRUE_COLUMNS).fill(0.5), noise: 0, rows: 30, overlap: 4, correlation: 0 },
  copies: { bars: [0, 0, 0, 1, 0, 0, 0, 0, 0, 0], noise: 0, rows: 50, overlap: 4, correlation: 0.95 },
};
const NUMBERS = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];
const LEFT = 58;
const EDGE = 10; // half a cell, so that a mark at the edge of the map is whole
const HEIGHTS = { top: 22, curve: 150, between: 58, map: 150, bars: 200, over: 18 };

const bound = (low, value, high) => Math.min(high, Math.max(low, value));
const nearest = (list, wanted) =>
  list.reduce((best, value, at) => (Math.abs(value - wanted) < Math.abs(list[best] - wanted) ? at : best), 0);
const normText = (i) => (i === STEPS_OF_P ? "∞" : String(+(STEPS_OF_P / (STEPS_OF_P - i)).toPrecision(3)));
const named = (i) => `p\u00a0=\u00a0${normText(i)}`;
const costText = (k) => String(+cost(k).toPrecision(2));
const percent = (value) => value.toFixed(1) + "\u00a0%";
const everyOf = (count, step, also) => [...Array(count).keys()].filter((at) => at % step === 0 || at === also || at === count - 1);
const gem = (x, y, r = 6) => `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}z`;

class Playground {
  constructor(root) {
    this.root = root;
    this.state = { ...this.truthOf("start"), seed: 1, i: 6, k: 6, along: true, mode: "", guess: null };
    Object.assign(this, { answer: null, others: null, folds: null, latest: 0, shown: 0, timer: 0, lastAsked: 0, draws: DRAWS });
    this.times = { coarse: [], fine: [], release: [] };
    this.worker = new Worker(URL.createObjectURL(new Blob([`(${norms})().listen()`], { type: "text/javascript" })));
    this.worker.onmessage = ({ data }) => this.take(data);
    this.makeBars();
    this.makePicture();
    this.makeControls();
    this.resized = new ResizeObserver(() => this.draw());
    this.recalled = () => this.recall() && this.settle();
  }

  by(name) {
    return this.root.querySelector(name);
  }

  truthOf(name) {
    const truth = structuredClone(TRUTHS[name]);
    return { ...truth, rows: ROWS.indexOf(truth.rows) };
  }

  // -- what is known

  get hidden() {
    return this.state.mode === "guessing";
  }
  get mattering() {
    return this.state.bars.filter((bar) => bar > 0).length;
  }
  get leastPossible() {
    return this.mattering ? this.state.overlap : 50;
  }

  cell(i, k) {
    return nearest(this.answer.ps, i) * this.answer.ks.length + nearest(this.answer.ks, k);
  }

  // Of costs that err alike the largest, and of norms the sparsest: so the best does not jump along a plateau.
  bestCost(a) {
    const { mean, ks } = this.answer;
    const row = mean.slice(a * ks.length, (a + 1) * ks.length);
    return row.findLastIndex((error) => error <= Math.min(...row) + ALIKE);
  }
  curve() {
    const { ps, ks, mean, wide, gaps } = this.answer;
    return ps.map((i, a) => {
      const at = a * ks.length + this.bestCost(a);
      return { i, k: ks[this.bestCost(a)], error: mean[at], wide: wide[at], open: gaps[at] > this.certified };
    });
  }
  least(curve) {
    const least = Math.min(...curve.map(({ error }) => error));
    return curve.find(({ error }) => error <= least + ALIKE);
  }
  get certified() {
    return this.answer.kind === "fine" ? CERTIFIED : COARSE.tolerance;
  }

  // -- the worker

  ask(kind) {
    const { bars, noise, correlation, seed, rows, i, k } = this.state;
    const truth = { bars, noise, correlation, seed, overlap: this.state.overlap };
    const fine = kind === "fine";
    const ps = fine ? everyOf(STEPS_OF_P + 1, 1) : everyOf(STEPS_OF_P + 1, 2, i);
    const ks = fine ? everyOf(COSTS, 1) : everyOf(COSTS, 3, k);
    const more = fine ? { draws: DRAWS, options: FINE } : { draws: this.draws, options: COARSE };
    this.worker.postMessage({ id: ++this.latest, kind, truth, rows: ROWS[rows], ps, ks, ...more });
  }

  // While a control moves: at most three coarse answers a second. At its release: a fine one, at once.
  moved() {
    if (this.state.mode === "revealed") Object.assign(this.state, { mode: "", guess: null });
    this.drawTruth();
    if (this.timer) return;
    const wait = Math.max(0, this.lastAsked + PAUSE - performance.now());
    this.timer = setTimeout(() => {
      Object.assign(this, { timer: 0, lastAsked: performance.now() });
      this.ask("coarse");
    }, wait);
  }
  settle() {
    clearTimeout(this.timer);
    Object.assign(this, { timer: 0, released: performance.now() });
    this.ask("fine");
    this.remember();
  }
  rest() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.settle(), 250);
  }

  take(message) {
    const { id, kind } = message;
    if (kind === "rows" || kind === "folds") {
      if (id !== this.latest) return;
      this[kind === "rows" ? "others" : "folds"] = message;
      this.draw();
      return;
    }
    if (id <= this.shown) return;
    const isFirst = !this.answer;
    Object.assign(this, { shown: id, answer: message, others: null, folds: null });
    this.times[kind].push(message.ms);
    if (kind === "coarse") this.draws = message.ms > SLOW ? DRAWS / 2 : DRAWS;
    // A guess can be revealed before there is an answer.
    if (isFirst && this.state.mode === "revealed") this.toBest();
    if (this.state.along) this.state.k = message.ks[this.bestCost(nearest(message.ps, this.state.i))];
    this.draw();
    if (kind === "fine") this.times.release.push(performance.now() - this.released);
  }

  // -- the truth

  makeBars() {
    const label = "How much each of ten columns matters. Up and down change a bar, left and right lead to the next.";
    this.barsBox = make(this.by(".bars"), "svg", { height: HEIGHTS.bars + HEIGHTS.over + 22, role: "group", "aria-label": label });
    this.bars = everyOf(TRUE_COLUMNS, 1).map((j) => this.makeBar(j));
    this.chance = make(this.barsBox, "path", { class: "learned" });
    this.floors = [0, 1].map(() => make(this.barsBox, "line", { class: "base" }));
    this.noiseName = make(this.barsBox, "text", { "text-anchor": "middle" });
  }

  makeBar(j) {
    const slider = { role: "slider", tabindex: 0, "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 1 };
    const group = make(this.barsBox, "g", { class: "bar", "aria-label": `Column ${j + 1}`, ...slider });
    const [ground, solid, learned, top] = ["ground", "true", "learned", "top"].map((name) => make(group, "rect", { class: name }));
    const name = make(group, "text", { "text-anchor": "middle" }, j + 1);
    const value = make(group, "text", { class: "value", "text-anchor": "middle" });
    const follow = ({ clientY }) => {
      const { top: start } = this.barsBox.getBoundingClientRect();
      this.setBar(j, (HEIGHTS.over + HEIGHTS.bars - (clientY - start)) / HEIGHTS.bars);
    };
    this.lead(group, follow, () => this.settle());
    group.onkeydown = (event) => {
      const sides = { ArrowLeft: -1, ArrowRight: 1 };
      const steps = { ArrowUp: 0.05, ArrowDown: -0.05, PageUp: 0.2, PageDown: -0.2, Home: -1, End: 1 };
      if (event.key in sides) this.bars[bound(0, j + sides[event.key], TRUE_COLUMNS - 1)].group.focus();
      else if (event.key in steps) {
        this.setBar(j, this.state.bars[j] + steps[event.key]);
        this.rest();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    };
    group.onfocus = group.onblur = () => this.drawTruth();
    return { group, ground, solid, learned, top, name, value };
  }

  setBar(j, value) {
    const next = bound(0, Math.round(value * 20) / 20, 1);
    if (next === this.state.bars[j]) return;
    this.state.bars[j] = next;
    this.press("");
    this.moved();
  }

  // Follow the pointer from its press on an element to its release.
  lead(element, follow, done) {
    element.onpointerdown = (event) => {
      event.preventDefault();
      element.setPointerCapture(event.pointerId);
      element.focus?.({ preventScroll: true });
      element.classList.add("held");
      follow(event);
      element.onpointermove = follow;
      element.onpointerup = element.onpointercancel = () => {
        element.onpointermove = element.onpointerup = element.onpointercancel = null;
        element.classList.remove("held");
        done();
      };
    };
  }

  // The weights at the point, in the first draw, and how high each stands beside the truth.
  learned() {
    const { answer, state } = this;
    if (!answer || this.hidden || !this.mattering) return null;
    const at = this.cell(state.i, state.k) * answer.M;
    const weights = answer.weights.slice(at, at + answer.M);
    const size = Math.max(...weights) / Math.max(...state.bars);
    return { weights, height: (m) => (m < weights.length && size > 0 ? weights[m] / size : 0) };
  }

  drawTruth() {
    const width = this.by(".bars").clientWidth;
    const { noise, bars, i, k } = this.state;
    const base = HEIGHTS.over + HEIGHTS.bars;
    const room = noise ? bound(70, noise * 7, 0.34 * width) : 0;
    const slot = (width - room - (noise ? 10 : 0)) / TRUE_COLUMNS;
    const learned = this.learned();
    this.bars.forEach((marks, j) => {
      const wide = bound(10, 0.74 * slot, 46);
      const [left, height, inner] = [j * slot + (slot - wide) / 2, bars[j] * HEIGHTS.bars, Math.max(4, 0.42 * wide)];
      const grown = learned ? learned.height(j) * HEIGHTS.bars : 0;
      const middle = (j + 0.5) * slot;
      set(marks.ground, { x: j * slot + 1, y: HEIGHTS.over - 12, width: slot - 2, height: HEIGHTS.bars + 32, rx: 6 });
      set(marks.solid, { x: left, y: base - height, width: wide, height });
      set(marks.learned, { x: left + (wide - inner) / 2, y: base - grown, width: inner, height: grown });
      set(marks.top, { x: left, y: base - height - 1.5, width: wide, height: 3 });
      set(marks.name, { x: middle, y: base + 17 });
      set(marks.value, { x: middle, y: base - height - 6 });
      const live = marks.group.classList.contains("held") || this.root.activeElement === marks.group;
      marks.value.textContent = live ? String(bars[j]) : "";
      const weight = learned ? `, learned weight ${learned.weights[j].toFixed(2)}` : "";
      set(marks.group, { "aria-valuenow": bars[j], "aria-valuetext": `matters by ${bars[j]}${weight}` });
    });
    const [start, step] = [width - room, noise ? room / noise : 0];
    const sticks = everyOf(learned ? noise : 0, 1).map((m) => {
      const [height, wide] = [learned.height(TRUE_COLUMNS + m) * HEIGHTS.bars, Math.min(10, 0.62 * step)];
      const left = start + (m + 0.5) * step - wide / 2;
      return `M${left.toFixed(1)} ${base}v${(-height).toFixed(1)}h${wide.toFixed(1)}v${height.toFixed(1)}z`;
    });
    set(this.chance, { d: sticks.join("") });
    set(this.floors[0], { x1: 0, x2: TRUE_COLUMNS * slot, y1: base, y2: base });
    set(this.floors[1], { x1: start, x2: width, y1: base, y2: base });
    set(this.noiseName, { x: start + room / 2, y: base + 17 });
    this.noiseName.textContent = noise ? (noise === 1 ? "1 noise column" : `${noise} noise columns`) : "";
    const blue = this.hidden ? "" : ` <b>Blue</b>: weight θ learned at ${named(i)}, C\u00a0=\u00a0${costText(k)}, scaled to the tallest bar.`;
    this.by(".legend").innerHTML = `<i>Grey</i>: the truth you set.${blue}`;
  }

  // -- the answer: a curve and a map over one axis of p

  makePicture() {
    this.norm = this.by(".norm");
    this.box = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.norm.before(this.box);
    set(this.box, { role: "group" });
    this.back = make(this.box, "g");
    this.across = make(this.box, "rect", { class: "ground across" });
    this.both = make(this.box, "rect", { class: "ground both" });
    this.front = make(this.box, "g", { "pointer-events": "none" });
    const name = "Point in the map: left and right change p, up and down change C";
    const slider = { role: "slider", tabindex: 0, "aria-label": name, "aria-valuemin": 0, "aria-valuemax": STEPS_OF_P };
    this.held = make(this.box, "g", { class: "hold", ...slider });
    make(this.held, "circle", { class: "halo", r: 9 });
    make(this.held, "circle", { class: "ring", r: 7, style: "fill: none" });
    make(this.held, "circle", { class: "ground", r: 18 });
    const where = ({ clientX, clientY }) => {
      const { left, top } = this.box.getBoundingClientRect();
      const i = Math.round(((clientX - left - LEFT - EDGE) / this.span) * STEPS_OF_P);
      const k = Math.floor((1 - (clientY - top - this.mapTop) / HEIGHTS.map) * COSTS);
      return [bound(0, i, STEPS_OF_P), bound(0, k, COSTS - 1)];
    };
    const end = () => this.remember();
    this.lead(this.across, (event) => this.point(where(event)[0]), end);
    for (const element of [this.both, this.held]) this.lead(element, (event) => this.hidden || this.point(...where(event)), end);
    this.held.onkeydown = (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!step || this.hidden) return;
      event.preventDefault();
      event.stopPropagation();
      this.point(bound(0, this.state.i + step[0], STEPS_OF_P), bound(0, this.state.k + step[1], COSTS - 1));
      this.remember();
    };
    this.norm.oninput = () => this.point(+this.norm.value);
    this.norm.onchange = end;
  }

  // Go to a norm at its best C, or to a point of the map.
  point(i, k) {
    if (this.hidden) {
      this.state.guess = i;
      this.draw();
      return;
    }
    const along = k === undefined;
    if (along && this.answer) k = this.answer.ks[this.bestCost(nearest(this.answer.ps, i))];
    Object.assign(this.state, { i, k: k ?? this.state.k, along });
    this.draw();
  }

  // Go to the best point, where it is known.
  toBest() {
    if (!this.answer) return;
    const { i, k } = this.least(this.curve());
    Object.assign(this.state, { i, k, along: true });
  }

  get mapTop() {
    return HEIGHTS.top + HEIGHTS.curve + HEIGHTS.between;
  }
  get span() {
    return this.width - LEFT - 2 * EDGE;
  }
  x(i) {
    return LEFT + EDGE + (i / STEPS_OF_P) * this.span;
  }
  y(k) {
    return this.mapTop + HEIGHTS.map * (1 - (k + 0.5) / COSTS);
  }

  drawAnswer() {
    this.width = this.by(".picture").clientWidth;
    const { width, back, front, state, answer } = this;
    const bottom = HEIGHTS.top + HEIGHTS.curve;
    const end = this.mapTop + HEIGHTS.map;
    back.replaceChildren();
    front.replaceChildren();
    set(this.box, { height: end + 24 });
    set(this.across, { x: LEFT, y: 0, width: width - LEFT, height: bottom + 24 });
    set(this.both, { x: LEFT, y: this.mapTop, width: width - LEFT, height: HEIGHTS.map });
    Object.assign(this.norm.style, { left: this.x(0) - 9 + "px", width: this.span + 18 + "px", top: bottom - 12 + "px" });
    this.held.style.display = this.hidden || !answer ? "none" : "";
    const text = (attributes, words) => make(back, "text", attributes, words);
    for (const i of [0, 6, 12, 18, 24]) text({ x: this.x(i), y: bottom + 24, "text-anchor": "middle" }, normText(i));
    const ends = width < 420 ? "p: few columns at 1, all alike at ∞" : "norm p of the weights: few columns at 1, all alike at ∞";
    text({ x: (LEFT + width) / 2, y: end + 18, "text-anchor": "middle" }, ends);
    text({ class: "title", x: LEFT, y: this.mapTop - 10 }, width < 420 ? "By p and C" : "Test error by p and C");
    for (let k = 0; k < COSTS; k += 3) text({ x: LEFT - 8, y: this.y(k) + 4, "text-anchor": "end" }, costText(k));
    const turned = (y, words) => text({ transform: `translate(10 ${y}) rotate(-90)`, "text-anchor": "middle" }, words);
    turned(this.mapTop + HEIGHTS.map / 2, "C (log scale)");
    turned(HEIGHTS.top + HEIGHTS.curve / 2, "test error, %");
    if (this.hidden) this.drawHidden(bottom);
    else if (answer) {
      const curve = this.curve();
      this.drawCurve(curve, bottom);
      this.drawMap(curve);
      const now = answer.mean[this.cell(state.i, state.k)];
      const said = `${named(state.i)}, C\u00a0=\u00a0${costText(state.k)}: test error ${percent(now)}`;
      set(this.held, { transform: `translate(${this.x(state.i)} ${this.y(state.k)})`, "aria-valuenow": state.i, "aria-valuetext": said });
      set(this.norm, { "aria-valuetext": said, "aria-label": "Norm p, each at its best C" });
    }
  }

  drawCurve(curve, bottom) {
    const { width, back, front, state, answer } = this;
    const least = this.least(curve);
    const now = answer.mean[this.cell(state.i, state.k)];
    const highest = Math.max(...curve.map(({ error, wide }) => error + wide), Math.min(now, 50), 1.25 * this.leastPossible);
    const top = [5, 7.5, 10, 15, 20, 25, 30, 40, 50].find((value) => highest <= value + 1e-9) ?? 50;
    const y = (error) => bottom - (bound(0, error, top) / top) * HEIGHTS.curve;
    const step = top <= 7.5 ? 2.5 : top <= 15 ? 5 : top <= 30 ? 10 : 20;
    for (let value = 0; value <= top + 1e-9; value += step) {
      if (value) make(back, "line", { class: "hair", x1: LEFT, x2: width, y1: y(value), y2: y(value) });
      make(back, "text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, value);
    }
    const along = (points, side) => points.map((at) => `${this.x(at.i).toFixed(1)} ${y(at.error + side * at.wide).toFixed(1)}`);
    make(back, "path", { class: "band", d: "M" + [...along(curve, 1), ...along(curve, -1).reverse()].join("L") + "z" });
    const floor = y(this.leastPossible);
    make(back, "line", { class: "bayes", x1: LEFT, x2: width, y1: floor, y2: floor });
    const right = this.x(state.i) < width / 2;
    const words = { x: right ? width : LEFT + 2, "text-anchor": right ? "end" : "start" };
    make(back, "text", { class: "over", y: floor + (floor + 18 < bottom ? 14 : -5), ...words }, `no rule errs on less than ${percent(this.leastPossible)}`);
    for (let a = 1; a < curve.length; a++) {
      const piece = curve.slice(a - 1, a + 1);
      const open = piece.some((one) => one.open) ? " open" : "";
      make(back, "path", { class: `line${open}`, d: "M" + along(piece, 0).join("L") });
    }
    const x = this.x(state.i);
    make(front, "line", { class: "now", x1: x, x2: x, y1: HEIGHTS.top - 4, y2: bottom - 9 });
    make(front, "line", { class: "now", x1: x, x2: x, y1: this.mapTop, y2: this.mapTop + HEIGHTS.map, "stroke-opacity": 0.4 });
    const labels = [];
    const own = curve[nearest(answer.ps, state.i)];
    if (this.mattering) labels.push({ x: this.x(least.i), text: `best: ${named(least.i)}, ${percent(least.error)}`, kind: "strong" });
    if (state.mode === "revealed" && state.guess !== null) {
      const line = { x1: this.x(state.guess), x2: this.x(state.guess), y1: HEIGHTS.top - 4, y2: bottom - 9 };
      make(front, "line", { class: "guessed", ...line });
      const { error } = curve[nearest(answer.ps, state.guess)];
      if (state.guess !== least.i) labels.push({ x: line.x1, text: `guess: ${named(state.guess)}, ${percent(error)}`, kind: "guess" });
    }
    if (least.i !== state.i || least.k !== state.k) labels.push({ x, text: `now: ${named(state.i)}, ${percent(now)}`, kind: "value" });
    this.drawLabels(labels);
    if (Math.abs(own.error - now) > ALIKE) make(front, "circle", { class: "dot", cx: x, cy: y(own.error), r: 3 });
    make(front, "circle", { class: "ring", cx: x, cy: y(now), r: 5 });
    if (this.mattering) make(front, "path", { class: "gem", d: gem(this.x(least.i), y(least.error)) });
    const bounds = [curve[0], least, curve[curve.length - 1]].map(({ i, error }) => `${percent(error)} at ${named(i)}`);
    set(this.box, { "aria-label": `Test error along p: ${bounds.join(", ")}. No rule errs on less than ${percent(this.leastPossible)}.` });
  }

  // Labels in one row that push each other apart.
  drawLabels(labels) {
    labels.sort((one, other) => one.x - other.x);
    const made = labels.map(({ x, text, kind }) => ({ x, element: make(this.front, "text", { class: `over ${kind}`, y: 12 }, text) }));
    for (const one of made) {
      one.wide = one.element.getComputedTextLength() + 10;
      one.left = bound(LEFT - 40, one.x - one.wide / 2, this.width - one.wide + 10);
    }
    for (let a = 1; a < made.length; a++) made[a].left = Math.max(made[a].left, made[a - 1].left + made[a - 1].wide);
    for (let a = made.length - 1; a >= 0; a--) {
      const room = a + 1 < made.length ? made[a + 1].left : this.width + 10;
      made[a].left = Math.min(made[a].left, room - made[a].wide);
      set(made[a].element, { x: made[a].left });
    }
  }

  drawMap(curve) {
    const { back, front, answer, width } = this;
    const { ps, ks, mean, wide, gaps } = answer;
    const least = this.least(curve);
    const low = this.leastPossible;
    const reach = Math.max(1, 2.5 * (Math.max(...curve.map(({ error }) => error)) - low));
    const most = Math.max(...mean);
    const high = Math.max(low + 1, Math.min(most, low + reach));
    const shade = (error) => {
      const share = Math.round(199 * bound(0, (error - low) / (high - low), 1) ** 0.6);
      const [from, to] = share < 100 ? ["--deep", "--st-primary-color"] : ["--st-primary-color", "--faint"];
      return `fill: color-mix(in oklab, var(${to}) ${share % 100}%, var(${from}))`;
    };
    const middles = (list, at) => list.slice(1).map((value, n) => (at(list[n]) + at(value)) / 2);
    const xs = [LEFT, ...middles(ps, (i) => this.x(i)), width];
    const ys = [this.mapTop + HEIGHTS.map, ...middles(ks, (k) => this.y(k)), this.mapTop];
    const rectangle = (a, b) => ({ x: xs[a], y: ys[b + 1], width: xs[a + 1] - xs[a] + 0.4, height: ys[b] - ys[b + 1] + 0.4 });
    ps.forEach((_, a) =>
      ks.forEach((_, b) => {
        const at = a * ks.length + b;
        make(back, "rect", { ...rectangle(a, b), style: shade(mean[at]) });
        if (gaps[at] > this.certified) make(front, "rect", { class: "unsolved", ...rectangle(a, b) });
      }),
    );
    if (answer.kind === "fine" && this.mattering) {
      const best = this.cell(least.i, least.k);
      const inside = (a, b) => a >= 0 && b >= 0 && a < ps.length && b < ks.length && mean[a * ks.length + b] <= mean[best] + wide[best];
      let d = "";
      ps.forEach((_, a) =>
        ks.forEach((_, b) => {
          if (!inside(a, b)) return;
          const [x0, x1, y0, y1] = [Math.max(LEFT + 1, xs[a]), Math.min(width - 1, xs[a + 1]), ys[b + 1], ys[b]];
          if (!inside(a - 1, b)) d += `M${x0} ${y0}V${y1}`;
          if (!inside(a + 1, b)) d += `M${x1} ${y0}V${y1}`;
          if (!inside(a, b - 1)) d += `M${x0} ${y1}H${x1}`;
          if (!inside(a, b + 1)) d += `M${x0} ${y0}H${x1}`;
        }),
      );
      for (const name of ["contour under", "contour"]) make(front, "path", { class: name, d });
    }
    if (this.mattering) make(front, "path", { class: "gem", d: gem(this.x(least.i), this.y(least.k)) });
    if (this.folds && this.mattering) {
      const [x, y] = [this.x(this.folds.i) - 5, this.y(this.folds.k) - 5];
      make(front, "rect", { class: "square", x, y, width: 10, height: 10 });
    }
    const [first, last] = [percent(low), `${most > high ? "over " : ""}${percent(high)}`];
    const y = this.mapTop - 18;
    const right = make(back, "text", { x: width, y: y + 8, "text-anchor": "end" }, last);
    const stop = width - right.getComputedTextLength() - 6;
    const long = Math.min(96, 0.18 * width);
    for (let n = 0; n < 24; n++) {
      const style = shade(low + (n / 23) * (high - low));
      make(back, "rect", { x: stop - long + (n * long) / 24, y, width: long / 24 + 0.5, height: 8, style });
    }
    make(back, "text", { x: stop - long - 6, y: y + 8, "text-anchor": "end" }, first);
  }

  // Guess first: the axis alone.
  drawHidden(bottom) {
    const { back, state } = this;
    const wide = this.width - LEFT;
    make(back, "rect", { class: "veil", x: LEFT, y: HEIGHTS.top, width: wide, height: HEIGHTS.curve - 14, rx: 6 });
    make(back, "rect", { class: "veil", x: LEFT, y: this.mapTop, width: wide, height: HEIGHTS.map, rx: 6 });
    const middle = { x: LEFT + wide / 2, "text-anchor": "middle" };
    make(back, "text", { ...middle, y: this.mapTop + HEIGHTS.map / 2 + 4 }, "hidden until you guess");
    const open = state.guess === null;
    make(back, "text", { ...middle, class: "title", y: HEIGHTS.top + 60 }, open ? "Which p errs least on this truth?" : `You say ${named(state.guess)}.`);
    make(back, "text", { ...middle, y: HEIGHTS.top + 82 }, open ? "Drag the thumb on the axis to your guess." : "Move it, or press Reveal.");
    set(this.norm, { "aria-label": "Your guess of the best p", "aria-valuetext": open ? "no guess yet" : named(state.guess) });
    set(this.box, { "aria-label": "Hidden until you guess the best p." });
  }

  // -- words

  sentence() {
    if (this.hidden) return "The bars say how much each column matters. Place your guess of the best p, then press Reveal.";
    if (!this.answer) return "";
    const count = this.mattering;
    const all = TRUE_COLUMNS + this.state.noise;
    if (!count) return "No column matters, so every rule errs on 50.0\u00a0%. Drag a bar up.";
    const curve = this.curve();
    const least = this.least(curve);
    const ends = [curve[0], curve[curve.length - 1]];
    const worse = ends[0].error > ends[1].error ? ends[0] : ends[1];
    const who = count === all ? `All ${NUMBERS[count].toLowerCase()} columns matter`
      : `${NUMBERS[count]} of ${NUMBERS[all]?.toLowerCase() ?? all} columns ${count === 1 ? "matters" : "matter"}`;
    const gain = worse.error - least.error;
    const start = `${this.guessSaid(curve, least)}${who}: `;
    const edge = [0, COSTS - 1].includes(least.k) ? " Its best C is at the edge of the map." : "";
    if (gain < least.wide) {
      const copies = this.state.correlation >= 0.9 ? " Neighbours stand in for each other: press New data and see the weights move." : "";
      return `${start}every p errs on ${percent(least.error)} to ${percent(worse.error)}, which is within one standard error; the norm hardly matters here.${copies}`;
    }
    const rest = this.others ? this.withOtherRows(gain) : "";
    return `${start}${named(least.i)} errs on ${percent(least.error)}, ${named(worse.i)} on ${percent(worse.error)}, and no rule on less than ${percent(this.leastPossible)}.${edge}${rest}`;
  }
  withOtherRows(gain) {
    const { rows, difference } = this.others;
    if (Math.abs(difference) < 0.05) return ` With ${rows} rows the difference is gone.`;
    const turned = difference < 0 ? " the other way" : "";
    return ` With ${rows} rows the difference is ${Math.abs(difference).toFixed(1)} points${turned}, not ${gain.toFixed(1)}.`;
  }
  guessSaid(curve, least) {
    const { mode, guess } = this.state;
    if (mode !== "revealed") return "";
    if (guess === least.i) return `Your guess, ${named(guess)}, is the best. `;
    const more = curve[nearest(this.answer.ps, guess)].error - least.error;
    const price = more < 0.1 ? "as good as it" : `${more.toFixed(1)} points worse`;
    return `Your guess, ${named(guess)}, is ${Math.abs(guess - least.i)} of ${STEPS_OF_P} steps from the best, ${named(least.i)}, and ${price}. `;
  }

  drawWords() {
    const text = this.sentence();
    this.by(".say").textContent = text;
    const settled = this.hidden || this.answer?.kind === "fine";
    if (settled && this.by(".unseen").textContent !== text) this.by(".unseen").textContent = text;
    let taken = "";
    if (this.folds && this.mattering) {
      const { i, k } = this.folds;
      taken = ` □ Cross-validation on the first draw takes ${named(i)}, C\u00a0=\u00a0${costText(k)}: ${percent(this.answer.mean[this.cell(i, k)])}.`;
    }
    const drawn = `Mean of ${DRAWS} draws of ${ROWS[this.state.rows]} rows, band: its standard error. Outlined: within one of the best.`;
    this.by(".caption").textContent = this.hidden ? "" : drawn + taken;
  }

  drawNumbers() {
    const tables = this.by(".tables");
    tables.replaceChildren();
    if (this.hidden || this.answer?.kind !== "fine") return;
    const { i, k, bars } = this.state;
    const learned = this.learned();
    const rows = this.curve().filter((at) => at.i % 2 === 0).map((at) => [normText(at.i), costText(at.k), percent(at.error), at.wide.toFixed(2)]);
    this.table(tables, "Test error at the best C", ["p", "C", "error", "±"], rows);
    if (!learned) return;
    const noise = learned.weights.slice(TRUE_COLUMNS).reduce((sum, value) => sum + value, 0);
    const weights = bars.map((bar, j) => [j + 1, bar, learned.weights[j].toFixed(3)]);
    this.table(tables, `Weights at ${named(i)}, C = ${costText(k)}`, ["column", "truth", "θ"], [...weights, ["noise, all", 0, noise.toFixed(3)]]);
  }
  table(parent, title, head, rows) {
    const made = cell(parent, "table", "");
    cell(made, "caption", "").textContent = title;
    for (const [n, row] of [head, ...rows].entries()) {
      const line = cell(made, "tr", "");
      for (const text of row) cell(line, n ? "td" : "th", "").textContent = text;
    }
  }

  draw() {
    if (!this.by(".bars").clientWidth) return;
    this.drawTruth();
    this.drawAnswer();
    this.drawWords();
    this.drawNumbers();
    const { mode, guess, i } = this.state;
    this.norm.value = this.hidden ? (guess ?? STEPS_OF_P / 2) : i;
    this.by(".picture").classList.toggle("hidden", this.hidden);
    const reveals = this.hidden && guess !== null;
    set(this.by(".first"), { "aria-pressed": mode === "guessing" && !reveals });
    this.by(".first").classList.toggle("primary", reveals);
    this.by(".first").textContent = reveals ? "Reveal" : "Guess first";
  }

  // -- the other controls

  makeControls() {
    for (const input of this.root.querySelectorAll(".controls input")) {
      input.oninput = () => {
        this.state[input.name] = input.name === "correlation" ? +input.value / 20 : +input.value;
        this.press("");
        this.drawControls();
        this.moved();
      };
      input.onchange = () => this.settle();
    }
    for (const button of this.root.querySelectorAll("[data-truth]"))
      button.onclick = () => {
        const mode = this.hidden ? "guessing" : "";
        Object.assign(this.state, this.truthOf(button.dataset.truth), { along: true, mode, guess: null });
        this.press(button.dataset.truth);
        this.begin();
      };
    this.by(".fresh").onclick = () => {
      this.state.seed += 1;
      if (!this.hidden) Object.assign(this.state, { mode: "", guess: null });
      this.begin();
    };
    this.by(".first").onclick = () => {
      const { mode, guess } = this.state;
      if (mode !== "guessing") Object.assign(this.state, { mode: "guessing", guess: null });
      else if (guess === null) this.state.mode = "";
      else {
        this.state.mode = "revealed";
        this.toBest();
      }
      this.draw();
      this.remember();
    };
    this.by(".link").onclick = async () => {
      this.remember();
      const told = this.by(".told");
      try {
        await navigator.clipboard.writeText(location.href);
        told.textContent = "Link copied.";
      } catch {
        told.textContent = "The link is in the address bar.";
      }
      setTimeout(() => (told.textContent = ""), 3000);
    };
    this.drawControls();
  }

  press(name) {
    for (const button of this.root.querySelectorAll("[data-truth]")) set(button, { "aria-pressed": button.dataset.truth === name });
  }

  drawControls() {
    const { noise, rows, overlap, correlation, seed } = this.state;
    const values = { noise, rows, overlap, correlation: Math.round(correlation * 20) };
    const words = { noise: `${noise}`, rows: `${ROWS[rows]}`, overlap: `${overlap}\u00a0%`, correlation: `${correlation}` };
    for (const input of this.root.querySelectorAll(".controls input")) {
      input.value = values[input.name];
      input.style.setProperty("--done", (100 * (input.value - input.min)) / (input.max - input.min) + "%");
      input.previousElementSibling.textContent = words[input.name];
      set(input, { "aria-valuetext": words[input.name] });
    }
    this.by(".seed").textContent = `seed ${seed}`;
  }

  begin() {
    this.drawControls();
    this.drawTruth();
    this.settle();
  }

  // -- the link holds the truth and the point

  remember() {
    const { bars, noise, rows, overlap, correlation, seed, i, k, along } = this.state;
    const parts = { bars: bars.map((bar) => Math.round(100 * bar)).join("-"), noise, rows: ROWS[rows], overlap, correlation, seed };
    if (this.hidden) parts.guess = "first";
    else Object.assign(parts, { p: i, C: along ? "best" : k });
    history.replaceState(history.state, "", "#" + new URLSearchParams(parts));
  }

  recall() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const bars = (parts.get("bars") ?? "").split("-").map((text) => Math.round(bound(0, +text, 100) / 5) / 20);
    if (bars.length !== TRUE_COLUMNS || !bars.every(Number.isFinite)) return false;
    const whole = (name, low, high, otherwise) => {
      const value = parts.has(name) ? Math.round(+parts.get(name)) : NaN;
      return Number.isFinite(value) ? bound(low, value, high) : otherwise;
    };
    const { state } = this;
    Object.assign(state, {
      bars,
      noise: whole("noise", 0, 40, state.noise),
      rows: nearest(ROWS, whole("rows", 20, 800, ROWS[state.rows])),
      overlap: whole("overlap", 1, 30, state.overlap),
      correlation: Math.round(20 * bound(0, +parts.get("correlation") || 0, 0.95)) / 20,
      seed: whole("seed", 1, 1e6, state.seed),
      i: whole("p", 0, STEPS_OF_P, state.i),
      k: whole("C", 0, COSTS - 1, state.k),
      along: !/^\d+$/.test(parts.get("C") ?? ""),
      mode: parts.get("guess") === "first" ? "guessing" : "",
      guess: null,
    });
    this.drawControls();
    return true;
  }

  start() {
    this.resized.observe(this.by(".playground"));
    addEventListener("hashchange", this.recalled);
    if (this.begun) return this.draw();
    this.begun = true;
    this.recall();
    Object.assign(this, { released: performance.now() });
    this.draw();
    this.ask("fine");
  }

  stop() {
    this.resized.disconnect();
    removeEventListener("hashchange", this.recalled);
    if (!this.by(".playground")?.isConnected) this.worker.terminate();
  }
}

export default function ({ parentElement }) {
  const view = viewOf(parentElement, (root) => new Playground(root));
  parentElement.playground = view; // for tests
  view.start();
  return ending(view, () => view.stop());
}
