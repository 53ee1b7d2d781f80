// What this browser remembers: one secret that says whose kept work is, and whether uploads are to be kept. Kept per origin.
// The secret is made here, when first needed, so that two windows of one browser never have two.
const KEY = "mkl-explorer-owner";
const KEEP = "mkl-explorer-keep-uploads";
const SHAPE = /^[A-Za-z0-9_-]{43}$/;

function newSecret() {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function look(data) {
  const found = { key: null, keep: true, stored: true };
  try {
    if (data.keep !== null) localStorage.setItem(KEEP, data.keep ? "yes" : "no");
    found.keep = localStorage.getItem(KEEP) !== "no";
    const known = localStorage.getItem(KEY);
    found.key = SHAPE.test(known) ? known : null;
  } catch {
    found.stored = false;
  }
  if (found.key || !data.make || (data.make === "upload" && !(found.keep && found.stored))) return found;
  found.key = newSecret();
  try {
    localStorage.setItem(KEY, found.key);
    found.key = localStorage.getItem(KEY);
  } catch {
    found.stored = false;
  }
  return found;
}

export default function ({ data, setStateValue }) {
  if (data.known && data.keep === null) return;
  const found = look(data);
  if (found.key || !found.keep || data.make) setStateValue("report", found);
}
