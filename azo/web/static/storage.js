// Games and choices in the browser's storage.
//
// Each game with a move is one entry of `localStorage`, with its variations and reports. The tab's
// own game and choices are in `sessionStorage`, so that two tabs do not disturb each other.

const GAME = "azo-game-";
const TAB = "azo";
const MOST_GAMES = 30;
const MOST_LINE = 8; // moves of a stored line; in a solved position all of them

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The stored games, the latest first: {id, time, title, game, start, tree, path, ...}. */
export function games() {
  return Object.keys(localStorage)
    .filter((key) => key.startsWith(GAME))
    .map((key) => parsed(localStorage.getItem(key)))
    .filter((game) => game?.tree && game.id)
    .sort((one, two) => two.time - one.time);
}

export const load = (id) => parsed(localStorage.getItem(GAME + id));

export const remove = (id) => localStorage.removeItem(GAME + id);

/** Stores a game; the oldest ones make room for it. Returns whether there was room. */
export function store(game) {
  const text = JSON.stringify(game, (key, value) => (key === "searched" ? short(value) : value));
  const others = games().filter(({ id }) => id !== game.id);
  others.splice(MOST_GAMES - 1).forEach(({ id }) => remove(id));
  for (;;) {
    try {
      localStorage.setItem(GAME + game.id, text);
      return true;
    } catch {
      if (!others.length) return false;
      remove(others.pop().id);
    }
  }
}

function short(report) {
  if (!report || report.score !== null) return report;
  const moves = report.moves.map((move) => ({ ...move, line: move.line.slice(0, MOST_LINE) }));
  return { ...report, moves };
}

/** The choices of this tab, or of the latest one. */
export function choices() {
  return parsed(sessionStorage.getItem(TAB)) ?? parsed(localStorage.getItem(TAB)) ?? {};
}

/** The tab's game. */
export const currentGame = () => parsed(sessionStorage.getItem(TAB))?.id ?? null;

/** Keeps the choices, for this tab and for new ones, and what is the tab's own: its game. */
export function keepChoices(kept, own) {
  sessionStorage.setItem(TAB, JSON.stringify({ ...kept, ...own }));
  try {
    localStorage.setItem(TAB, JSON.stringify(kept));
  } catch {
    // no room: new tabs begin with the usual choices
  }
}
