// Mistakes of the game on the page: what they lost, steps between them, the better line, and
// another try.

import * as api from "./api.js";
import { plural, worthOf } from "./formatting.js";
import { loss, mistakes } from "./losses.js";

const NONE = "No mistakes are known: analyse the game first";
const LINE_MOVES = 4; // of the better line

/**
 * What a mistake lost and what was better, null for other moves.
 * @returns {?{mark: string, best: string, worth: string, text: string}}
 */
export function lesson(position, isReversed) {
  const known = loss(position, isReversed);
  if (!known?.mark) return null;
  const { mark, best } = known;
  const { report } = position.parent;
  const better = report.moves.find(({ move }) => move === best);
  const worth = worthOf(better, report, isReversed);
  const line = better.line.slice(1, 1 + LINE_MOVES).join(" ");
  const [guess, probably] = known.isExact ? ["", ""] : ["about ", "probably "];
  const whole = known.isResult ? ` and ${probably}the result` : "";
  const cost = `Move ${position.ply}, ${position.move}: loses ${guess}${plural(known.discs, "disc")}${whole}`;
  const text = `${cost}. Better was ${best} (${worth})${line && `: ${line}`}`;
  return { mark, best, worth, text };
}

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

  /** The ply of the game on the board; in a variation, that of the move that it replaces. */
  get ply() {
    const { cursor } = this.play;
    return cursor.branch === cursor ? cursor.ply : cursor.branch.ply + 1;
  }

  /** The mistake at this ply, else the next one, else the last one. */
  get here() {
    const { all, ply: here } = this;
    return all.find(({ ply }) => ply >= here) ?? all.at(-1);
  }

  /** The reasons for a mistake that led to a position, [] before they are known. */
  reasons(position) {
    const { play } = this;
    const { parent, report, move } = position;
    const lineOf = ({ moves }, first) => moves.find((each) => each.move === first)?.line ?? [];
    const lines = [[move, ...lineOf(report, report.move)], lineOf(parent.report, parent.report.move)];
    const known = [[report.discs, -parent.report.discs], report.score !== null];
    const asked = JSON.stringify([...lines, ...known]);
    if (position.reasons?.asked !== asked) {
      position.reasons = { asked, texts: position.reasons?.texts ?? [] };
      this.#ask(position, [...lines, ...known]).finally(play.render);
    }
    return position.reasons.texts;
  }

  async #ask(position, known) {
    const { reasons } = position;
    try {
      reasons.texts = await api.reasons(this.play.question(position.parent), ...known);
    } catch (error) {
      if (!(error instanceof api.Failure)) throw error;
      reasons.texts = []; // the search says it if the server is gone
    }
  }

  /** Shows the next mistake of the game, or the previous one; from its end, the first one. */
  step(direction) {
    const { all, play } = this;
    const ply = direction > 0 && play.cursor === play.line.at(-1) ? 0 : this.ply;
    const reached = direction > 0 ? all.find((at) => at.ply > ply) : all.findLast((at) => at.ply < ply);
    if (reached) play.goTo(reached);
    else if (!all.length) play.say(NONE, "note");
    else play.say(direction > 0 ? "No later mistake" : "No earlier mistake", "note");
  }

  /** Shows the best line in place of a mistake, as a variation; a second call goes back. */
  showBetter() {
    const { here: mistake, play } = this;
    if (!mistake) return play.say(NONE, "note");
    const { move: best, moves } = mistake.parent.report;
    if (play.cursor.path.includes(mistake.parent.child(best))) return play.goTo(mistake);
    const { line } = moves.find(({ move }) => move === best);
    const isAnalysing = play.task?.kind === "analyse";
    this.retried = null;
    play.isPaused = true;
    mistake.parent.isTakenBack = false;
    play.add(mistake.parent, line);
    play.cursor = mistake.parent.child(best);
    play.say(`${best} was better than ${mistake.move}; press → to continue`, "note");
    return isAnalysing ? play.analysis.searchGame() : play.proceed();
  }

  /** Goes back before a mistake; the player looks for a better move, and azo plays on. */
  retry() {
    const { here: mistake, play } = this;
    if (!mistake) return play.say(NONE, "note");
    this.retried = mistake;
    play.human = mistake.parent.mover;
    play.isPaused = false;
    play.cursor = mistake.parent;
    play.say("");
    return play.proceed();
  }

  /** Judges the move that the player made in place of the mistake. */
  async judge() {
    const { play, retried } = this;
    const mine = play.cursor;
    if (mine !== retried && !(await play.analysis.searched(mine))) return;
    const [cost, before] = [mine, retried].map((at) => loss(at, play.isReversed)?.discs ?? 0);
    if (mine === retried || cost >= before) {
      play.cursor = retried.parent;
      const reason = mine === retried ? "is the move of the game" : "is no better";
      play.say(`${mine.move} ${reason}: try again`, "note");
    } else {
      this.retried = null;
      const costs = cost >= 0.5 ? `loses ${plural(Math.round(cost), "disc")}` : "loses nothing";
      play.say(`Better: ${mine.move} ${costs}; ${retried.move} lost ${Math.round(before)}`, "note");
      if (!play.isAtEnd && !play.isHuman(mine.mover)) {
        // The move was on the board before, with an answer: the game goes on after that.
        play.cursor = mine.next;
        mine.next.isTakenBack = true;
      }
    }
    play.proceed();
  }
}
