// Practice: mistakes of former games, and endings that come with azo, are asked again until their moves
// are known.

import * as api from "./api.js";
import * as deck from "./deck.js";
import { capital } from "./formatting.js";
import * as games from "./games.js";
import { mistakes } from "./losses.js";
import * as storage from "./storage.js";

const DAY = 24 * 60 * 60 * 1000;
const MOST_LOST = 1; // discs, by a move that solves a position
export const ENDINGS_OF = "othello8"; // the game
const MORE_ENDINGS = 10; // that one click adds

const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

export class Practice {
  /** @param {Play} play the state of the page */
  constructor(play) {
    this.play = play;
    this.card = null; // on the board
    this.position = null; // of the card
    this.verdict = ""; // after the answer
    this.former = null; // the game on the board before
  }

  /** Whether the player has to find the move, so that nothing may tell it. */
  get isAsking() {
    return this.card !== null && !this.verdict;
  }

  get isSecret() {
    return this.isAsking && this.play.cursor === this.position;
  }

  /** The cards that are due, of games that the page offers. */
  get due() {
    const names = this.play.settings.games.map(({ name }) => name);
    return deck.due(Date.now()).filter(({ game }) => names.includes(game));
  }

  /** The best move of a card that was answered. */
  get best() {
    return this.verdict && this.play.cursor === this.position ? this.card.best : null;
  }

  /** What to say in place of the state of a game. */
  get words() {
    if (this.verdict) return this.verdict;
    const { mover, isEnding } = this.card;
    const which = isEnding ? "the only winning move" : "the best move";
    return `${capital(mover)}: find ${which} (${this.due.length} due)`;
  }

  /** The mistakes of the player, or of both sides where nobody of them is the player. */
  get mistakes() {
    const { human, isReversed, line } = this.play;
    const isMine = ({ parent }) => !["black", "white"].includes(human) || parent.mover === human;
    return mistakes(line, isReversed).filter(isMine);
  }

  /** Adds the mistakes of the game to the deck. */
  keepMistakes() {
    const { play } = this;
    const found = this.mistakes;
    const number = deck.add(found.map((position) => this.#cardOf(position)));
    const old = found.length - number ? `, ${found.length - number} were kept before` : "";
    play.say(`${plural(number, "position")} to practise under “Games”${old}`, "note");
    play.render();
  }

  /** Adds the next endings, those that surprise the network least first; returns how many. */
  async addEndings() {
    const known = new Set(deck.cards().map(deck.idOf));
    const cards = (await api.endings()).map(({ start, best, losses }) => {
      const mover = start.endsWith("X") ? "black" : "white";
      return { game: ENDINGS_OF, start, moves: [], mover, best, losses, isEnding: true };
    });
    return deck.add(cards.filter((card) => !known.has(deck.idOf(card))).slice(0, MORE_ENDINGS));
  }

  #cardOf({ parent }) {
    const { play } = this;
    const { game, start, moves } = play.question(parent);
    const { report } = parent;
    const sign = play.isReversed ? -1 : 1;
    const isSolved = report.score !== null;
    const known = report.moves.filter((move) => (isSolved ? move.score : move.discs) !== null);
    const worth = ({ score, discs }) => sign * (score ?? discs);
    const best = Math.max(...known.map(worth));
    const losses = Object.fromEntries(known.map((move) => [move.move, best - worth(move)]));
    losses[report.move] = 0;
    return { game, start, moves, mover: parent.mover, best: report.move, losses };
  }

  /** Shows the next card that is due; without one, ends. */
  async next() {
    const { play } = this;
    const [card] = this.due;
    if (!this.card) {
      play.onLeave(); // keeps the game on the board
      this.former = play.id;
    }
    if (!card) {
      await this.stop();
      return play.say(this.#wait(), "note");
    }
    play.search.stop();
    play.say("");
    let game = null;
    try {
      game = await api.replay(card);
    } catch (error) {
      if (!(error instanceof api.Failure)) throw error;
      return play.say(error.message);
    }
    Object.assign(this, { card, verdict: "" });
    play.pose(game);
    this.position = play.cursor;
    return play.proceed();
  }

  #wait() {
    const [first] = deck.cards();
    if (!first) return "No position is kept: analyse a game, then “Keep mistakes”";
    const days = Math.ceil((first.memory.due - Date.now()) / DAY);
    return `Well done: the next position is due ${days > 1 ? `in ${days} days` : "within a day"}`;
  }

  /** Judges a move; null shows the answer. */
  answer(move) {
    const { card, play } = this;
    const loss = card.losses[move];
    const isSolved = loss <= MOST_LOST;
    const memory = deck.review(card.memory, isSolved, Date.now());
    deck.update(card, memory);
    const days = Math.round((memory.due - memory.last) / DAY);
    const again = days ? `again in ${plural(days, "day")}` : "again in this round";
    const cost = loss === undefined ? "is not among the best" : `loses ${plural(Math.round(loss), "disc")}`;
    const wrong = move === null ? `The best move is ${card.best}` : `${move} ${cost}: ${card.best} is best`;
    this.verdict = `${isSolved ? `Solved: ${move}` : wrong}; ${again}`;
    play.proceed();
  }

  /** Goes on: shows the answer, or the next card after it. */
  goOn() {
    return this.isAsking ? this.answer(null) : this.next();
  }

  /** Plays on from the position against azo at its highest level. */
  playOut() {
    const { card, play, position } = this;
    this.leave();
    const { length: level } = play.settings.levels;
    Object.assign(play, { cursor: position, human: card.mover, level, isPaused: false });
    play.proceed();
  }

  /** Ends, and shows the former game again. */
  async stop() {
    const { play, card, former } = this;
    if (!card) return;
    const stored = games.restored(storage.load(former), play.settings);
    if (stored) play.resume(stored);
    else await play.begin(play.game);
  }

  /** Another game comes on the board. */
  leave() {
    Object.assign(this, { card: null, position: null, verdict: "", former: null });
  }
}
