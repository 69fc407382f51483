// A game with its variations: a tree of positions.
//
// The first child of a position continues its line; the game is the line of first children from the
// start. Other children begin variations.

import { finalScore } from "./formatting.js";
import { firstPly, nextPly } from "./rules.js";

const BEST_SOLVED = 99; // only the best move is exact: an analysis solves the others too

let numNodes = 0;

export class Position {
  /**
   * @param {?Position} parent the position before; null at the start
   * @param {?string} move the move from there, such as "f5" or "pass"
   * @param {{board: string, mover: string, legal: string[]}} ply as `rules` describes it
   */
  constructor(parent, move, { board, mover, legal }) {
    Object.assign(this, { parent, move, board, mover, legal });
    this.id = ++numNodes;
    this.ply = parent ? parent.ply + 1 : 0;
    this.children = [];
    this.searched = null; // the best report so far
    this.isTakenBack = false; // the next move continues the line in place of the first child
    this.resigned = null; // the colour that gave the game up here
  }

  get isOver() {
    return this.legal.length === 0;
  }

  /** Whether the game ends here, by the rules or since a side resigned. */
  get isEnd() {
    return this.isOver || this.resigned !== null;
  }

  /** The best report so far; at the end of a game, its result. */
  get report() {
    if (!this.isOver) return this.searched;
    const black = finalScore(this.board);
    const score = this.mover === "black" ? black : -black;
    return { value: null, discs: score, score, moves: [], move: null };
  }

  /** The report; without one, what the last search before expects of the moves since then. */
  get outlook() {
    return this.report ?? this.#expected;
  }

  get #expected() {
    const moves = [this.move];
    let at = this.parent;
    for (; at && !at.searched; at = at.parent) moves.unshift(at.move);
    const known = at?.searched.moves.find(({ line }) => moves.every((move, ply) => move === line[ply]));
    const isBound = at?.searched.score !== null && known?.score === null;
    if (!known || known.discs === null || isBound) return null;
    const turn = this.mover === at.mover ? 1 : -1;
    const seen = (number) => (number === null ? null : turn * number || 0);
    const [value, discs, score] = [known.value, known.discs, known.score].map(seen);
    const line = known.line.slice(moves.length);
    const [move = null] = line;
    const next = { move, line, value, discs, score, visits: 0, prior: null };
    return { source: "line", value, discs, score, move, moves: move ? [next] : [], ply: at.ply };
  }

  /** Keeps a report unless an earlier one is solved and this one is not, or has more visits. */
  record(report) {
    const { searched } = this;
    const rank = (each) => (each ? [Number(each.score !== null), quality(each)] : [-1, 0]);
    const [[solved, visits], [before, visitsBefore]] = [report, searched].map(rank);
    if (solved > before || (solved === before && visits >= visitsBefore)) this.searched = report;
  }

  child(move) {
    return this.children.find((child) => child.move === move);
  }

  /** Adds the position after a legal move, and returns it. */
  add(move) {
    const child = new Position(this, move, nextPly(this, move));
    this.children.push(child);
    return child;
  }

  /** Makes the line of the parent go through this position. */
  promote() {
    const { children } = this.parent;
    children.unshift(...children.splice(children.indexOf(this), 1));
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

  /** The next position of the line; none after a resignation, where only variations go on. */
  get next() {
    return this.resigned ? undefined : this.children[0];
  }

  /** The last position of the game on the path to this one: itself, unless it is in a variation. */
  get branch() {
    const { path } = this;
    const number = path.findIndex((at) => at.parent && at !== at.parent.next);
    return number < 0 ? this : path[number - 1];
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

/** Returns the last position of a legal game, as a tree of one line. */
export function fromGame({ start, moves, reports = [] }) {
  const last = moves.reduce((at, move) => at.add(move), new Position(null, null, firstPly(start)));
  last.path.forEach((position, ply) => (position.searched = reports[ply] ?? null));
  return last;
}

/** The tree below a position as plain data. */
export function toData({ move, board, mover, legal, searched, isTakenBack, resigned, children }) {
  return {
    ...{ move, board, mover, legal, searched, isTakenBack, resigned },
    children: children.map(toData),
  };
}

/** The tree of plain data; throws an error if the data is damaged. */
export function fromData(data, parent = null) {
  const { move, board, mover, legal, searched, isTakenBack = false, resigned = null } = data;
  const isPly = [board, mover].every((text) => typeof text === "string") && Array.isArray(legal);
  const isReport = searched === null || (isFinite(searched.discs) && Array.isArray(searched.moves));
  if (!isPly || !isReport) throw new Error("damaged");
  const position = new Position(parent, move, data);
  Object.assign(position, { searched, isTakenBack, resigned });
  position.children = data.children.map((child) => fromData(child, position));
  return position;
}
