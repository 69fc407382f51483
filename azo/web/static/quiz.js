// Positions in which the player has to find the move, one after the other, in place of the game on the
// board, which comes back at the end.

import { movesOf } from "./losses.js";

export const MOST_LOST = 1; // discs, by a move that solves a position
const LEAST_SHARE = 0.2; // of the visits of the most visited move

export class Quiz {
  /** @param {Play} play the state of the page */
  constructor(play) {
    this.play = play;
    this.course = null; // what is asked: `Practice` or `Guess`
    this.usualLevel = null; // while a position is played out
    this.leave();
  }

  /** Another game comes on the board. */
  leave() {
    this.play.level = this.usualLevel ?? this.play.level;
    this.usualLevel = null;
    Object.assign(this, { card: null, position: null, judged: null, verdict: "", former: null });
  }

  /** Whether the player has to find the move, so that nothing may show it. */
  get isAsking() {
    return this.card !== null && !this.verdict;
  }

  get isSecret() {
    return this.isAsking && this.play.cursor === this.position;
  }

  /** The card on the board after its answer. */
  get answered() {
    return this.verdict && this.play.cursor === this.position ? this.card : null;
  }

  /** What to say in place of the state of a game. */
  get words() {
    if (this.judged) return `Looking at ${this.judged}…`;
    return this.verdict || this.course.question(this.card);
  }

  /**
   * Asks the cards of a course.
   * @param {{next: () => ?object, question: (card: object) => string,
   *   judge: (card: object, move: ?string) => Promise<string>, end: () => string, begin: ?() => void,
   *   rest: ?string}} course
   */
  start(course) {
    this.course = course;
    course.begin?.();
    return this.next();
  }

  /** Shows the next card; without one, ends. */
  next() {
    const { course, play } = this;
    const card = course.next();
    if (!this.card) {
      play.onLeave(); // keeps the game on the board
      const { id, game, start, title, players, human, root, cursor } = play;
      this.former = { id, game, start, title, players, human, root, path: cursor.moves };
    }
    if (!card) {
      this.stop();
      return play.say(course.end(), "result");
    }
    play.search.stop();
    play.say("");
    Object.assign(this, { card: { ...card, losses: { ...card.losses } }, verdict: "" });
    play.pose(card);
    this.position = play.cursor;
    return play.proceed();
  }

  /** Judges a move; null shows the answer. */
  async answer(move) {
    const { card, course, play } = this;
    if (this.judged) return;
    this.judged = move;
    play.render();
    const verdict = await course.judge(card, move);
    if (card !== this.card) return; // another game is on the board
    Object.assign(this, { judged: null, verdict });
    play.proceed();
  }

  /** Goes on: shows the answer, or the next card after it. */
  goOn() {
    if (this.judged) return undefined;
    return this.isAsking ? this.answer(null) : this.next();
  }

  /** Plays on from the position against azo at its highest level. */
  playOut() {
    const { card, play, position } = this;
    this.leave();
    this.usualLevel = play.level;
    const { length: level } = play.settings.levels;
    Object.assign(play, { cursor: position, human: card.mover, level, isPaused: false });
    play.proceed();
  }

  /** Ends, and shows the former game again. */
  stop() {
    const { rest } = this.course;
    if (this.card) this.play.resume(this.former);
    if (rest) this.play.say(rest, "result");
  }
}

/**
 * A position of a game as a card.
 * @returns {?{game: string, start: ?string, moves: string[], mover: string, best: string,
 *   losses: Object<string, number>}} null without a report
 */
export function cardOf(play, position) {
  const { report, mover } = position;
  if (!report?.move) return null;
  const sign = play.isReversed ? -1 : 1;
  const isSolved = report.score !== null;
  const known = movesOf(position, play.isReversed).filter((move) => (isSolved ? move.score : move.discs) !== null);
  const worth = ({ score, discs }) => sign * (score ?? discs);
  const best = Math.max(...known.map(worth));
  const least = LEAST_SHARE * Math.max(...report.moves.map(({ visits }) => visits));
  const losses = { [report.move]: 0 };
  for (const move of known) {
    const loss = best - worth(move);
    const isKnown = isSolved || move.visits >= least; // what few visits say to be good may be bad
    if (move.move !== report.move && (loss > MOST_LOST || isKnown)) losses[move.move] = loss;
  }
  return { ...play.question(position), mover, best: report.move, losses };
}
