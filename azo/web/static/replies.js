// What a reply loses against the best move, by searches of the positions after both.
//
// The table of a search has few visits of most moves: its worth of such a move is off by discs.
// `azo/coach/replies.py` has the same for the terminal.

import * as api from "./api.js";
import { fromGame } from "./tree.js";

const SECONDS = 10; // of a search; for slow networks
const SEARCHES = [1, 3]; // of each position, one continuing the other, before its score is taken

/**
 * Returns the discs that a move in a position loses against another one, at least 0; null if they
 * cannot be known here. It is the larger of two losses, after a search and after its continuation: a
 * score of a single search is off by two discs in open positions.
 * @param {Play} play
 * @param {{game: string, start: ?string, moves: string[]}} position
 */
export async function lossOf(play, { game, start, moves }, move, best) {
  if (!api.think) return null; // a file without a server
  const { info, isReversed, settings } = play;
  const how = { role: "advise", num_simulations: settings.max_simulations, seconds: SECONDS };
  const worths = async (last) => {
    const question = { game, start, moves: [...moves, last] };
    const { isOver, report } = fromGame({ ...question, start: start ?? info.start });
    if (isOver) return SEARCHES.map(() => -report.score);
    const found = [];
    for (let number = 1; number <= SEARCHES.at(-1); number++) {
      const { discs, score } = await api.think(question, how, undefined, () => {});
      if (SEARCHES.includes(number)) found.push(-discs);
      if (score !== null) return SEARCHES.map(() => -score);
    }
    return found;
  };
  try {
    const [own, others] = [await worths(best), await worths(move)];
    const losses = own.map((worth, index) => (isReversed ? -1 : 1) * (worth - others[index]));
    return Math.max(0, ...losses);
  } catch (error) {
    if (!(error instanceof api.Failure)) throw error;
    return null;
  }
}
