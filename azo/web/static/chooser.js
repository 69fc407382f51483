// The dialog that chooses one of several games.

import { plural } from "./formatting.js";

const MOST = 200; // rows that are shown at once

const byId = (id) => document.getElementById(id);

/** Lets the reader choose one of many titles; returns its index, null if none was chosen. */
export function choose(heading, titles) {
  const [dialog, filter, list] = ["choose-dialog", "choose-filter", "choose-list"].map(byId);
  const rows = titles.map((title, index) => ({ index, text: `${index + 1}. ${title}` }));
  let chosen = null;
  const choose = (index) => {
    chosen = index;
    dialog.close();
  };
  const button = ({ index, text }) => {
    const item = document.createElement("li");
    const choice = document.createElement("button");
    choice.type = "button";
    choice.textContent = text;
    choice.addEventListener("click", () => choose(index));
    item.append(choice);
    return item;
  };
  const matching = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    return rows.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
  };
  const show = () => {
    const found = matching();
    list.replaceChildren(...found.slice(0, MOST).map(button));
    const shown = Math.min(found.length, MOST);
    byId("choose-count").textContent =
      shown < rows.length ? `${shown} of ${rows.length} games ${shown === 1 ? "is" : "are"} shown` : plural(shown, "game");
  };
  byId("choose-title").textContent = heading;
  filter.value = "";
  filter.oninput = show;
  filter.onkeydown = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const [first] = matching();
    if (first) choose(first.index);
  };
  show();
  dialog.showModal();
  filter.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(chosen), { once: true });
  });
}
