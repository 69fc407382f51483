// The board editor: sets up a position by clicks, from which a game begins.

import { Board } from "./board.js";
import { capital, count, other } from "./formatting.js";
import { firstPly, usualStart } from "./rules.js";

const DISCS = { black: "X", white: "O", empty: "-" };
const KEYS = { x: "black", "*": "black", o: "white", "-": "empty", ".": "empty" }; // as in a text

const byId = (id) => document.getElementById(id);

let position = null; // {game, size, squares, mover}; squares are X, O and -
let board = null;

/** Connects the dialog with a `Play`. */
export function connect(play) {
  board = new Board(byId("edit-board"), (square) => place(square, brush()));
  for (const { name, size, is_reversed: isReversed } of play.settings.games) {
    const title = `${size} × ${size}${isReversed ? " reversed" : ""}`;
    byId("edit-game").append(new Option(title, name));
  }
  const actions = {
    "edit-empty": () => fill(() => "-"),
    "edit-start": () => startOf(position.size),
    "edit-mirror": () => moved((row, column, last) => [row, last - column]),
    "edit-turn": () => moved((row, column, last) => [last - column, row]),
    "edit-swap": swap,
  };
  for (const [id, action] of Object.entries(actions)) {
    byId(id).addEventListener("click", () => {
      action();
      draw();
    });
  }
  byId("edit-game").addEventListener("change", ({ target }) => resize(play, target.value));
  byId("edit-mover").addEventListener("change", ({ target }) => {
    position.mover = target.value;
    draw();
  });
  byId("edit-board").addEventListener("keydown", onKey);
  byId("edit-use").addEventListener("click", () => use(play));
  byId("edit-dialog").addEventListener("close", () => board.clear());
}

/** Opens the editor with the position on the board. */
export function show(play) {
  const { game, info, cursor } = play;
  position = { game, size: info.size, squares: [...cursor.board], mover: cursor.mover };
  byId("edit-game").value = game;
  draw();
  byId("edit-dialog").showModal();
  byId("edit-board").querySelector(".cell[tabindex='0']").focus();
}

const brush = () => document.querySelector("[name=brush]:checked").value;

const indexOf = (square) =>
  (Number(square[1]) - 1) * position.size + square.charCodeAt(0) - "a".charCodeAt(0);

/** Sets a square; a disc that is there already is removed. */
function place(square, colour) {
  const index = indexOf(square);
  const { squares } = position;
  squares[index] = squares[index] === DISCS[colour] ? "-" : DISCS[colour];
  draw();
  board.focus(index); // keys go on from here
}

/** Types a board: a disc or "-" goes on to the next square; Delete and Backspace empty. */
function onKey(event) {
  const { key, target } = event;
  const colour = KEYS[key.toLowerCase()] ?? (["Delete", "Backspace"].includes(key) && "empty");
  if (!colour || !target.dataset.square || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  const index = Math.max(indexOf(target.dataset.square) - (key === "Backspace"), 0);
  position.squares[index] = DISCS[colour];
  draw();
  const isTyped = key.length === 1;
  board.focus(Math.min(index + isTyped, position.squares.length - 1));
}

function fill(discOf) {
  position.squares = position.squares.map((_, index) =>
    discOf(Math.floor(index / position.size), index % position.size),
  );
}

function startOf(size) {
  const { board, mover } = firstPly(usualStart(size));
  Object.assign(position, { squares: [...board], mover });
}

/** Moves every disc: `from` gives the square that a square takes its disc from. */
function moved(from) {
  const { size, squares } = position;
  fill((row, column) => {
    const [oldRow, oldColumn] = from(row, column, size - 1);
    return squares[oldRow * size + oldColumn];
  });
}

function swap() {
  position.squares = position.squares.map((disc) => ({ X: "O", O: "X" })[disc] ?? disc);
  position.mover = other(position.mover);
}

/** Another size begins with its usual start. */
function resize({ settings }, name) {
  const { size } = settings.games.find((info) => info.name === name);
  if (size !== position.size) {
    position.size = size;
    startOf(size);
  }
  position.game = name;
  draw();
}

function draw() {
  const { squares, mover } = position;
  const text = squares.join("");
  board.show({
    board: text,
    mover,
    marked: [],
    last: null,
    best: null,
    map: new Map(),
    arrows: [],
  });
  document.querySelector(`[name=edit-mover][value=${mover}]`).checked = true;
  const { black, white, empty } = count(text);
  byId("edit-count").textContent = `${black} black, ${white} white, ${empty} empty`;
  say("");
}

function say(text) {
  byId("edit-error").textContent = text;
  byId("edit-error").hidden = text === "";
}

/** Opens the position as a game, unless neither side can move. */
function use(play) {
  const { game, squares, mover } = position;
  const start = `${squares.join("")} ${DISCS[mover]}`;
  const [move] = firstPly(start).legal;
  if (!move) return say("Neither side has a move in this position");
  byId("edit-dialog").close();
  const isUsual = play.settings.games.find(({ name }) => name === game).start === start;
  play.open({ game, start: isUsual ? null : start, moves: [] });
  if (move !== "pass") play.say(`${capital(mover)} to move; you play both sides`, "note");
  return undefined;
}
