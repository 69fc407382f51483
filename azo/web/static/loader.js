// Opens games: pasted and dropped texts, files, and links.

import * as api from "./api.js";
import { choose } from "./chooser.js";
import { plural } from "./formatting.js";
import * as wthor from "./wthor.js";

const MOST_BYTES = 1 << 24; // of a file
const PART = 1 << 15; // bytes that are encoded at a time

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

async function ofText(play, text) {
  const most = play.settings.max_text;
  if (text.length > most) throw new api.Failure(`Too long: the limit is ${most} characters`);
  return ofSource(play, { text }, "the text");
}

/** Returns the game of a text or file, which the reader chooses if there are several; null if none. */
async function ofSource(play, source, name) {
  const first = await api.read(play.game, source);
  if (first.titles.length === 1) return first;
  const place = first.is_beginning ? `the beginning of ${name}` : name;
  const others = first.left_out ? `; left out: ${first.left_out}` : "";
  const index = await choose(`${first.titles.length} games in ${place}${others}`, first.titles);
  return index === null ? null : api.read(play.game, source, first.numbers[index]);
}

async function ofFiles(play, files, say) {
  const loaded = await Promise.all(files.map(load));
  const listed = loaded.find(({ name }) => /\.jou$/i.test(name));
  if (listed) names = wthor.namesOf(listed.bytes);
  const archive = loaded.find(wthor.isArchive);
  if (archive) return ofArchive(play, archive);
  const [file] = loaded.filter((other) => other !== listed);
  if (file) return ofFile(play, file);
  say(`${plural(names.length, "player name")} loaded for the next .wtb file`, "note");
  return null;
}

/** Returns the game of a file, whose beginning the server unpacks and decodes. */
function ofFile(play, { name, type, bytes }) {
  if (type.startsWith("image/")) {
    const advice = "to enter the position that it shows, use “Edit…”";
    throw new api.Failure(`${name} is a picture, not a game; ${advice}`);
  }
  const beginning = bytes.subarray(0, play.settings.max_file);
  return ofSource(play, { name: name.slice(-300), content: base64(beginning) }, name);
}

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += PART) {
    text += String.fromCharCode(...bytes.subarray(at, at + PART));
  }
  return btoa(text);
}

async function ofArchive(play, { name, bytes }) {
  const { games, total, leftOut } = wthor.gamesOf(bytes, names);
  if (!games.length) throw new api.Failure(`${name} is damaged: ${leftOut || "no game is in it"}`);
  const others = leftOut ? `; left out: ${leftOut}` : "";
  const hint = names.length ? "" : "; also open WTH.JOU for the names";
  const titles = games.map(wthor.titleOf);
  const index =
    games.length === 1 ? 0 : await choose(`${games.length} games in ${name}${hint}${others}`, titles);
  if (index === null) return null;
  const game = await api.read("othello8", { text: wthor.textOf(games[index]) });
  const place = `game ${games[index].number} of ${total} in ${name}`;
  const note = [place, game.note, leftOut && `left out: ${leftOut}`].filter(Boolean);
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
