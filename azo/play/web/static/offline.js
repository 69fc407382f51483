// Stands in for api.js in files, which have no server: an analysed game, or positions to practise.

import { place, square } from "./formatting.js";

const DISCS = { black: "X", white: "O" };
const STEPS = [-1, 0, 1].flatMap((down) => [-1, 0, 1].map((right) => [down, right]));

export class Failure extends Error {}

const START = "---------------------------OX------XO--------------------------- X";

/**
 * Returns settings as the server does, with the game, its plies and its reports as `analysed`, or
 * positions as `practice`.
 */
export async function settings() {
  return JSON.parse(document.getElementById("settings").textContent);
}

/** Returns a game with its plies and their legal moves. */
export async function replay({ game, start, moves }) {
  const { analysed } = await settings();
  const [board, side] = (start ?? START).split(" ");
  const first = { board, mover: side === "X" ? "black" : "white" };
  const plies = [analysed?.plies[0] ?? { ...first, legal: legalSquares(board, side) }];
  for (const move of moves) plies.push(after(plies.at(-1), move));
  return { game, start, moves, plies };
}

/** Returns positions to practise that come with azo. */
export async function shipped(kind) {
  return (await settings()).practice[kind];
}

/** Returns the reasons for a mistake of the analysed game; none for one in a variation. */
export async function reasons({ moves }, [mistake]) {
  const { analysed } = await settings();
  const isOfGame = [...moves, mistake].every((move, ply) => move === analysed.moves[ply]);
  return isOfGame ? analysed.reasons[moves.length] : [];
}

function after({ board, mover, legal }, move) {
  if (!legal.includes(move)) throw new Failure(`illegal move ${move}`);
  const squares = [...board];
  const size = Math.sqrt(board.length);
  if (move !== "pass") {
    const [row, column] = place(move);
    const taken = [row * size + column, ...flips(board, row, column, DISCS[mover])];
    for (const index of taken) squares[index] = DISCS[mover];
  }
  const [text, next] = [squares.join(""), mover === "black" ? "white" : "black"];
  const [own, others] = [next, mover].map((colour) => legalSquares(text, DISCS[colour]));
  return { board: text, mover: next, legal: own.length || !others.length ? own : ["pass"] };
}

function legalSquares(board, own) {
  const size = Math.sqrt(board.length);
  const places = Array.from(board, (_, index) => [Math.floor(index / size), index % size]);
  const legal = places.filter(([row, column]) => flips(board, row, column, own).length);
  return legal.map(([row, column]) => square(row, column));
}

/** Indices of the discs that `own`, X or O, turns over by a move; none if the square is taken. */
function flips(board, row, column, own) {
  const size = Math.sqrt(board.length);
  if (board[row * size + column] !== "-") return [];
  return STEPS.flatMap(([down, right]) => {
    const line = [];
    for (let [r, c] = [row + down, column + right]; ; r += down, c += right) {
      const isInside = Math.min(r, c) >= 0 && Math.max(r, c) < size;
      const disc = isInside ? board[r * size + c] : "-";
      if (disc === own) return line;
      if (disc === "-") return [];
      line.push(r * size + c);
    }
  });
}
