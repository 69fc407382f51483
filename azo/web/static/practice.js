// Practice: mistakes of former games, and endings that come with azo, are asked again until their moves
// are known.

import * as api from "./api.js";
import * as deck from "./deck.js";
import { capital, plural } from "./formatting.js";
import { mistakes } from "./losses.js";
import { cardOf, MOST_LOST } from "./quiz.js";
import { lossOf } from "./replies.js";

const DAY = 24 * 60 * 60 * 1000;
export const SHIPPED_FOR = "othello8"; // the game
const WELL_DONE = 0.8; // of the positions of a round, solved on the first try
const MORE = 10; // positions that one click adds

export class Practice {
  /** @param {Play} play the state of the page */
  constructor(play) {
    this.play = play;
    this.begin();
  }

  /** Starts a round: what is due is asked, and again what was not solved, until it is. */
  begin() {
    this.tries = new Map(); // of each card, whether the first answer was right
    this.failed = []; // cards that are asked again after the others
  }

  /** The cards that are due, of games that the page offers. */
  get due() {
    const names = this.play.settings.games.map(({ name }) => name);
    return deck.due(Date.now()).filter(({ game }) => names.includes(game));
  }

  /** The cards of this round that are left. */
  get left() {
    const ids = this.failed.map(deck.idOf);
    return [...this.due.filter((card) => !ids.includes(deck.idOf(card))), ...this.failed];
  }

  next() {
    return this.left[0];
  }

  question({ mover, isEnding }) {
    const which = isEnding ? "the only winning move" : "the best move";
    return `${capital(mover)}: find ${which} (${this.left.length} due)`;
  }

  /** Reviews a card, and says when it comes back. */
  async judge(card, move) {
    const loss = await this.#loss(card, move);
    const isSolved = loss !== null && loss <= MOST_LOST;
    const now = Date.now();
    const memory = await deck.keepReview(card, isSolved, now, loss === null ? {} : { [move]: loss });
    const id = deck.idOf(card);
    if (!this.tries.has(id)) this.tries.set(id, isSolved);
    this.failed = this.failed.filter((each) => deck.idOf(each) !== id);
    if (!isSolved) this.failed.push(card);
    if (loss !== null) card.losses[move] = loss;
    const days = Math.round((memory.due - now) / DAY);
    const again = isSolved ? `again in ${plural(days, "day")}` : "again in this round";
    const cost = loss === null ? "is not among the best" : `loses ${plural(Math.round(loss), "disc")}`;
    const wrong = move === null ? `The best move is ${card.best}` : `${move} ${cost}: ${card.best} is best`;
    const asGood = move === card.best ? "" : `, as good as ${card.best}`;
    return `${isSolved ? `Solved: ${move}${asGood}` : wrong}; ${again}`;
  }

  /** The discs that an answer loses, null if they are not known; those of endings are exact. */
  async #loss(card, move) {
    if (move === null || move === card.best) return move && 0;
    const known = card.losses[move] ?? null;
    if (card.isEnding && known !== null) return known;
    return (await lossOf(this.play, card, move, card.best)) ?? known;
  }

  /** How many positions of the round were solved on the first try, "" without answers. */
  get score() {
    const { size } = this.tries;
    if (!size) return "";
    const right = [...this.tries.values()].filter(Boolean).length;
    const praise = right >= WELL_DONE * size ? "Well done: " : "";
    return `${praise}${right} of ${size} right on the first try`;
  }

  /** What to say when the player stops the round. */
  get rest() {
    const { length } = this.failed;
    const left = length ? `; ${plural(length, "position")} to be asked again in ten minutes` : "";
    return this.score && this.score + left;
  }

  end() {
    const [first] = deck.cards();
    if (!first) return "No positions are saved: analyse a game, then press “Keep mistakes”";
    const days = Math.ceil(((first.memory?.due ?? 0) - Date.now()) / DAY);
    const next = `the next position is due ${days > 1 ? `in ${days} days` : "within a day"}`;
    return `${this.score || "Nothing is due"}: ${next}`;
  }

  /** The mistakes of the player, or of both sides where nobody of them is the player. */
  get mistakes() {
    const { human, isReversed, line } = this.play;
    const isMine = ({ parent }) => !["black", "white"].includes(human) || parent.mover === human;
    return mistakes(line, isReversed).filter(isMine);
  }

  /** Adds the mistakes of the game to the deck. */
  async keepMistakes() {
    const { play } = this;
    const found = this.mistakes;
    const number = await deck.add(found.map(({ parent }) => cardOf(play, parent)));
    const old = found.length - number ? `, ${found.length - number} were saved before` : "";
    play.say(`${plural(number, "position")} to practise under “Games”${old}`, "note");
    play.render();
  }

  /**
   * Adds the next endings, those that people find most often first, or openings, those that they play
   * most often first; players at the level, if it is a human level. Returns how many.
   */
  async addShipped(kind) {
    const { rating, settings } = this.play;
    const column = settings.people.findLastIndex((each) => each <= rating);
    const known = new Set(deck.cards().map(deck.idOf));
    const all = (await api.shipped(kind)).sort((one, two) => two.people[column] - one.people[column]);
    const cards = all.map(({ start = null, moves = [], best, losses }) => {
      const isBlack = start ? start.endsWith("X") : moves.length % 2 === 0;
      const mover = isBlack ? "black" : "white";
      return { game: SHIPPED_FOR, start, moves, mover, best, losses, isEnding: kind === "endings" };
    });
    return deck.add(cards.filter((card) => !known.has(deck.idOf(card))).slice(0, MORE));
  }
}
