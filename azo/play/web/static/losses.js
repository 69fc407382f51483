// The discs that moves give away, marks for them, and a summary of each side.
//
// The loss of a move is the expected final score before it minus the worth of the move: minus the
// expected score of the next position. It is exact where both positions are solved. The engine's
// choice and its images by symmetries of the board, such as any first move, lose nothing.
// `azo/play/game_analysis.py` has the same rule and the same marks.

import { place } from "./formatting.js";
import { quality } from "./tree.js";

const MARKS = [[10, "??"], [4, "?"], [2, "?!"]]; // least loss in discs
const LEAST_VISITS = 50; // of a report that is not exact

/**
 * Returns the loss of the move that led to a position, null if it is not known.
 * @returns {?{discs: number, isExact: boolean, mark: string, best: string}}
 */
export function loss(position, isReversed) {
  const [before, after] = [position.parent?.report, position.report];
  if (!isFirm(before) || !isFirm(after)) return null;
  const isExact = before.score !== null && after.score !== null;
  const difference = (isReversed ? -1 : 1) * (before.discs + after.discs);
  const isBest = areEquivalent(position.parent.board, position.move, before.move);
  const discs = isBest ? 0 : Math.max(difference, 0);
  const mark = MARKS.find(([least]) => discs >= least)?.[1] ?? "";
  return { discs, isExact, mark, best: before.move };
}

/** Whether a symmetry of the board maps one move to another. */
function areEquivalent(board, first, second) {
  if (first === second || [first, second].includes("pass")) return first === second;
  const size = Math.sqrt(board.length);
  const index = (row, column) => row * size + column;
  return [0, 1, 2, 3, 4, 5, 6, 7].some((kind) => {
    const image = (row, column) => {
      if (kind & 1) [row, column] = [column, row];
      return index(kind & 2 ? size - 1 - row : row, kind & 4 ? size - 1 - column : column);
    };
    if (image(...place(first)) !== index(...place(second))) return false;
    return [...board].every((disc, at) => disc === board[image(Math.floor(at / size), at % size)]);
  });
}

function isFirm(report) {
  return Boolean(report) && quality(report) >= LEAST_VISITS;
}

/** The positions of a line that were reached by a move with a mark. */
export function mistakes(line, isReversed) {
  return line.filter((position) => loss(position, isReversed)?.mark);
}

/** Choices, accuracy, lost discs and marks of a side; a forced move is no choice. */
export function summary(line, colour, isReversed) {
  const choices = line
    .filter(({ parent }) => parent && parent.mover === colour && parent.legal.length > 1)
    .map((position) => loss(position, isReversed))
    .filter(Boolean);
  const count = (mark) => choices.filter((choice) => choice.mark === mark).length;
  return {
    numChoices: choices.length,
    accuracy: choices.length ? count("") / choices.length : null,
    discs: choices.reduce((sum, { discs }) => sum + discs, 0),
    isExact: choices.every(({ discs, isExact }) => isExact || discs === 0),
    marks: MARKS.map(([, mark]) => [mark, count(mark)]),
  };
}
