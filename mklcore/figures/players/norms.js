// lp-norm MKL with the squared loss and one linear kernel per column, solved where the picture is: in the browser.
//
//   P(w, b) = C/2 sum_i (y_i - w'x_i - b)^2 + 1/2 ||w||_q^2 with q = 2p / (p + 1)
//
// is the problem over kernel weights theta, ||theta||_p <= 1, with the least over theta of sum_m w_m^2 / theta_m put in.
// Columns have mean 0 and variance 1, so that only G = X'X, c = X'y and y'y are read. This is the one solver of the project
// that exists twice: a test compares it with LpMKLClassifier(loss="squared") on a hundred draws. Every fit has a duality gap.
// Everything is inside of one function, because a worker is made of its text.
function norms() {
  const TRUE_COLUMNS = 10;
  const MOST_ROWS = 800;
  const FLOOR = 1e-6; // of the largest weight: below it a column leaves the system
  const STEPS_OF_P = 24; // norms are evenly spaced in 1/p
  const COSTS = 13;
  const inverseNorm = (i) => 1 - i / STEPS_OF_P;
  const cost = (k) => 10 ** (-4 + k / 3);

  // -- the solver

  // A table as the solver reads it: columns of numbers and labels -1 and +1, on the rows for which `taken` holds.
  function problemOf(columns, labels, taken = () => true) {
    const rows = [...labels.keys()].filter(taken);
    const M = columns.length;
    const mean = new Float64Array(M);
    const scale = new Float64Array(M);
    const center = rows.reduce((sum, i) => sum + labels[i], 0) / rows.length;
    const y = Float64Array.from(rows, (i) => labels[i] - center);
    const X = columns.map((column, m) => {
      const values = Float64Array.from(rows, (i) => column[i]);
      mean[m] = values.reduce((sum, value) => sum + value, 0) / rows.length;
      const centred = values.map((value) => value - mean[m]);
      scale[m] = Math.sqrt(centred.reduce((sum, value) => sum + value * value, 0) / rows.length) || 1;
      return centred.map((value) => value / scale[m]);
    });
    const G = new Float64Array(M * M);
    const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
    for (let a = 0; a < M; a++) for (let b = 0; b <= a; b++) G[a * M + b] = G[b * M + a] = dot(X[a], X[b]);
    return ready({ M, G, c: Float64Array.from(X, (column) => dot(column, y)), yy: dot(y, y), mean, scale, center });
  }

  // With room for the solver.
  function ready(problem) {
    const { M } = problem;
    return { ...problem, A: new Float64Array(M * M), v: new Float64Array(M), list: new Int32Array(M) };
  }

  // w for fixed theta: (C D G D + I) v = C D c with D = theta^(1/2) and w = D v, on the columns that have weight.
  function ridge({ M, G, c, A, v, list }, C, theta, w) {
    const floor = FLOOR * Math.max(...theta);
    let k = 0;
    for (let m = 0; m < M; m++) {
      w[m] = 0;
      if (theta[m] > floor) list[k++] = m;
    }
    for (let a = 0; a < k; a++) {
      const [row, at] = [list[a], a * M];
      const root = C * Math.sqrt(theta[row]);
      for (let b = 0; b <= a; b++) {
        let sum = root * Math.sqrt(theta[list[b]]) * G[row * M + list[b]] + (a === b ? 1 : 0);
        for (let j = 0; j < b; j++) sum -= A[at + j] * A[b * M + j];
        A[at + b] = a === b ? Math.sqrt(sum) : sum / A[b * M + b];
      }
      let sum = root * c[row];
      for (let j = 0; j < a; j++) sum -= A[at + j] * v[j];
      v[a] = sum / A[at + a];
    }
    for (let a = k - 1; a >= 0; a--) {
      let sum = v[a];
      for (let j = a + 1; j < k; j++) sum -= A[j * M + a] * v[j];
      v[a] = sum / A[a * M + a];
      w[list[a]] = Math.sqrt(theta[list[a]]) * v[a];
    }
  }

  // The objective of w and its relative duality gap. The residual times C is a dual point, which is scaled as well as can be:
  //   D(a) = y'a - ||a||^2 / (2 C) - 1/2 ||(x_m'a)^2||_p*  with 1/p* = 1 - 1/p.
  function certificate({ M, G, c, yy, v }, inverse, C, w) {
    v.set(c);
    for (let m = 0; m < M; m++) {
      if (w[m] === 0) continue;
      for (let j = 0, at = m * M; j < M; j++) v[j] -= G[at + j] * w[m];
    }
    let [fitted, left, size, steepest] = [0, 0, 0, 0];
    for (let m = 0; m < M; m++) {
      fitted += c[m] * w[m];
      left += v[m] * w[m];
      steepest = Math.max(steepest, Math.abs(v[m]));
    }
    for (let m = 0; m < M; m++) if (w[m] !== 0) size += Math.abs(w[m]) ** (2 / (1 + inverse));
    const dual = 1 - inverse; // 1/p*
    let sum = 0;
    if (dual > 0 && steepest > 0) for (let m = 0; m < M; m++) sum += (Math.abs(v[m]) / steepest) ** (2 / dual);
    const steep = steepest ** 2 * (dual > 0 ? sum ** dual : 1);
    const residual = yy - fitted - left; // its squares
    const objective = 0.5 * C * residual + 0.5 * size ** (1 + inverse);
    const gain = C * (yy - fitted);
    const bound = gain ** 2 / (2 * (C * residual + C * C * steep));
    return { objective, gap: Math.max(0, objective - bound) / objective };
  }

  // theta of w: proportional to |w|^(2 / (p + 1)), with ||theta||_p = 1.
  function weigh(inverse, w, theta) {
    if (inverse === 0) return theta.fill(1);
    let size = 0;
    const power = (2 * inverse) / (1 + inverse);
    for (let m = 0; m < w.length; m++) size += Math.abs(w[m]) ** (power / inverse);
    for (let m = 0; m < w.length; m++) theta[m] = size > 0 ? Math.abs(w[m]) ** power / size ** inverse : 0;
    return theta;
  }

  // Fit at one norm and C from the `theta` and `w` of a neighbour, in place; returns objective and relative gap.
  function fit(problem, inverse, C, theta, w, { tolerance, steps }) {
    if (inverse === 1) return fitSparse(problem, C, theta, w, tolerance, 20 * steps);
    const power = (2 * inverse) / (1 + inverse);
    const stretch = 1 + inverse; // a step of the logarithms that is longer by this takes half as many steps
    for (let step = 1; ; step++) {
      ridge(problem, C, theta, w);
      const found = certificate(problem, inverse, C, w);
      if (found.gap <= tolerance || step >= steps || inverse === 0 || !w.some(Boolean)) {
        weigh(inverse, w, theta);
        return found;
      }
      let size = 0;
      for (let m = 0; m < w.length; m++) {
        theta[m] = w[m] === 0 ? 0 : theta[m] ** (1 - stretch) * Math.abs(w[m]) ** (power * stretch);
        size += theta[m] ** (1 / inverse);
      }
      for (let m = 0; m < w.length; m++) theta[m] /= size ** inverse;
    }
  }

  // p = 1: the penalty is (sum |w|)^2 / 2, and one column after the other has a closed form with exact zeros.
  function fitSparse(problem, C, theta, w, tolerance, rounds) {
    const { M, G, c } = problem;
    const slope = Float64Array.from(c);
    let whole = 0;
    for (let m = 0; m < M; m++) {
      whole += Math.abs(w[m]);
      if (w[m] !== 0) for (let j = 0; j < M; j++) slope[j] -= G[m * M + j] * w[m];
    }
    let found;
    for (let round = 1; round <= rounds; round++) {
      for (let m = 0; m < M; m++) {
        const others = whole - Math.abs(w[m]);
        const pull = C * (slope[m] + G[m * M + m] * w[m]);
        const next = (Math.sign(pull) * Math.max(0, Math.abs(pull) - others)) / (1 + C * G[m * M + m]);
        const change = next - w[m];
        if (change === 0) continue;
        for (let j = 0, at = m * M; j < M; j++) slope[j] -= change * G[at + j];
        whole = others + Math.abs(next);
        w[m] = next;
      }
      if (round % 5 && round < rounds) continue;
      found = certificate(problem, 1, C, w);
      if (found.gap <= tolerance) break;
    }
    weigh(1, w, theta);
    return found;
  }

  // `see(a, b, theta, w, found)` at all norms `ps` and costs `ks`, from dense to sparse: each fit starts at its neighbour.
  function along(problem, ps, ks, options, see) {
    const starts = ks.map(() => [new Float64Array(problem.M).fill(1), new Float64Array(problem.M)]);
    for (let a = ps.length - 1; a >= 0; a--)
      ks.forEach((k, b) => {
        const [theta, w] = starts[b];
        see(a, b, theta, w, fit(problem, inverseNorm(ps[a]), cost(k), theta, w, options));
      });
  }

  // -- the truth: two normal classes whose means differ, neighbouring columns correlated

  function normalShare(x) {
    if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
    let [term, sum] = [x, x];
    for (let k = 3; Math.abs(term) > 1e-17; k += 2) sum += term *= (x * x) / k;
    return 0.5 + (sum * Math.exp(-0.5 * x * x)) / Math.sqrt(2 * Math.PI);
  }

  function normalQuantile(share) {
    let [low, high] = [-8, 8];
    for (let step = 0; step < 60; step++) {
      const middle = (low + high) / 2;
      if (normalShare(middle) < share) low = middle;
      else high = middle;
    }
    return low;
  }

  // The variance of sum_j w_j x_j: two chains of neighbours, the ten columns and the columns of noise.
  function variance(w, correlation) {
    let [sum, before] = [0, 0];
    for (let j = 0; j < w.length; j++) {
      if (j === TRUE_COLUMNS) before = 0;
      sum += w[j] * (w[j] + 2 * before);
      before = correlation * (before + w[j]);
    }
    return sum;
  }

  // The best rule is proportional to the bars, and errs on `overlap` %, whatever the bars and the correlation are.
  function meansOf({ bars, noise, overlap, correlation }) {
    const means = new Float64Array(TRUE_COLUMNS + noise);
    const spread = Math.sqrt(variance(bars, correlation));
    if (spread < 1e-9) return means;
    const size = normalQuantile(1 - overlap / 100) / spread;
    for (let i = 0; i < TRUE_COLUMNS; i++)
      for (let j = 0; j < TRUE_COLUMNS; j++) means[i] += size * bars[j] * correlation ** Math.abs(i - j);
    return means;
  }

  function generator(seed) {
    let state = seed | 0;
    return () => {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
      mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
      return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
    };
  }

  // A column of one draw has its own numbers: one more column or row changes no other, and pictures move smoothly.
  const pure = new Map();
  function normalColumn(seed, draw, j) {
    const key = `${seed} ${draw} ${j}`;
    if (pure.has(key)) return pure.get(key);
    if (pure.size > 1200) pure.clear();
    const next = generator(Math.imul(seed, 0x9e3779b1) ^ Math.imul(draw + 1, 0x85ebca6b) ^ Math.imul(j + 1, 0xc2b2ae35));
    const values = new Float64Array(MOST_ROWS);
    for (let i = 0; i < MOST_ROWS; i += 2) {
      const [radius, angle] = [Math.sqrt(-2 * Math.log(1 - next())), 2 * Math.PI * next()];
      values[i] = radius * Math.cos(angle);
      values[i + 1] = radius * Math.sin(angle);
    }
    pure.set(key, values);
    return values;
  }

  const labelsOf = (rows) => Float64Array.from({ length: rows }, (_, i) => (i % 2 ? -1 : 1));

  function noiseOf({ seed, noise, correlation }, rows, draw) {
    const [found, fresh] = [[], Math.sqrt(1 - correlation ** 2)];
    for (let j = 0; j < TRUE_COLUMNS + noise; j++) {
      const column = normalColumn(seed, draw, j).slice(0, rows);
      const before = j === TRUE_COLUMNS ? null : found[j - 1];
      found.push(before ? column.map((value, i) => correlation * before[i] + fresh * value) : column);
    }
    return found;
  }

  // The columns of one draw of the truth, and its labels.
  function tableOf(truth, rows, draw) {
    const [means, labels] = [meansOf(truth), labelsOf(rows)];
    const columns = noiseOf(truth, rows, draw).map((column, j) => column.map((value, i) => value + labels[i] * means[j]));
    return { columns, labels };
  }

  // The same as `problemOf(tableOf(...))` from sums over the noise alone, which stay while a bar is dragged.
  const sums = new Map();
  function sumsOf(truth, rows, draw) {
    const key = [truth.seed, truth.noise, truth.correlation, rows, draw].join();
    if (sums.has(key)) return sums.get(key);
    if (sums.size > 40) sums.clear();
    const [E, labels] = [noiseOf(truth, rows, draw), labelsOf(rows)];
    const M = E.length;
    const [S, t, mean] = [new Float64Array(M * M), new Float64Array(M), new Float64Array(M)];
    for (let a = 0; a < M; a++) {
      for (let i = 0; i < rows; i++) {
        mean[a] += E[a][i] / rows;
        t[a] += labels[i] * E[a][i];
      }
      for (let b = 0; b <= a; b++) {
        let sum = 0;
        for (let i = 0; i < rows; i++) sum += E[a][i] * E[b][i];
        S[a * M + b] = S[b * M + a] = sum;
      }
    }
    sums.set(key, { S, t, mean });
    return sums.get(key);
  }

  function drawn(truth, rows, draw, means) {
    const { S, t, mean } = sumsOf(truth, rows, draw);
    const M = means.length;
    const [G, c, scale] = [new Float64Array(M * M), new Float64Array(M), new Float64Array(M)];
    const entry = (a, b) =>
      S[a * M + b] + t[a] * means[b] + means[a] * t[b] + rows * (means[a] * means[b] - mean[a] * mean[b]);
    for (let a = 0; a < M; a++) {
      scale[a] = Math.sqrt(Math.max(1e-12, entry(a, a) / rows));
      c[a] = (t[a] + rows * means[a]) / scale[a];
      for (let b = 0; b <= a; b++) G[a * M + b] = G[b * M + a] = entry(a, b) / (scale[a] * scale[b]);
    }
    return ready({ M, G, c, yy: rows, mean, scale, center: 0 });
  }

  // The error of a rule on new rows in %, exactly: both classes are normal.
  function errorOf({ scale, mean, M }, w, means, correlation) {
    const own = new Float64Array(M);
    let [shift, offset] = [0, 0];
    for (let m = 0; m < M; m++) {
      own[m] = w[m] / scale[m];
      shift += own[m] * means[m];
      offset -= own[m] * mean[m];
    }
    const spread = Math.sqrt(variance(own, correlation));
    if (!(spread > 1e-300)) return 50;
    return 50 * (normalShare(-(shift + offset) / spread) + normalShare(-(shift - offset) / spread));
  }

  // -- what the picture asks for

  // Errors of one draw at all points, their gaps, and the weights if they are asked for.
  function errorsOf({ truth, ps, ks, options }, rows, draw, keep) {
    const means = meansOf(truth);
    const problem = drawn(truth, rows, draw, means);
    const size = ps.length * ks.length;
    const found = { errors: new Float64Array(size), gaps: new Float64Array(size) };
    if (keep) found.weights = new Float32Array(size * problem.M);
    along(problem, ps, ks, options, (a, b, theta, w, { gap }) => {
      const at = a * ks.length + b;
      found.errors[at] = errorOf(problem, w, means, truth.correlation);
      found.gaps[at] = gap;
      if (keep) found.weights.set(theta, at * problem.M);
    });
    return found;
  }

  // Mean, standard error and largest gap over draws.
  function summary(draws) {
    const count = draws.length;
    const over = (of) => Float64Array.from(draws[0].errors, (_, at) => of(draws, at));
    const mean = over((all, at) => all.reduce((sum, { errors }) => sum + errors[at], 0) / count);
    const squares = over((all, at) => all.reduce((sum, { errors }) => sum + (errors[at] - mean[at]) ** 2, 0));
    const wide = squares.map((sum) => Math.sqrt(sum / (count * Math.max(1, count - 1))));
    return { mean, wide, gaps: over((all, at) => Math.max(...all.map(({ gaps }) => gaps[at]))) };
  }

  // Where five folds of the first draw would take p and C: of equal errors the sparser norm, then the larger C.
  function crossValidated({ truth, ps, ks, options }, rows) {
    const { columns, labels } = tableOf(truth, rows, 0);
    const wrong = new Float64Array(ps.length * ks.length);
    for (let fold = 0; fold < 5; fold++) {
      const outside = (i) => (i >> 1) % 5 !== fold;
      const problem = problemOf(columns, labels, outside);
      along(problem, ps, ks, options, (a, b, theta, w) => {
        for (let i = 0; i < rows; i++) {
          if (outside(i)) continue;
          let score = problem.center;
          for (let m = 0; m < problem.M; m++) score += (w[m] * (columns[m][i] - problem.mean[m])) / problem.scale[m];
          wrong[a * ks.length + b] += score * labels[i] > 0 ? 0 : 1;
        }
      });
    }
    const least = Math.min(...wrong);
    const a = ps.findIndex((_, at) => wrong.subarray(at * ks.length, (at + 1) * ks.length).includes(least));
    const b = wrong.subarray(a * ks.length, (a + 1) * ks.length).lastIndexOf(least);
    return { i: ps[a], k: ks[b] };
  }

  // In a worker: a newer request ends an older one between two draws.
  function listen() {
    let newest = 0;
    const pause = () => new Promise((done) => setTimeout(done));
    async function several(request, rows, draws, keep) {
      const all = [];
      for (let draw = 0; draw < draws; draw++) {
        all.push(errorsOf(request, rows, draw, keep && draw === 0));
        await pause();
        if (request.id < newest) return null;
      }
      return all;
    }
    onmessage = async ({ data: request }) => {
      newest = Math.max(newest, request.id);
      await pause();
      if (request.id < newest) return;
      const began = performance.now();
      const { id, kind, ps, ks, rows, truth } = request;
      const all = await several(request, rows, request.draws, true);
      if (!all) return;
      const made = summary(all);
      const M = TRUE_COLUMNS + truth.noise;
      postMessage({ id, kind, ...made, weights: all[0].weights, ps, ks, M, ms: performance.now() - began });
      if (kind !== "fine") return;
      // The best norm and the worse end, with many rows or with few: for the sentence.
      const row = (mean, a) => Math.min(...mean.subarray(a * ks.length, (a + 1) * ks.length));
      const least = ps.map((_, a) => row(made.mean, a));
      const best = least.indexOf(Math.min(...least));
      const worse = least[0] > least[ps.length - 1] ? 0 : ps.length - 1;
      const others = rows < 400 ? 400 : 50;
      if (best !== worse) {
        const pair = [best, worse].sort((a, b) => a - b);
        const again = await several({ ...request, ps: pair.map((a) => ps[a]) }, others, request.draws, false);
        if (!again) return;
        const { mean } = summary(again);
        const difference = (row(mean, 1) - row(mean, 0)) * (pair[0] === best ? 1 : -1);
        postMessage({ id, kind: "rows", rows: others, difference });
      }
      const half = ps.filter((i) => i % 2 === 0);
      postMessage({ id, kind: "folds", ...crossValidated({ ...request, ps: half }, rows) });
    };
  }

  return { STEPS_OF_P, COSTS, TRUE_COLUMNS, cost, inverseNorm, problemOf, tableOf, drawn, meansOf, fit, listen };
}
