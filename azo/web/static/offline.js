// Stands in for api.js in files, which have no server: an analysed game, or positions to practise.

import { firstPly, nextPly, usualStart } from "./rules.js";

export class Failure extends Error {}

/**
 * Returns settings as the server does, with the game, its plies and its reports as `analysed`, or
 * positions as `practice`.
 */
export async function settings() {
  return JSON.parse(document.getElementById("settings").textContent);
}

/** Returns a game with its plies and their legal moves. */
export async function replay({ game, start, moves }) {
  const { analysed } = await settings();
  const first = firstPly(start ?? usualStart(8));
  const plies = [analysed?.plies[0] ?? first];
  for (const move of moves) {
    if (!plies.at(-1).legal.includes(move)) throw new Failure(`illegal move ${move}`);
    plies.push(nextPly(plies.at(-1), move));
  }
  return { game, start, moves, plies };
}

/** Returns positions to practise that come with azo. */
export async function shipped(kind) {
  return (await settings()).practice[kind];
}

/** Returns the reasons for a mistake of the analysed game; none for one in a variation. */
export async function reasons({ moves }, [mistake]) {
  const { analysed } = await settings();
  const isOfGame = [...moves, mistake].every((move, ply) => move === analysed.moves[ply]);
  return isOfGame ? analysed.reasons[moves.length] : [];
}
