// Python in a worker: it loads Pyodide and the library once, and answers one call after the other.
let opened;
async function begin({ pyodide, packages, archive, origin }) {
  importScripts(new URL(pyodide + "pyodide.js", origin));
  const python = await loadPyodide({ indexURL: String(new URL(pyodide, origin)) });
  await python.loadPackage(packages, { messageCallback: () => {} });
  const library = await (await fetch(new URL(archive, origin))).arrayBuffer();
  python.unpackArchive(library, "zip", { extractDir: "/home/pyodide" });
  return { python, table: python.runPython("from mklcore.in_browser import OpenedTable; OpenedTable()") };
}

// An error of the library is a sentence for a person; of any other the last line is shown, as a fault of ours.
function sentence(error) {
  const lines = String(error.message ?? error).trim().split("\n");
  const last = lines.findLastIndex((line) => /^[\w.]+(Error|Exception|Interrupt)\b/.test(line));
  const text = lines.slice(Math.max(last, 0)).join(" ");
  const ours = /^mklcore\.errors\.\w+: /;
  return ours.test(text) ? text.replace(ours, "") : `Something went wrong that is a fault of this page: ${text}`;
}

onmessage = async ({ data: { id, name, values, settings } }) => {
  try {
    opened ??= begin(settings);
    const { python, table } = await opened;
    postMessage({ id, stage: ["", 0, 1] });
    const given = [...values];
    if (name === "open") given[0] = python.globals.get("bytes")(python.toPy(given[0]));
    if (name === "answer") given.push((done, total, stage) => postMessage({ id, stage: [stage, done, total] }));
    const found = table[name](...given);
    const value = typeof found === "string" ? JSON.parse(found) : found.toJs();
    postMessage({ id, value });
  } catch (error) {
    postMessage({ id, error: sentence(error) });
  }
};
