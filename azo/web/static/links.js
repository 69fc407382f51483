// Links to games: the part of the address after #, which the server reads as a text.

import * as api from "./api.js";
import { hashOf } from "./games.js";
import * as records from "./records.js";

const LOCAL = /^(localhost|127\..*|\[::1\])$/; // names of the machine itself

/** A link to the game on the board, and a note for the reader. */
export function linkTo(play) {
  const isLocal = LOCAL.test(location.hostname);
  const { address } = play.settings;
  const page = isLocal && address ? `${address}/` : location.href.split("#")[0];
  const note =
    isLocal && !address
      ? "Copied. The link works only on this machine: start azo web with --host 0.0.0.0 to share it"
      : "Copied";
  return { text: `${page}#${hashOf(play)}`, note };
}

/** Opens the game of the address; throws `Failure` if there is none. */
export async function follow(play) {
  const linked = await api.read(play.game ?? play.settings.games[0].name, { text: location.href });
  play.follow(linked);
}

/** Opens the games of links that are typed or followed while the page is open. */
export function connect(play, say) {
  addEventListener("hashchange", async () => {
    if (!records.fromHash(location.hash) || location.hash === `#${hashOf(play)}`) return;
    try {
      await follow(play);
    } catch (error) {
      if (!(error instanceof api.Failure)) throw error;
      say(error.message);
    }
  });
}
