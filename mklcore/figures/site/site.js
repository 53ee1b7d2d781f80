// The page that computes: a table goes to the worker, its answer comes back.
const settings = JSON.parse(document.getElementById("settings").textContent);
const by = (id) => document.getElementById(id);
let worker = null;
let calls = 0;
let shown = null; // what the last answer gave
let name = "table";

// A worker from a blob inherits the policy of this page; one that is loaded by its address would not.
async function workerOf() {
  const source = await (await fetch("worker.js")).text();
  return new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
}

// Call the opened table in Python; only the newest call is listened to.
async function call(method, ...values) {
  const id = ++calls;
  document.body.classList.add("stale");
  by("working").hidden = false;
  by("refused").hidden = true;
  by("stage").textContent = worker ? "Reading" : settings.loading;
  document.querySelector("progress").removeAttribute("value");
  worker ??= await workerOf();
  if (id !== calls) return null;
  const answer = await new Promise((done) => {
    worker.onmessage = ({ data }) => {
      if (data.id !== id) return;
      if (!data.stage) return done(data);
      const [stage, at, all] = data.stage;
      by("stage").textContent = stage ? `Working: ${stage}` : "Reading";
      document.querySelector("progress").value = at / all;
    };
    worker.onerror = ({ message }) => done({ id, error: `Python could not be loaded: ${message}` });
    worker.postMessage({ id, name: method, values, settings: { ...settings, origin: location.href } });
  });
  if (id !== calls) return null;
  by("working").hidden = true;
  document.body.classList.remove("stale");
  if (answer.error === undefined) return answer.value;
  by("refused").textContent = answer.error;
  by("refused").hidden = false;
  return null;
}

// Say a sentence above the page; where the page shows it as well, only screen readers hear it here.
function say(sentence, isShown = false) {
  by("sentence").textContent = sentence;
  by("sentence").classList.toggle("spoken", isShown);
}

by("cancel").onclick = () => {
  calls++;
  worker?.terminate();
  worker = null;
  by("working").hidden = true;
  document.body.classList.remove("stale");
  say("Cancelled. Choose a table to begin anew.");
  by("found").hidden = true;
};

async function open(method, value, title) {
  name = title;
  const found = await call(method, value);
  if (!found) {
    by("found").hidden = true;
    say("");
    return;
  }
  fill(by("target"), found.columns, found.target);
  fill(by("groups"), found.columns, "", "none");
  await answer();
}

function fill(select, names, chosen, none) {
  const options = names.map((text) => new Option(text, text, false, text === chosen));
  select.replaceChildren(...(none ? [new Option(none, "")] : []), ...options);
  select.parentElement.hidden = false;
}

async function answer() {
  const found = await call("answer", by("target").value, by("groups").value);
  if (!found) return;
  shown = found;
  say(found.sentence, true);
  by("page").srcdoc = found.page;
  by("notes").replaceChildren(...found.notes.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  by("hull").hidden = !found.hull;
  by("said").textContent = "";
  by("waterfall").replaceChildren();
  by("row").querySelector(".fields").replaceChildren(...found.row.map(field));
  by("found").hidden = false;
}

function field({ name: column, value, levels }) {
  const label = document.createElement("label");
  const known = [...new Set([...levels, value])];
  const input = levels.length ? document.createElement("select") : document.createElement("input");
  if (levels.length) input.replaceChildren(...known.map((level) => new Option(level, level)));
  Object.assign(input, { name: column, value });
  label.append(column, input);
  return label;
}

by("row").onsubmit = async (event) => {
  event.preventDefault();
  const found = await call("row", JSON.stringify(Object.fromEntries(new FormData(by("row")))));
  if (!found) return;
  by("said").textContent = `${by("target").value}: ${found.prediction}`;
  by("waterfall").replaceChildren();
  if (found.parts.length) waterfall(found);
};

// What every column adds, from the base to the whole, the largest first.
function waterfall({ base, parts, of }) {
  const steps = parts.toSorted((one, other) => Math.abs(other[1]) - Math.abs(one[1])).slice(0, 12);
  const rest = parts.reduce((sum, [, value]) => sum + value, 0) - steps.reduce((sum, [, value]) => sum + value, 0);
  if (parts.length > steps.length) steps.push(["all others", rest]);
  let at = base;
  const bars = steps.map(([column, value]) => ({ column, value, from: at, to: (at += value) }));
  const ends = bars.flatMap(({ from, to }) => [from, to]);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const share = (value) => (100 * (value - low)) / (high - low || 1);
  const line = (column, value, from, to, text) => {
    const [left, right] = [share(Math.min(from, to)), share(Math.max(from, to))];
    const bar = document.createElement("b");
    Object.assign(bar.style, { left: `${left}%`, width: `${right - left}%` });
    bar.classList.toggle("down", value < 0);
    const cells = ["span", "i", "span"].map((tag) => document.createElement(tag));
    cells[0].textContent = column;
    cells[1].append(bar);
    cells[2].textContent = text;
    by("waterfall").append(...cells);
  };
  const short = (value) => String(+value.toPrecision(3)).replace("-", "\u2212");
  line(`${of}, every column drawn by itself`, 0, base, base, short(base));
  for (const { column, value, from, to } of bars) line(column, value, from, to, (value < 0 ? "" : "+") + short(value));
  line(`${of}, this row`, 0, at, at, short(at));
}

by("hull").onclick = async () => {
  const found = await call("hull");
  if (!found) return;
  say(shown.sentence);
  by("page").srcdoc = found.page;
};

function save(content, file, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
by("save-page").onclick = () => save(by("page").srcdoc, `${name}.html`, "text/html");
by("save-model").onclick = async () => {
  const content = await call("model");
  if (content) save(content, "model.mkl", "application/zip");
};

async function drop(file) {
  if (!file) return;
  by("sample").value = "";
  await open("open", new Uint8Array(await file.arrayBuffer()), file.name.replace(/\.\w+$/, ""));
}
by("file").onchange = () => drop(by("file").files[0]);
by("drop").ondragover = (event) => {
  event.preventDefault();
  by("drop").classList.add("over");
};
by("drop").ondragleave = () => by("drop").classList.remove("over");
by("drop").ondrop = (event) => {
  event.preventDefault();
  by("drop").classList.remove("over");
  drop(event.dataTransfer.files[0]);
};
by("sample").onchange = () => by("sample").value && open("sample", by("sample").value, by("sample").value);
for (const select of ["target", "groups"]) by(select).onchange = answer;

const host = by("playground").attachShadow({ mode: "open" });
host.innerHTML = PLAYERS.playground.html;
const sheet = new CSSStyleSheet();
sheet.replaceSync(PLAYERS.playground.css);
host.adoptedStyleSheets = [sheet];
PLAYERS.playground.play({ parentElement: host, data: {}, setStateValue() {} });
