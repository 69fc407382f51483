// The dialog of stored games, and links and files of the game on the board.

import { openingName } from "./openings.js";
import { finalScore, outcome, ownResult, plural } from "./formatting.js";
import * as records from "./records.js";
import * as storage from "./storage.js";
import { SHIPPED_FOR } from "./practice.js";
import { fromData, toData } from "./tree.js";

const byId = (id) => document.getElementById(id);

/** What is stored of a game. */
export function record(play) {
  const { id, game, start, title, players, human, level, root, line, cursor, isReversed, ownSide } = play;
  const last = line.at(-1);
  const loser = last.resigned === ownSide ? "you" : last.resigned;
  const open = last.resigned ? `${loser} resigned` : plural(line.length - 1, "move");
  const own = ownSide && last.isOver ? `${ownResult(finalScore(last.board), ownSide, isReversed)}, ` : "";
  const state = last.isOver ? own + outcome(last, isReversed) : open;
  const against = `You (${human}) against azo, ${levelName(play)}`;
  const names = [players.black, players.white].filter(Boolean).join(" against ") || (ownSide ? against : "");
  const words = [names, game, openingName(line), state].filter(Boolean).join(", ");
  const tree = toData(root);
  return { id, game, start, title, players, human, level, words, tree, path: cursor.moves, time: Date.now() };
}

/** Returns a stored game with its tree, null if it is damaged or its network is not here. */
export function restored(stored, settings) {
  const isOffered = settings.games.some(({ name }) => name === stored?.game);
  if (!isOffered || !Array.isArray(stored.path)) return null;
  try {
    return { ...stored, players: stored.players ?? {}, root: fromData(stored.tree) };
  } catch {
    return null;
  }
}

/** The level of azo, such as "level 3 beginner" or "like players rated 1800". */
export function levelName({ level, settings }) {
  const name = settings.levels[level - 1];
  return name ? `level ${level} ${name}` : `like players rated ${String(level).slice("human:".length)}`;
}

/** Whether a stored game has the moves of a link, in any variation. */
export function contains({ game, start, root }, linked) {
  const isSame = game === linked.game && start === linked.start;
  const texts = (at) => at.children.map((child) => child.move.slice(0, 2));
  let at = root;
  for (const move of linked.moves) at = at?.children[texts(at).indexOf(move)];
  return isSame && at !== undefined;
}

/** Shows the stored games; `onChoose` gets the chosen one. */
export function showGames(play, onChoose) {
  const stored = storage.games().filter(({ id }) => id !== play.id);
  byId("no-games").hidden = stored.length > 0;
  const hasShipped = play.settings.games.some(({ name }) => name === SHIPPED_FOR);
  for (const kind of ["endings", "openings"]) byId(`add-${kind}`).hidden = !hasShipped;
  showDue(play);
  byId("games-list").replaceChildren(
    ...stored.map((game) => {
      const item = document.createElement("li");
      const open = document.createElement("button");
      const drop = document.createElement("button");
      open.type = drop.type = "button";
      const date = new Date(game.time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
      open.textContent = `${game.words} (${date})`;
      drop.textContent = "Remove";
      drop.setAttribute("aria-label", `Remove ${game.words}`);
      open.addEventListener("click", () => onChoose(game));
      drop.addEventListener("click", () => {
        storage.remove(game.id);
        item.remove();
      });
      item.append(open, drop);
      return item;
    }),
  );
  byId("games-dialog").showModal();
}

/** Shows how many positions are due for practice. */
export function showDue({ practice }) {
  byId("practise").textContent = `Practise (${practice.due.length} due)`;
}

/** The part of a link after #, for the line on the board. */
export function hashOf({ game, start, line }) {
  return records.toHash({ game, start, moves: line.at(-1).moves });
}

/** Saves the line as a file: a transcript or GGF. */
export function saveAs(play, kind) {
  const { line, info, isReversed } = play;
  const last = line.at(-1);
  if (kind === "txt") return records.download(`${records.transcript(last.moves)}\n`, "game.txt");
  const [black, white] = ["black", "white"].map((colour) => {
    if (play.players[colour]) return play.players[colour];
    if (play.human === "both") return "";
    return play.isHuman(colour) ? "player" : "azo";
  });
  const score = last.isOver ? finalScore(last.board) : null;
  const ggf = records.toGgf(line, { size: info.size, isReversed, black, white, score });
  return records.download(ggf, "game.ggf");
}
