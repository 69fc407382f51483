// Starts the page, and connects buttons, keys, dialogs and dropped files with the game.

import * as api from "./api.js";
import { Board } from "./board.js";
import * as games from "./games.js";
import { Graph } from "./graph.js";
import { MoveList } from "./moves.js";
import { Play } from "./play.js";
import * as records from "./records.js";
import * as storage from "./storage.js";
import { render } from "./view.js";

const MAPS = ["none", "value", "visits", "prior"];
const CHOICES = ["side", "level", "map", "strength"];
const THEME = "azo-theme";
const SAVE_MS = 400;

const byId = (id) => document.getElementById(id);

/** Shows an error, or a note; "" removes it. */
function say(text, kind = "error") {
  const element = byId("message");
  element.textContent = text;
  element.hidden = text === "";
  element.classList.toggle("note", kind === "note");
  element.setAttribute("role", kind === "note" ? "status" : "alert");
}

/** Returns a function that keeps the game for a reload; it writes at most every `SAVE_MS`. */
function keeper(play) {
  let timer = null;
  const keep = () => {
    clearTimeout(timer);
    timer = null;
    if (!play.cursor) return;
    const choices = Object.fromEntries(CHOICES.map((name) => [name, play[name]]));
    storage.keepChoices(choices, play.id);
    if (play.root.children.length) storage.store(games.record(play));
  };
  addEventListener("pagehide", keep);
  play.onLeave = keep;
  return () => {
    const hash = `#${games.hashOf(play)}`;
    if (hash !== location.hash) history.replaceState(null, "", hash);
    timer ??= setTimeout(keep, SAVE_MS);
  };
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
    new: () => play.begin(play.game),
    games: () => games.showGames(play, (stored) => resume(play, stored)),
    open: () => byId("open-dialog").showModal(),
    help: () => byId("help-dialog").showModal(),
    theme: switchTheme,
    first: () => play.goTo(play.root),
    back: () => play.goTo(play.cursor.parent),
    forward: () => play.goTo(play.cursor.next),
    last: () => play.goTo(play.line.at(-1)),
    undo: () => play.undo(),
    hint: () => play.showHint(),
    pause: () => play.pause(),
    go: () => play.go(),
    analyse: () => play.analyse(),
    watch: () => play.watch(),
    "next-mistake": () => play.lessons.step(1),
    "previous-mistake": () => play.lessons.step(-1),
    better: () => play.lessons.showBetter(),
    retry: () => play.lessons.retry(),
    copy: () => copy(records.transcript(play.line.at(-1).moves)),
    link: () => copy(`${location.href.split("#")[0]}#${games.hashOf(play)}`),
    "save-text": () => games.saveAs(play, "txt"),
    "save-ggf": () => games.saveAs(play, "ggf"),
  };
  for (const [id, action] of Object.entries(actions)) {
    if (play.settings.analysed && byId(id).closest(".online")) delete actions[id];
    else byId(id).addEventListener("click", action);
  }
  const choices = { human: String, level: Number, strength: Number };
  for (const [id, kind] of Object.entries(choices)) {
    byId(id).addEventListener("change", (event) => play.change(id, kind(event.target.value)));
  }
  byId("game").addEventListener("change", (event) => play.begin(event.target.value));
  byId("map").addEventListener("change", (event) => play.change("map", event.target.value));
  byId("mistakes").addEventListener("click", ({ target }) => {
    if (target.dataset.ply) play.goToPly(Number(target.dataset.ply));
  });
  document.addEventListener("visibilitychange", () => {
    if (play.isContinuous && (!play.task || play.task.kind === "watch")) play.proceed();
  });
  connectKeys(play, actions);
  if (!play.settings.analysed) connectOpening(play);
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
    l: actions.watch,
    s: actions.games,
    ".": actions["next-mistake"],
    ",": actions["previous-mistake"],
    b: actions.better,
    r: actions.retry,
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
  /** Opens a text and returns whether it could; `show` gets the error. */
  const read = async (text, show = say) => {
    const most = play.settings.max_text;
    try {
      if (text.length > most) throw new api.Failure(`Too long: the limit is ${most} characters`);
      await play.open(text);
      return true;
    } catch (error) {
      if (!(error instanceof api.Failure)) throw error;
      show(error.message);
      return false;
    }
  };
  const openFile = async (file) => {
    const isTooLarge = file.size > 4 * play.settings.max_text;
    if (isTooLarge) say(`${file.name} is too large for a game`);
    else await read(await file.text());
  };
  byId("read").addEventListener("click", async () => {
    const show = (message) => {
      byId("open-error").textContent = message;
      byId("open-error").hidden = message === "";
    };
    show("");
    if (await read(byId("text").value, show)) byId("open-dialog").close();
  });
  byId("choose-file").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    byId("open-dialog").close();
    if (file) await openFile(file);
    event.target.value = "";
  });
  addEventListener("hashchange", () => {
    const linked = records.fromHash(location.hash);
    if (linked && location.hash !== `#${games.hashOf(play)}`) follow(play, linked);
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

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied", "note");
  } catch {
    say(text, "note"); // browsers allow the clipboard only for secure origins
  }
}

/** Shows a stored game, and returns whether it could. */
function resume(play, stored) {
  const game = games.restored(stored, play.settings);
  if (game) {
    play.resume(game);
    document.querySelector("dialog[open]")?.close();
  }
  return game !== null;
}

async function follow(play, linked) {
  if (play.settings.games.some(({ name }) => name === linked.game)) await play.follow(linked);
  else throw new api.Failure(`no network for ${linked.game}`);
}

function switchTheme() {
  const root = document.documentElement;
  const isDark =
    root.dataset.theme === "dark" ||
    (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  setTheme(isDark ? "light" : "dark");
  localStorage.setItem(THEME, root.dataset.theme);
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

async function start() {
  setTheme(localStorage.getItem(THEME));
  const settings = await api.settings();
  fillChoices(settings);
  let play = null;
  let keep = () => {};
  const view = {
    board: new Board(byId("board"), (square) => play.choose(square)),
    graph: new Graph(byId("graph"), byId("graph-note"), (ply) => play.goToPly(ply)),
    moves: new MoveList(byId("moves"), (position) => play.goTo(position)),
  };
  const show = () => {
    render(play, view);
    keep();
  };
  play = new Play(settings, show, say);
  const choices = settings.analysed ? {} : storage.choices();
  for (const name of CHOICES) play[name] = choices[name] ?? play[name];
  byId("strength").value = play.strength;
  connect(play);
  if (settings.analysed) return play.showAnalysed(settings.analysed);
  await openFirst(play);
  keep = keeper(play);
  keep();
}

/** Shows the game of the tab or of the link, else a new one. */
async function openFirst(play) {
  const linked = records.fromHash(location.hash);
  const id = storage.currentGame();
  const stored = id && games.restored(storage.load(id), play.settings);
  if (stored && (!linked || games.contains(stored, linked))) return play.resume(stored);
  const names = play.settings.games.map((info) => info.name);
  if (!linked?.moves.length && !linked?.start) {
    return play.begin(names.includes(linked?.game) ? linked.game : names[0]);
  }
  try {
    return await follow(play, linked);
  } catch (error) {
    if (!(error instanceof api.Failure)) throw error;
    await play.begin(names[0]);
    return say(error.message);
  }
}

start().catch((error) => say(error.message));
