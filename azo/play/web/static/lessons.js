// Mistakes of the game on the page: steps between them, the better line, and another try.

import { loss, mistakes } from "./losses.js";

const NONE = "No mistakes are known: analyse the game first";

export class Lessons {
  /** @param {Play} play the state of the page */
  constructor(play) {
    this.play = play;
    this.retried = null; // the move to improve on
  }

  /** Whether the values of the position on the board would give the answer away. */
  get isSecret() {
    return this.retried !== null && this.play.cursor === this.retried.parent;
  }

  get all() {
    return mistakes(this.play.line, this.play.isReversed);
  }

  /** The mistake that led to the position on the board, else the next one, else the last one. */
  get here() {
    const { all } = this;
    return all.find(({ ply }) => ply >= this.play.cursor.ply) ?? all.at(-1);
  }

  /** Shows the next mistake of the line, or the previous one. */
  step(direction) {
    const { all, play } = this;
    const { ply } = play.cursor;
    const reached = direction > 0 ? all.find((at) => at.ply > ply) : all.findLast((at) => at.ply < ply);
    if (reached) play.goTo(reached);
    else if (!all.length) play.say(NONE, "note");
    else play.say(direction > 0 ? "No later mistake" : "No earlier mistake", "note");
  }

  /** Shows the best line in place of a mistake, as a variation. */
  async showBetter() {
    const { here: mistake, play } = this;
    if (!mistake) return play.say(NONE, "note");
    const { move: best, moves } = mistake.parent.report;
    const { line } = moves.find(({ move }) => move === best);
    this.retried = null;
    play.isPaused = true;
    if (!(await play.add(mistake.parent, line))) return undefined;
    play.cursor = mistake.parent.child(best);
    play.say(`${best} was better than ${mistake.move}: step on with →`, "note");
    return play.proceed();
  }

  /** Goes back before a mistake; the player looks for a better move, and azo plays on. */
  retry() {
    const { here: mistake, play } = this;
    if (!mistake) return play.say(NONE, "note");
    this.retried = mistake;
    play.human = mistake.parent.mover;
    play.isPaused = false;
    play.cursor = mistake.parent;
    play.say(`Find a better move than ${mistake.move}`, "note");
    return play.proceed();
  }

  /** Judges the move that the player made in place of the mistake. */
  async judge() {
    const { play, retried } = this;
    const mine = play.cursor;
    if (mine !== retried && !(await play.searched(mine))) return;
    const [cost, before] = [mine, retried].map((at) => loss(at, play.isReversed)?.discs ?? 0);
    if (mine === retried || cost >= before) {
      play.cursor = retried.parent;
      const reason = mine === retried ? "is the move of the game" : "is no better";
      play.say(`${mine.move} ${reason}: try again`, "note");
    } else {
      this.retried = null;
      const costs = cost >= 0.5 ? `loses ${Math.round(cost)} discs` : "loses nothing";
      play.say(`Better: ${mine.move} ${costs}; ${retried.move} lost ${Math.round(before)}`, "note");
    }
    play.proceed();
  }
}
