// Starts the page, and connects buttons, keys, dialogs and dropped files with the game.

import * as api from "./api.js";
import { Board } from "./board.js";
import { Graph } from "./graph.js";
import { Play } from "./play.js";
import { render } from "./view.js";

const MAPS = ["none", "prior", "visits", "value"];
const STORE = "azo";

const byId = (id) => document.getElementById(id);

function say(text, id = "message") {
  byId(id).textContent = text;
  byId(id).hidden = text === "";
}

/** Saves the game and the choices for a reload of the tab. */
function save({ game: { game, start, moves }, human, level, map, strength }) {
  const state = { game, start, moves, human, level, map, strength };
  sessionStorage.setItem(STORE, JSON.stringify(state));
}

function saved() {
  try {
    return JSON.parse(sessionStorage.getItem(STORE)) ?? {};
  } catch {
    return {};
  }
}

function fillChoices({ games, levels }) {
  byId("level").replaceChildren(
    ...levels.map((name, index) => new Option(`${index + 1} ${name}`, index + 1)),
  );
  const title = ({ size, is_reversed: isReversed }) =>
    `${size} × ${size}${isReversed ? " reversed" : ""}`;
  byId("game").replaceChildren(...games.map((info) => new Option(title(info), info.name)));
  byId("game").disabled = games.length === 1;
}

function connect(play) {
  const actions = {
    new: () => play.start(play.game.game),
    open: () => byId("open-dialog").showModal(),
    help: () => byId("help-dialog").showModal(),
    theme: switchTheme,
    first: () => play.goTo(0),
    back: () => play.goTo(play.cursor - 1),
    forward: () => play.goTo(play.cursor + 1),
    last: () => play.goTo(play.game.moves.length),
    undo: () => play.undo(),
    hint: () => play.showHint(),
    pause: () => play.pause(),
    go: () => play.go(),
    former: () => play.swapFormer(),
    analyse: () => play.analyse(),
    copy: () => copy(play),
  };
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
  const choices = { human: String, level: Number, strength: Number };
  for (const [id, kind] of Object.entries(choices)) {
    byId(id).addEventListener("change", (event) => play.change(id, kind(event.target.value)));
  }
  byId("game").addEventListener("change", (event) => play.start(event.target.value));
  byId("map").addEventListener("change", (event) => play.change("map", event.target.value));
  byId("moves").addEventListener("click", (event) => {
    const item = event.target.closest("li");
    if (item) play.goTo([...item.parentNode.children].indexOf(item) + 1);
  });
  connectKeys(play, actions);
  connectOpening(play);
}

function connectKeys(play, actions) {
  const nextMap = () => play.change("map", MAPS[(MAPS.indexOf(play.map) + 1) % MAPS.length]);
  const keys = {
    ArrowLeft: actions.back,
    ArrowRight: actions.forward,
    PageUp: actions.back,
    PageDown: actions.forward,
    Home: actions.first,
    End: actions.last,
    u: actions.undo,
    h: actions.hint,
    g: actions.go,
    a: actions.analyse,
    m: nextMap,
    n: actions.new,
    o: actions.open,
    "?": actions.help,
  };
  document.addEventListener("keydown", (event) => {
    const isElsewhere =
      event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]");
    const isTyping = event.target.matches("select, textarea");
    const isChoosing = event.target.matches("input") && event.key.startsWith("Arrow");
    if (isElsewhere || isTyping || isChoosing) return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function connectOpening(play) {
  /** Opens a text and returns whether it could; `place` is the element for the error. */
  const read = async (text, place = "message") => {
    const most = play.settings.max_text;
    try {
      if (text.length > most) throw new api.Failure(`Too long: the limit is ${most} characters`);
      await play.open(text);
      return true;
    } catch (error) {
      if (!(error instanceof api.Failure)) throw error;
      say(error.message, place);
      return false;
    }
  };
  const openFile = async (file) => {
    const isTooLarge = file.size > 4 * play.settings.max_text;
    if (isTooLarge) say(`${file.name} is too large for a game`);
    else await read(await file.text());
  };
  byId("read").addEventListener("click", async () => {
    say("", "open-error");
    if (await read(byId("text").value, "open-error")) byId("open-dialog").close();
  });
  byId("choose-file").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    byId("open-dialog").close();
    if (file) await openFile(file);
    event.target.value = "";
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) await openFile(file);
    else await read(event.dataTransfer.getData("text/plain"));
  });
  document.addEventListener("paste", async (event) => {
    if (event.target.matches?.("textarea, input")) return;
    const text = event.clipboardData.getData("text/plain");
    if (text.trim()) await read(text);
  });
}

async function copy({ game }) {
  const text = game.moves.map((move) => move.slice(0, 2)).join("");
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
  } catch {
    say(text); // browsers allow the clipboard only for secure origins
  }
}

function switchTheme() {
  const root = document.documentElement;
  const isDark =
    root.dataset.theme === "dark" ||
    (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  setTheme(isDark ? "light" : "dark");
  localStorage.setItem(`${STORE}-theme`, root.dataset.theme);
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

async function start() {
  setTheme(localStorage.getItem(`${STORE}-theme`));
  const settings = await api.settings();
  fillChoices(settings);
  const before = saved();
  let play = null;
  const board = new Board(byId("board"), (square) => play.choose(square));
  const graph = new Graph(byId("graph"), (ply) => play.goTo(ply));
  play = new Play(
    settings,
    () => {
      render(play, board, graph);
      save(play);
    },
    say,
  );
  for (const name of ["human", "level", "map", "strength"]) play[name] = before[name] ?? play[name];
  byId("strength").value = play.strength;
  connect(play);
  const isOffered = settings.games.some((info) => info.name === before.game);
  const fresh = () => play.start(settings.games[0].name);
  await (isOffered ? play.resume(before).catch(fresh) : fresh());
}

start().catch((error) => say(error.message));
