// Stands in for api.js in files, which have no server: an analysed game, or positions to practise.

export class Failure extends Error {}

/**
 * Returns settings as the server does, with the game and its reports as `analysed`, or positions as
 * `practice`.
 */
export async function settings() {
  return JSON.parse(document.getElementById("settings").textContent);
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
