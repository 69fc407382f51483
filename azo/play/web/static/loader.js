// Opens games: pasted and dropped texts, files, and links.

import * as api from "./api.js";
import { choose } from "./chooser.js";
import * as wthor from "./wthor.js";

const MOST_BYTES = 1 << 24; // of a file
const PART = 0.8; // of the longest text, for the beginning of a longer file: JSON needs more bytes
const FORMATS = "transcripts, GGF, SGF, PGN, OBF, boards and WTHOR (.wtb)";

const byId = (id) => document.getElementById(id);

let names = []; // of the players of WTHOR, from a .JOU file

/** Connects the dialog, dropped files and the clipboard with a `Play`; `say` shows errors. */
export function connect(play, say) {
  /** Opens what `find` returns, and shows an error of it; returns whether it could. */
  const open = async (find, show = say) => {
    try {
      const game = await find();
      if (game) play.open(game);
      return game !== null;
    } catch (error) {
      if (!(error instanceof api.Failure)) throw error;
      show(error.message);
      return false;
    }
  };
  const openText = (text, show) => open(() => ofText(play, text), show);
  const openFiles = (files) => open(() => ofFiles(play, [...files], say));
  byId("read").addEventListener("click", async () => {
    const show = (message) => {
      byId("open-error").textContent = message;
      byId("open-error").hidden = message === "";
    };
    show("");
    if (await openText(byId("text").value, show)) byId("open-dialog").close();
  });
  byId("choose-file").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", async (event) => {
    const files = [...event.target.files];
    event.target.value = "";
    byId("open-dialog").close();
    if (files.length) await openFiles(files);
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    const { files } = event.dataTransfer;
    if (files.length) await openFiles(files);
    else await openText(event.dataTransfer.getData("text/plain"));
  });
  document.addEventListener("paste", async (event) => {
    if (event.target.matches?.("textarea, input")) return;
    const { files } = event.clipboardData;
    const text = event.clipboardData.getData("text/plain");
    if (text.trim()) await openText(text);
    else if (files.length) await openFiles(files);
  });
}

/** Returns the game of a text, which the reader chooses if there are several; null if none. */
async function ofText(play, text, source = "the text") {
  const most = play.settings.max_text;
  if (text.length > most) throw new api.Failure(`Too long: the limit is ${most} characters`);
  const first = await api.read(play.game, text);
  if (first.titles.length === 1) return first;
  const index = await choose(`${first.titles.length} games in ${source}`, first.titles);
  if (index === null) return null;
  return index === 0 ? first : api.read(play.game, text, index + 1);
}

async function ofFiles(play, files, say) {
  const loaded = await Promise.all(files.map(load));
  const listed = loaded.find(({ name }) => /\.jou$/i.test(name));
  if (listed) names = wthor.namesOf(listed.bytes);
  const archive = loaded.find(({ bytes }) => wthor.isArchive(bytes));
  if (archive) return ofArchive(play, archive);
  const [file] = loaded.filter((other) => other !== listed);
  if (file) return ofText(play, ...beginning(play, textOf(file), file.name));
  say(`${names.length} names of players are known for the next .wtb file`, "note");
  return null;
}

/** The lines of a file that fit into a request, and a name for them. */
function beginning({ settings }, text, name) {
  if (text.length <= settings.max_text) return [text, name];
  const part = text.slice(0, PART * settings.max_text);
  return [part.slice(0, part.lastIndexOf("\n") + 1) || part, `the beginning of ${name}`];
}

async function ofArchive(play, { name, bytes }) {
  const games = wthor.gamesOf(bytes, names);
  const hint = names.length ? "" : "; open WTH.JOU too for the names";
  const titles = games.map(wthor.titleOf);
  const index =
    games.length === 1 ? 0 : await choose(`${games.length} games in ${name}${hint}`, titles);
  if (index === null) return null;
  const game = await api.read("othello8", wthor.textOf(games[index]));
  const note = [`game ${index + 1} of ${games.length} in ${name}`, game.note].filter(Boolean);
  return { ...game, note: note.join("; ") };
}

async function load(file) {
  if (file.size > MOST_BYTES) throw new api.Failure(`${file.name} is too large for a game`);
  try {
    return { name: file.name, type: file.type, bytes: new Uint8Array(await file.arrayBuffer()) };
  } catch {
    throw new api.Failure(`${file.name} cannot be read`);
  }
}

/** The text of a file; throws `Failure` for a picture or other bytes. */
function textOf({ name, type, bytes }) {
  if (type.startsWith("image/")) {
    const advice = "to enter the position that it shows, use “Edit…”";
    throw new api.Failure(`${name} is a picture, not a game; ${advice}`);
  }
  if (/\.wtb$/i.test(name)) throw new api.Failure(`${name} is damaged: its length is wrong`);
  const utf16 = { "255,254": "utf-16le", "254,255": "utf-16be" }[bytes.slice(0, 2).join()];
  if (utf16) return new TextDecoder(utf16).decode(bytes);
  if (bytes.some((byte) => byte < 9 || (byte > 13 && byte < 26))) {
    throw new api.Failure(`${name} is not a game: azo reads ${FORMATS}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
