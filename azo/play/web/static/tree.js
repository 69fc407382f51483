// A game with its variations: a tree of positions.
//
// The first child of a position continues its main line. `preferred` is the child that was visited
// last: the line through a position goes on there.

import { finalScore } from "./formatting.js";

const BEST_SOLVED = 99; // only the best move is exact: an analysis solves the others too

let numNodes = 0;

export class Position {
  /**
   * @param {?Position} parent the position before; null at the start
   * @param {?string} move the move from there, such as "f5" or "pass"
   * @param {{board: string, mover: string, legal: string[]}} ply as the server describes it
   */
  constructor(parent, move, { board, mover, legal }) {
    Object.assign(this, { parent, move, board, mover, legal });
    this.id = ++numNodes;
    this.ply = parent ? parent.ply + 1 : 0;
    this.children = [];
    this.preferred = null;
    this.searched = null; // the best report so far
    this.isTakenBack = false; // the next new move replaces the main line
  }

  get isOver() {
    return this.legal.length === 0;
  }

  /** The best report so far; at the end of a game, its result. */
  get report() {
    if (!this.isOver) return this.searched;
    const black = finalScore(this.board);
    const score = this.mover === "black" ? black : -black;
    return { value: null, discs: score, score, moves: [], move: null };
  }

  /** Keeps a report unless an earlier one has more visits. */
  record(report) {
    if (!this.searched || quality(report) >= quality(this.searched)) this.searched = report;
  }

  child(move) {
    return this.children.find((child) => child.move === move);
  }

  add(move, ply) {
    const child = new Position(this, move, ply);
    if (this.isTakenBack) this.children.unshift(child);
    else this.children.push(child);
    this.isTakenBack = false;
    return child;
  }

  /** Makes the lines through the ancestors go through this position. */
  prefer() {
    for (let at = this; at.parent; at = at.parent) at.parent.preferred = at;
  }

  /** The positions from the start to this one. */
  get path() {
    const positions = [];
    for (let at = this; at; at = at.parent) positions.unshift(at);
    return positions;
  }

  /** The positions from the start through this one to the end. */
  get line() {
    const positions = this.path;
    for (let at = this.next; at; at = at.next) positions.push(at);
    return positions;
  }

  get next() {
    return this.preferred ?? this.children[0];
  }

  get moves() {
    return this.path.slice(1).map((position) => position.move);
  }
}

/** Visits of a report; a report with the exact score of every move is the best. */
export function quality({ score, moves }) {
  if (score === null) return moves.reduce((sum, move) => sum + move.visits, 0);
  return moves.every((move) => move.score !== null) ? Infinity : BEST_SOLVED;
}

/** Returns the last position of a game from the server, as a tree of one line. */
export function fromGame({ moves, plies, reports = [] }) {
  let at = new Position(null, null, plies[0]);
  moves.forEach((move, index) => (at = at.add(move, plies[index + 1])));
  at.path.forEach((position, ply) => (position.searched = reports[ply] ?? null));
  at.prefer();
  return at;
}

/** The tree below a position as plain data. */
export function toData({ move, board, mover, legal, searched, children, preferred }) {
  return {
    ...{ move, board, mover, legal, searched },
    preferred: children.indexOf(preferred),
    children: children.map(toData),
  };
}

/** The tree of plain data; throws an error if the data is damaged. */
export function fromData(data, parent = null) {
  const { move, board, mover, legal, searched } = data;
  const isPly = [board, mover].every((text) => typeof text === "string") && Array.isArray(legal);
  const isReport = searched === null || (isFinite(searched.discs) && Array.isArray(searched.moves));
  if (!isPly || !isReport) throw new Error("damaged");
  const position = new Position(parent, move, data);
  position.searched = searched;
  position.children = data.children.map((child) => fromData(child, position));
  position.preferred = position.children[data.preferred] ?? null;
  return position;
}
