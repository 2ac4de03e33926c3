// What changed between two texts, line by line.
import { el } from "./dom.js";

const MOST = 400;

/** `[["same" | "gone" | "new", line], …]`: the longest common lines stay. */
export const diffLines = (before, after) => {
  const [old, fresh] = [before.split("\n").slice(0, MOST), after.split("\n").slice(0, MOST)];
  const length = Array.from({ length: old.length + 1 }, () => new Uint16Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      length[i][j] = old[i] === fresh[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push(["same", old[i]]);
      i += 1;
      j += 1;
    } else if (j >= fresh.length || (i < old.length && length[i + 1][j] >= length[i][j + 1])) {
      lines.push(["gone", old[i]]);
      i += 1;
    } else {
      lines.push(["new", fresh[j]]);
      j += 1;
    }
  }
  return lines;
};

const SIGNS = { same: " ", gone: "−", new: "+" };
const SAID = { same: "", gone: "removed: ", new: "added: " };

/** The differences as a block that can be read aloud, too. */
export const diffBlock = (before, after) =>
  el("pre", { class: "block diff", tabindex: "0", role: "region", "aria-label": "Differences" }, diffLines(before, after).map(([kind, line]) =>
    el("span", { class: `diff-${kind}` }, el("span", { "aria-hidden": "true" }, `${SIGNS[kind]} `), SAID[kind] ? el("span", { class: "unseen" }, SAID[kind]) : null, line, "\n")));
