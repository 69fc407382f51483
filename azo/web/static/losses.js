// The discs that moves give away, marks for them, and a summary of each side.
//
// The loss of a move is the expected final score before it minus the worth of the move: minus the
// expected score of the next position. It is exact where both positions are solved. The engine's
// choice and its images by symmetries of the board, such as any first move, lose nothing. A move
// that turns a win into a draw or a loss has the worst mark, however few discs it loses. Only a move
// between two positions that are solved or searched deeply has a mark.
// `azo/coach/game_analysis.py` has the same rules and the same marks.

import { place } from "./formatting.js";
import { quality } from "./tree.js";

// Least loss in discs, least loss in expected result, and the mark of a move that reaches either.
const MARKS = [[10, 1, "??"], [4, 0.75, "?"], [2, Infinity, "?!"]];
// By so much more a loss that is not exact has to reach them.
const MARGIN = 1;
const RESULT_MARGIN = 0.25;
const RESULT_LOST = 1; // a loss in expected result that changes who wins
const DOUBTED = 2; // least loss by usual searches with which positions are searched deeply
const RESULT_DOUBTED = 0.5;
const DECIDED = 0.75; // expected result of the winner at the end of a game with a turning point
const LEAST_VISITS = 50; // of a report that is not exact

/**
 * Returns the loss of the move that led to a position, null if it is not known.
 * @returns {?{discs: number, result: number, isExact: boolean, isSure: boolean, isResult: boolean,
 *   mark: string, best: string}} `isSure`: both positions were searched deeply or solved
 */
export function loss(position, isReversed) {
  const [before, after] = [position.parent?.report, position.report];
  if (!isKnown(before) || !isKnown(after)) return null;
  const isExact = before.score !== null && after.score !== null;
  const difference = (isReversed ? -1 : 1) * (before.discs + after.discs);
  const isBest = areEquivalent(position.parent.board, position.move, before.move);
  const discs = isBest ? 0 : Math.max(difference, 0);
  const result = isBest ? 0 : resultOf(before, isReversed) + resultOf(after, isReversed);
  const isSure = isFirm(before) && isFirm(after);
  const [sure, sureResult] = isExact ? [discs, result] : [discs - MARGIN, result - RESULT_MARGIN];
  const found = MARKS.find(([least, most]) => sure >= least || sureResult >= most);
  const mark = isSure && found ? found[2] : "";
  const isResult = isSure && sureResult >= RESULT_LOST;
  return { discs, result, isExact, isSure, isResult, mark, best: before.move };
}

/** The positions around the last mistake of a line that need a deeper search, [] without one. */
export function doubted(line, isReversed) {
  const position = line.findLast((at) => {
    const known = loss(at, isReversed);
    const isLarge = known && (known.discs >= DOUBTED || known.result >= RESULT_DOUBTED);
    return isLarge && !known.isSure;
  });
  return position ? [position.parent, position].filter(({ report }) => !isFirm(report)) : [];
}

/**
 * The moves of a position's report, best first. A move after which a report is known has its loss, so
 * that tables, marks and positions to practise have one number.
 */
export function movesOf(position, isReversed) {
  const { children, report } = position;
  const sign = isReversed ? -1 : 1;
  const moves = report.moves.map((move) => {
    const child = children.find((each) => each.move === move.move);
    const known = child && loss(child, isReversed);
    if (!known || move.move === report.move || move.score !== null) return move;
    const discs = report.discs - sign * known.discs;
    const line = [move.move, ...(child.report.moves[0]?.line ?? [])];
    const isExact = known.isExact && report.score !== null;
    const value = resultOf(report, isReversed) - Math.max(known.result, 0);
    return { ...move, discs, value, line, score: isExact ? discs : null };
  });
  if (report.score !== null) return moves;
  const worth = ({ discs }) => (discs === null ? -Infinity : sign * discs);
  const [others, best] = [[], []];
  for (const move of moves) (move.move === report.move ? best : others).push(move);
  return [...best, ...others.sort((one, two) => worth(two) - worth(one))];
}

/** The expected result of a report in [-1, 1]; the exact one where its score is known. */
function resultOf({ value, score }, isReversed) {
  return score === null ? value : Math.sign(score) * (isReversed ? -1 : 1);
}

/** The position after the move by which its side fell behind for good, null without a mistake. */
export function turningPoint(line, isReversed) {
  const black = line.map((position) => {
    const { report } = position;
    return report && resultOf(report, isReversed) * (position.mover === "black" ? 1 : -1);
  });
  const winner = black.at(-1);
  if (Math.abs(winner) < DECIDED) return null;
  for (let at = line.length - 1; at > 0; at--) {
    if (black[at] === null || black[at - 1] === null || black[at] * winner <= 0) return null;
    if (black[at - 1] * winner > 0) continue;
    const isLoser = (line[at - 1].mover === "black" ? 1 : -1) * winner < 0;
    return isLoser && loss(line[at], isReversed)?.mark ? line[at] : null;
  }
  return null;
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

function isKnown(report) {
  return Boolean(report) && quality(report) >= LEAST_VISITS;
}

/** Whether a report is solved, or its search was long enough for marks. */
const isFirm = ({ score, is_deep: isDeep }) => score !== null || Boolean(isDeep);

/** The positions of a line that were reached by a move with a mark. */
export function mistakes(line, isReversed) {
  return line.filter((position) => loss(position, isReversed)?.mark);
}

/** The positions of a line after choices of a side; a forced move is no choice. */
export const choicesOf = (line, colour) =>
  line.filter(({ parent }) => parent?.mover === colour && parent.legal.length > 1);

/** Choices, accuracy, lost discs and marks of a side. */
export function summary(line, colour, isReversed) {
  const choices = choicesOf(line, colour)
    .map((position) => loss(position, isReversed))
    .filter(Boolean);
  const count = (mark) => choices.filter((choice) => choice.mark === mark).length;
  return {
    numChoices: choices.length,
    accuracy: choices.length ? count("") / choices.length : null,
    discs: choices.reduce((sum, { discs }) => sum + discs, 0),
    isExact: choices.every(({ discs, isExact }) => isExact || discs === 0),
    marks: MARKS.map(([, , mark]) => [mark, count(mark)]),
  };
}
