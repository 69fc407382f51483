// Practice: mistakes of former games, and endings that come with azo, are asked again until their moves
// are known.

import * as api from "./api.js";
import * as deck from "./deck.js";
import { capital, plural } from "./formatting.js";
import { mistakes } from "./losses.js";
import { cardOf } from "./quiz.js";

const DAY = 24 * 60 * 60 * 1000;
const MOST_LOST = 1; // discs, by a move that solves a position
export const SHIPPED_FOR = "othello8"; // the game
const MORE = 10; // positions that one click adds

export class Practice {
  /** @param {Play} play the state of the page */
  constructor(play) {
    this.play = play;
  }

  /** The cards that are due, of games that the page offers. */
  get due() {
    const names = this.play.settings.games.map(({ name }) => name);
    return deck.due(Date.now()).filter(({ game }) => names.includes(game));
  }

  /** The next card that is due. */
  next() {
    return this.due[0];
  }

  question({ mover, isEnding }) {
    const which = isEnding ? "the only winning move" : "the best move";
    return `${capital(mover)}: find ${which} (${this.due.length} due)`;
  }

  /** Reviews a card, and says when it comes back. */
  judge(card, move) {
    const loss = card.losses[move];
    const isSolved = loss <= MOST_LOST;
    const memory = deck.review(card.memory, isSolved, Date.now());
    deck.update(card, memory);
    const days = Math.round((memory.due - memory.last) / DAY);
    const again = days ? `again in ${plural(days, "day")}` : "again in this round";
    const cost = loss === undefined ? "is not among the best" : `loses ${plural(Math.round(loss), "disc")}`;
    const wrong = move === null ? `The best move is ${card.best}` : `${move} ${cost}: ${card.best} is best`;
    return `${isSolved ? `Solved: ${move}` : wrong}; ${again}`;
  }

  end() {
    const [first] = deck.cards();
    if (!first) return "No position is kept: analyse a game, then “Keep mistakes”";
    const days = Math.ceil((first.memory.due - Date.now()) / DAY);
    return `Well done: the next position is due ${days > 1 ? `in ${days} days` : "within a day"}`;
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
    const number = deck.add(found.map(({ parent }) => cardOf(play, parent)));
    const old = found.length - number ? `, ${found.length - number} were kept before` : "";
    play.say(`${plural(number, "position")} to practise under “Games”${old}`, "note");
    play.render();
  }

  /**
   * Adds the next endings, those that people find most often first, or openings, those that they play
   * most often first: people of the level, if it is like people. Returns how many.
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
