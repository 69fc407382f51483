// The moves as a list with variations, and the summary of the mistakes.

import { capital, lost, lostDiscs, percent } from "./formatting.js";
import { choicesOf, loss, mistakes, summary, turningPoint } from "./losses.js";
import { estimate, ratingWords } from "./people.js";
import { write } from "./panels.js";

const byId = (id) => document.getElementById(id);

/** The tree as a list; a variation follows the move that it replaces. */
export class MoveList {
  /**
   * @param {HTMLElement} element the list
   * @param {(position: Position) => void} onChoose called with the clicked move's position
   */
  constructor(element, onChoose) {
    Object.assign(this, { element, buttons: new Map(), shape: "" });
    element.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) onChoose(this.buttons.get(Number(button.dataset.id)).position);
    });
  }

  /** Buttons are kept as long as the tree does not change: one may have the focus. */
  show({ root, cursor, line, isReversed }) {
    const shape = outline(root);
    if (shape !== this.shape) {
      this.shape = shape;
      this.buttons.clear();
      this.element.replaceChildren(...this.#items(root));
    }
    for (const { button, position } of this.buttons.values()) {
      const known = loss(position, isReversed);
      const isHere = position === cursor;
      write(button, `${position.move}${known?.mark ?? ""}`);
      button.className = position.parent.mover;
      button.classList.toggle("mistake", Boolean(known?.mark));
      button.classList.toggle("aside", !line.includes(position));
      button.title = known?.discs ? `${lostDiscs(known)} lost; ${known.best} was best` : "";
      if (isHere) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    }
    this.#scrollTo(cursor);
  }

  /** Scrolls only the list, not the page. */
  #scrollTo(cursor) {
    if (this.shown === cursor.id) return;
    this.shown = cursor.id;
    const button = this.buttons.get(cursor.id)?.button;
    const { element } = this;
    element.scrollTop = button ? button.offsetTop - element.clientHeight / 2 : 0;
  }

  #items(parent) {
    const items = [];
    for (let at = parent; at?.children.length; at = at.next) {
      const main = at.next; // none after a resignation
      if (main) items.push(this.#item(main));
      for (const other of at.children.filter((child) => child !== main)) {
        const variation = document.createElement("li");
        const list = document.createElement("ol");
        variation.className = "variation";
        list.append(this.#item(other), ...this.#items(other));
        variation.append(list);
        items.push(variation);
      }
    }
    return items;
  }

  #item(position) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    Object.assign(button.dataset, { ply: position.ply, id: position.id });
    item.append(button);
    this.buttons.set(position.id, { button, position });
    return item;
  }
}

const outline = ({ id, children, resigned }) =>
  `${id}${resigned ? "." : ""}(${children.map(outline).join("")})`;

/** Shows accuracy, lost discs and marks of each side, and the mistakes; hides what is not known. */
export function showSummary({ line, isReversed, cursor, settings }) {
  const sides = ["black", "white"].map((colour) => [colour, summary(line, colour, isReversed)]);
  const isKnown = sides.some(([, { numChoices }]) => numChoices > 1);
  const all = mistakes(line, isReversed);
  byId("summary").hidden = !isKnown;
  byId("mistake-buttons").hidden = !all.length;
  if (!isKnown) return;
  const rows = sides.map(([colour, side]) => sideRow(colour, side, strength(line, colour, settings.people)));
  byId("sides").tBodies[0].replaceChildren(...rows);
  const list = byId("mistakes");
  const turn = turningPoint(line, isReversed);
  list.replaceChildren(...all.map((position) => mistakeItem(position, { isReversed, cursor, turn })));
}

/** The rating of players who move like a side, as text. */
function strength(line, colour, ratings) {
  const choices = choicesOf(line, colour).map(({ move, parent }) => ({ move, report: parent.report }));
  const found = estimate(choices, ratings);
  return found ? ratingWords(found, ratings) : "–";
}

function sideRow(colour, { accuracy, discs, isExact, marks }, rating) {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = capital(colour);
  row.append(head);
  const counts = marks.toReversed().map(([, number]) => String(number));
  for (const text of [accuracy === null ? "–" : percent(accuracy), rating, lost({ discs, isExact }), ...counts]) {
    row.insertCell().textContent = text;
  }
  return row;
}

function mistakeItem(position, { isReversed, cursor, turn }) {
  const known = loss(position, isReversed);
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.dataset.ply = position.ply;
  button.className = position.parent.mover;
  const isTurn = position === turn;
  const note = isTurn ? " turning point" : "";
  button.textContent = `${position.ply} ${position.move}${known.mark} ${lost(known)}${note}`;
  const end = isTurn ? `; from here on ${position.parent.mover} was behind` : "";
  button.title = `${lostDiscs(known)} lost; ${known.best} was best${end}`;
  if (position === cursor) button.setAttribute("aria-current", "step");
  item.append(button);
  return item;
}
