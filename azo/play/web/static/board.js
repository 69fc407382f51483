// The board: a grid of buttons that shows a position and reports the chosen square.

import { place, square } from "./formatting.js";

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export class Board {
  /**
   * @param {HTMLElement} element the grid
   * @param {(move: string) => void} onChoose called with the chosen square
   */
  constructor(element, onChoose) {
    this.element = element;
    this.onChoose = onChoose;
    this.size = 0;
    this.cells = [];
    this.focused = [0, 0];
    element.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /**
   * @param {object} position the position
   * @param {string} position.board squares row by row, X, O and -
   * @param {string} position.mover "black" or "white"
   * @param {string[]} position.marked squares with a mark for a legal move
   * @param {?string} position.last the square of the last move
   * @param {?string} position.best the square to recommend
   * @param {Map<string, {heat: number, text: string}>} position.map text and colour of squares
   */
  show({ board, mover, marked, last, best, map }) {
    const size = Math.sqrt(board.length);
    if (size !== this.size) this.#build(size);
    this.element.dataset.mover = mover;
    this.cells.forEach((cell, index) => {
      const name = cell.dataset.square;
      const disc = { X: "black", O: "white" }[board[index]] ?? "";
      const isLegal = marked.includes(name);
      cell.dataset.disc = disc;
      cell.classList.toggle("legal", isLegal);
      cell.classList.toggle("last", name === last);
      cell.classList.toggle("best", name === best);
      const written = map.get(name);
      cell.classList.toggle("mapped", written !== undefined);
      cell.style.setProperty("--heat", written?.heat ?? 0);
      cell.querySelector(".map").textContent = written?.text ?? "";
      const notes = [
        disc || "empty",
        isLegal ? "legal" : "",
        name === last ? "last move" : "",
        name === best ? "recommended" : "",
        written?.text ?? "",
      ];
      cell.setAttribute("aria-label", [name, ...notes.filter(Boolean)].join(", "));
    });
  }

  #build(size) {
    this.size = size;
    this.focused = [size / 2 - 1, size / 2 - 2].map((x) => Math.max(0, Math.floor(x)));
    this.element.style.setProperty("--size", size);
    const letters = document.createElement("div");
    letters.className = "letters";
    letters.setAttribute("aria-hidden", "true");
    for (let column = 0; column < size; column += 1) {
      letters.append(label(square(0, column)[0]));
    }
    this.element.replaceChildren(letters);
    this.cells = [];
    for (let row = 0; row < size; row += 1) {
      const line = document.createElement("div");
      line.className = "line";
      line.setAttribute("role", "row");
      line.append(label(String(row + 1)));
      for (let column = 0; column < size; column += 1) line.append(this.#cell(row, column));
      this.element.append(line);
    }
    this.#moveFocus(this.focused, false);
  }

  #cell(row, column) {
    const cell = document.createElement("button");
    cell.className = "cell";
    cell.tabIndex = -1;
    cell.dataset.square = square(row, column);
    cell.setAttribute("role", "gridcell");
    for (const name of ["disc", "map"]) {
      const part = document.createElement("span");
      part.className = name;
      cell.append(part);
    }
    cell.addEventListener("click", () => {
      this.#moveFocus([row, column], true);
      this.onChoose(cell.dataset.square);
    });
    this.cells.push(cell);
    return cell;
  }

  #onKey(event) {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    const inside = (x) => Math.min(Math.max(x, 0), this.size - 1);
    const [row, column] = place(event.target.dataset.square);
    this.#moveFocus([inside(row + step[0]), inside(column + step[1])], true);
    event.preventDefault();
    event.stopPropagation();
  }

  /** Only one square at a time can be reached by Tab. */
  #moveFocus([row, column], isTaken) {
    const at = ([r, c]) => this.cells[r * this.size + c];
    at(this.focused).tabIndex = -1;
    this.focused = [row, column];
    at(this.focused).tabIndex = 0;
    if (isTaken) at(this.focused).focus();
  }
}

function label(text) {
  const element = document.createElement("span");
  element.className = "label";
  element.setAttribute("aria-hidden", "true");
  element.textContent = text;
  return element;
}
