// What a reply loses against the best move, by searches of the positions after both.
//
// The table of a search has few visits of most moves: its worth of such a move is off by discs.
// `azo/play/protocols/replies.py` has the same for the terminal.

import * as api from "./api.js";
import { finalScore } from "./formatting.js";

const SECONDS = 10; // of each search; for slow networks

/**
 * Returns the discs that a move in a position loses against another one, at least 0; null if they
 * cannot be known here.
 * @param {Play} play
 * @param {{game: string, start: ?string, moves: string[]}} position
 */
export async function lossOf(play, { game, start, moves }, move, best) {
  if (!api.think) return null; // a file without a server
  const { isReversed, settings } = play;
  const how = { role: "advise", num_simulations: settings.max_simulations, seconds: SECONDS };
  const worth = async (last) => {
    const question = { game, start, moves: [...moves, last] };
    const { board, mover, legal } = (await api.replay(question)).plies.at(-1);
    const black = finalScore(board);
    if (!legal.length) return mover === "black" ? -black : black;
    return -(await api.think(question, how, undefined, () => {})).discs;
  };
  try {
    const difference = (await worth(best)) - (await worth(move));
    return Math.max(isReversed ? -difference : difference, 0);
  } catch (error) {
    if (!(error instanceof api.Failure)) throw error;
    return null;
  }
}
