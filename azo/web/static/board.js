// The board: a grid of buttons that shows a position and reports the chosen square.

import { place, square } from "./formatting.js";
import { make } from "./svg.js";

const STARS = [[2, 2], [6, 2], [2, 6], [6, 6]]; // corners of squares
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
    // The arrow keys move the focus on the board only if the keyboard brought it here.
    element.addEventListener("mousedown", (event) => {
      event.preventDefault();
      if (element.contains(document.activeElement)) document.activeElement.blur();
    });
  }

  /**
   * @param {object} position the position
   * @param {string} position.board squares row by row, X, O and -
   * @param {string} position.mover "black" or "white"
   * @param {string[]} position.marked squares with a mark for a legal move
   * @param {?string} position.last the square of the last move
   * @param {?string} position.best the square to recommend
   * @param {?{mark: string, best: string, worth: string}} position.lesson mark of the last move, a
   *   mistake, and the better move
   * @param {Map<string, {heat: number, text: string}>} position.map text and colour of squares
   * @param {{moves: string[], rank: number}[]} position.arrows lines to draw, the best has rank 0
   */
  show({ board, mover, marked, last, best, lesson, map, arrows }) {
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
      cell.classList.toggle("better", name === lesson?.best);
      const written = map.get(name);
      cell.classList.toggle("mapped", written !== undefined);
      cell.style.setProperty("--heat", written?.heat ?? 0);
      cell.querySelector(".map").textContent = written?.text ?? "";
      const notes = [
        disc || "empty",
        isLegal ? "legal" : "",
        name === last ? "last move" : "",
        name === best ? "recommended" : "",
        lesson && name === last ? `mistake ${lesson.mark}` : "",
        name === lesson?.best ? `better, ${lesson.worth}` : "",
        written?.text ?? "",
      ];
      cell.setAttribute("aria-label", [name, ...notes.filter(Boolean)].join(", "));
    });
    const isMapped = map.has(lesson?.best);
    const drawn = JSON.stringify([arrows, lesson, last, isMapped]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const steps = arrows.flatMap((line) => pairs(line));
    this.drawing.querySelector("g").replaceChildren(...steps.map(arrow));
    const discs = { black: "white", white: "black" };
    const marks = lesson ? [badge(last, lesson), ...better(lesson, discs[mover], isMapped)] : [];
    this.marks.replaceChildren(...marks.filter(Boolean));
  }

  /** Moves the focus to a square, counted row by row. */
  focus(index) {
    this.#moveFocus([Math.floor(index / this.size), index % this.size], true);
  }

  /** Removes the squares until the next position. */
  clear() {
    this.size = 0;
    this.element.replaceChildren();
  }

  #build(size) {
    this.size = size;
    this.drawn = "[]";
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
    this.drawing = make("svg", { viewBox: `0 0 ${size} ${size}`, "aria-hidden": true });
    for (const [x, y] of size === 8 ? STARS : []) {
      this.drawing.append(make("circle", { class: "star", cx: x, cy: y, r: 0.07 }));
    }
    this.drawing.append(make("g", {}));
    const place = { class: "marks", viewBox: `0 0 ${size} ${size}`, "aria-hidden": true };
    this.marks = make("svg", place);
    this.element.append(this.drawing, this.marks);
    this.#moveFocus(this.focused, false);
  }

  #cell(row, column) {
    const cell = document.createElement("button");
    cell.className = "cell";
    cell.type = "button"; // inside a form too
    cell.tabIndex = -1;
    cell.dataset.square = square(row, column);
    cell.setAttribute("role", "gridcell");
    for (const name of ["disc", "map"]) {
      const part = document.createElement("span");
      part.className = name;
      cell.append(part);
    }
    cell.addEventListener("click", () => {
      this.#moveFocus([row, column], this.element.contains(document.activeElement));
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

/** The steps of a line from square to square; passes are left out. */
function pairs({ moves, rank }) {
  const squares = moves.filter((move) => move !== "pass");
  return squares.slice(1).map((to, index) => ({ from: squares[index], to, rank, index }));
}

/** The mark of a mistake, at a corner of its disc. */
function badge(move, { mark }) {
  if (!move) return null; // a pass
  const [y, x] = place(move);
  const group = make("g", { class: "badge" });
  group.append(make("circle", { cx: x + 0.78, cy: y + 0.22, r: 0.21 }));
  group.append(make("text", { x: x + 0.78, y: y + 0.31 }, mark));
  return group;
}

/** The better move as the outline of a disc, with its worth unless the square has a text. */
function better({ best, worth }, colour, isMapped) {
  if (best === "pass") return [];
  const [y, x] = place(best).map((corner) => corner + 0.5);
  const ring = (style) => make("circle", { class: `better ${style}`, cx: x, cy: y, r: 0.4 });
  if (isMapped) return [ring("mapped")];
  return [ring(colour), make("text", { class: `worth ${colour}`, x, y: y + 0.1 }, worth)];
}

/** An arrow from square to square, as a slim triangle; it leaves their texts free. */
function arrow({ from, to, rank, index }) {
  const [[y1, x1], [y2, x2]] = [from, to].map((name) => place(name).map((x) => x + 0.5));
  const length = Math.hypot(x2 - x1, y2 - y1);
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const at = (along, aside) =>
    `${x1 + dx * along - dy * aside},${y1 + dy * along + dx * aside}`;
  const head = Math.max(length - 0.64, 0.4);
  const points = [
    ...[at(0.4, 0.05), at(head, 0.05), at(head, 0.15), at(length - 0.4, 0)],
    ...[at(head, -0.15), at(head, -0.05), at(0.4, -0.05)],
  ];
  const style = rank === 0 ? "best" : "other";
  const opacity = (0.9 - 0.2 * index) * (rank === 0 ? 1 : 0.6);
  return make("polygon", { class: `arrow ${style}`, points: points.join(" "), opacity });
}

function label(text) {
  const element = document.createElement("span");
  element.className = "label";
  element.setAttribute("aria-hidden", "true");
  element.textContent = text;
  return element;
}
