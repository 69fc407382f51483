// The rules of Othello. The page plays by them itself; `azo/games/host` has the same for the server.
//
// A ply is a board, squares row by row as X, O and -, its side to move, "black" or "white", and the
// legal moves. A start is a board, a space, and X or O for the side to move.

import { other, place, square } from "./formatting.js";

const DISCS = { black: "X", white: "O" };
const STEPS = [-1, 0, 1].flatMap((down) => [-1, 0, 1].map((right) => [down, right]));

/** The usual start of a board of some rows, and its side to move. */
export function usualStart(size) {
  const squares = Array(size * size).fill("-");
  const [low, high] = [size / 2 - 1, size / 2];
  squares[low * size + high] = squares[high * size + low] = "X";
  squares[low * size + low] = squares[high * size + high] = "O";
  return `${squares.join("")} X`;
}

/** The first ply of a game: its board, the side to move and its legal moves. */
export function firstPly(start) {
  const [board, side] = start.split(" ");
  const mover = side === "X" ? "black" : "white";
  return { board, mover, legal: legalMoves(board, mover) };
}

/** The ply after a legal move. */
export function nextPly({ board, mover }, move) {
  const [after, next] = [boardAfter(board, mover, move), other(mover)];
  return { board: after, mover: next, legal: legalMoves(after, next) };
}

/** The board after a legal move. */
export function boardAfter(board, mover, move) {
  if (move === "pass") return board;
  const squares = [...board];
  const [row, column] = place(move);
  const taken = [row * Math.sqrt(board.length) + column, ...flips(board, row, column, DISCS[mover])];
  for (const index of taken) squares[index] = DISCS[mover];
  return squares.join("");
}

/** The legal moves: only the pass if no square is legal, none at the end. */
function legalMoves(board, mover) {
  const own = legalSquares(board, DISCS[mover]);
  return own.length || !legalSquares(board, DISCS[other(mover)]).length ? own : ["pass"];
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
