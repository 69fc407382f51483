// Starts the page, and connects buttons, keys, dialogs and dropped files with the game.

import * as api from "./api.js";
import { Board } from "./board.js";
import * as deck from "./deck.js";
import * as editor from "./editor.js";
import * as games from "./games.js";
import { plural } from "./formatting.js";
import { Graph } from "./graph.js";
import { Guess } from "./guess.js";
import { connectKeys, connectWheel } from "./keys.js";
import * as links from "./links.js";
import * as loader from "./loader.js";
import { MoveList } from "./moves.js";
import { Play } from "./play.js";
import * as records from "./records.js";
import * as storage from "./storage.js";
import { render } from "./view.js";

const CHOICES = ["side", "level", "map", "strength", "isDetailed"];
const TELLING = ["hint", "go", "analyse", "watch", "solve"]; // what shows or plays the best move
const FIRST = "Find the move first, or press “Show answer”";
const THEME = "azo-theme";
const SAVE_MS = 400;
const NOTE_MS = 8000; // a note covers what stands below it

const byId = (id) => document.getElementById(id);

let noteTimer = null;

/** Shows an error, a result, or a note, which vanishes; "" removes it. */
function say(text, kind = "error") {
  clearTimeout(noteTimer);
  if (kind === "note") noteTimer = setTimeout(() => say(""), NOTE_MS);
  const element = byId("message");
  element.textContent = text;
  element.hidden = text === "";
  element.classList.toggle("note", kind !== "error");
  element.setAttribute("role", kind === "error" ? "alert" : "status");
}

/** Returns a function that keeps the game for a reload; it writes at most every `SAVE_MS`. */
function keeper(play) {
  let timer = null;
  const keep = () => {
    clearTimeout(timer);
    timer = null;
    if (!play.cursor || play.quiz.card) return;
    const choices = Object.fromEntries(CHOICES.map((name) => [name, play[name]]));
    storage.keepChoices(choices, { id: play.id, isContinuous: play.isContinuous });
    if (play.root.children.length) storage.store(games.record(play));
  };
  addEventListener("pagehide", keep);
  play.onLeave = keep;
  return () => {
    if (play.quiz.card) return; // a reload shows the game before
    const hash = `#${games.hashOf(play)}`;
    if (hash !== location.hash) history.replaceState(null, "", hash);
    timer ??= setTimeout(keep, SAVE_MS);
  };
}

function fillChoices({ games, levels, people = [] }) {
  const likePeople = document.createElement("optgroup"); // hidden where the board has none
  likePeople.label = "Human-like, learned from games";
  likePeople.append(...people.map((rating) => new Option(`like ${rating}`, `human:${rating}`)));
  byId("level").replaceChildren(
    ...levels.map((name, index) => new Option(`${index + 1} ${name}`, index + 1)),
    likePeople,
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
    edit: () => editor.show(play),
    help: () => byId("help-dialog").showModal(),
    theme: switchTheme,
    first: () => play.goTo(play.root),
    back: () => play.goTo(play.cursor.parent),
    forward: () => play.goTo(play.cursor.next),
    last: () => play.goTo(play.cursor.line.at(-1)),
    undo: () => play.undo(),
    hint: () => play.analysis.showHint(),
    pause: () => play.pause(),
    go: () => play.go(),
    resign: () => play.resign(),
    rematch: () => play.rematch(),
    analyse: () => play.analysis.searchGame(),
    watch: () => play.analysis.watch(),
    solve: () => play.analysis.solve(),
    detailed: () => switchDetails(play),
    "to-game": () => play.goTo(play.cursor.branch),
    keep: () => play.keep(),
    "next-mistake": () => play.lessons.step(1),
    "previous-mistake": () => play.lessons.step(-1),
    better: () => play.lessons.showBetter(),
    retry: () => play.lessons.retry(),
    why: () => byId("reasons").scrollIntoView({ block: "nearest" }),
    "keep-mistakes": () => play.practice.keepMistakes(),
    guess: () => play.quiz.start(new Guess(play)),
    "go-on": () => play.quiz.goOn(),
    "stop-practice": () => play.quiz.stop(),
    "play-out": () => play.quiz.playOut(),
    practise: () => practise(play),
    "add-endings": () => addShipped(play, "endings"),
    "add-openings": () => addShipped(play, "openings"),
    "save-deck": () => records.download(deck.toText(), "azo-deck.json"),
    "load-deck": () => byId("deck-file").click(),
    copy: () => copy({ text: records.transcript(play.line.at(-1).moves), note: "Copied" }),
    link: () => copy(links.linkTo(play)),
    "save-text": () => games.saveAs(play, "txt"),
    "save-ggf": () => games.saveAs(play, "ggf"),
  };
  for (const id of TELLING) {
    const action = actions[id];
    actions[id] = () => (play.quiz.isAsking ? say(FIRST, "note") : action());
  }
  const { analysed, practice } = play.settings;
  const hidden = analysed ? ".online" : practice ? ".online:not(.practice)" : "#none";
  for (const [id, action] of Object.entries(actions)) {
    if (byId(id).closest(hidden)) delete actions[id];
    else byId(id).addEventListener("click", action);
  }
  const choices = { human: String, level: String, strength: Number };
  for (const [id, kind] of Object.entries(choices)) {
    byId(id).addEventListener("change", (event) => play.change(id, kind(event.target.value)));
  }
  byId("game").addEventListener("change", (event) => play.begin(event.target.value));
  byId("map").addEventListener("change", (event) => play.change("map", event.target.value));
  byId("mistakes").addEventListener("click", ({ target }) => {
    if (target.dataset.ply) play.goToPly(Number(target.dataset.ply));
  });
  for (const id of ["moves", "mistakes"]) byId(id).addEventListener("click", reveal);
  document.addEventListener("visibilitychange", () => {
    if (play.isContinuous && (!play.task || play.task.kind === "watch")) play.proceed();
  });
  connectKeys(play, actions);
  connectWheel(byId("board"), actions);
  byId("deck-file").addEventListener("change", ({ target }) => loadDeck(play, target));
  if (analysed || practice) return;
  loader.connect(play, say);
  links.connect(play, say);
  editor.connect(play);
}

async function copy({ text, note }) {
  try {
    await navigator.clipboard.writeText(text);
    say(note, "note");
  } catch {
    say(text, "note"); // browsers allow the clipboard only for secure origins
  }
}

async function addShipped(play, kind) {
  try {
    byId(`add-${kind}`).disabled = !(await play.practice.addShipped(kind));
  } catch (error) {
    if (!(error instanceof api.Failure)) throw error;
    document.querySelector("dialog[open]")?.close();
    say(error.message);
  }
  games.showDue(play);
}

async function loadDeck(play, input) {
  const [file] = input.files;
  const { number, refused, left, problem } = await deck.merge(await file.text(), Date.now());
  input.value = "";
  document.querySelector("dialog[open]")?.close();
  if (problem) return say(`${file.name} is not a deck (${problem}): “Save deck” writes one`);
  const parts = [`${plural(number, "position")} loaded`];
  if (left) parts.push(`no room for ${left}`);
  if (refused.length) parts.push(`refused ${deck.named(refused)}`);
  say(parts.join("; "), refused.length ? "error" : "note");
  return play.render();
}

function practise(play) {
  document.querySelector("dialog[open]")?.close();
  play.quiz.start(play.practice);
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

/** Scrolls the board into view again if a choice below it was made. */
function reveal() {
  if (byId("board").getBoundingClientRect().top < -8) byId("table").scrollIntoView();
}

/** Shows or hides what experts want to see; the map of a player shows discs. */
function switchDetails(play) {
  play.isDetailed = !play.isDetailed;
  const isPlain = play.isDetailed || ["none", "value"].includes(play.map);
  play.change("map", isPlain ? play.map : "value");
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
  deck.listener.onDamage = say;
  const isOffline = settings.analysed || settings.practice;
  const choices = isOffline ? {} : storage.choices();
  for (const name of [...CHOICES, "isContinuous"]) play[name] = choices[name] ?? play[name];
  byId("strength").value = play.strength;
  connect(play);
  if (settings.analysed) return play.showAnalysed(settings.analysed);
  if (settings.practice) return startPractice(play);
  await openFirst(play);
  keep = keeper(play);
  keep();
  deck.cards(); // says whether it is damaged
}

/** Shows a position of the deck; the first deck has some of each kind. */
async function startPractice(play) {
  byId("games").textContent = "Deck";
  if (location.protocol !== "file:") {
    const manifest = { rel: "manifest", href: "manifest.webmanifest" };
    document.head.append(Object.assign(document.createElement("link"), manifest));
    navigator.serviceWorker?.register("worker.js").catch(() => {}); // then the page needs its server
  }
  const kinds = deck.cards().length ? [] : Object.keys(play.settings.practice);
  for (const kind of kinds) await play.practice.addShipped(kind);
  play.side = "both";
  play.begin(play.settings.games[0].name);
  play.quiz.start(play.practice);
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
    return await links.follow(play);
  } catch (error) {
    if (!(error instanceof api.Failure)) throw error;
    play.begin(names[0]);
    return say(error.message);
  }
}

start().catch((error) => say(error.message));
