// The report of a position: its headline, its moves, and the bar beside the board.

import {
  about, chance, discs, finalScore, forBlack, headline, ownResult, percent, result, share, worthOf,
} from "./formatting.js";
import { movesOf } from "./losses.js";
import { expectedShare } from "./results.js";
import { quality } from "./tree.js";

const LINE_MOVES = 8;
const MOST_DISCS = 32; // at the ends of the bar

const byId = (id) => document.getElementById(id);

/** Shows the report of a position, or a note if there is none. */
export function showReport(play, isThinking) {
  const { cursor: position, isReversed } = play;
  const report = play.isSecret ? null : position.outlook;
  showBar(report && forBlack(position, report, isReversed), position, isReversed);
  const isHidden = play.isPlaying && play.map === "none"; // the lines show the next moves
  byId("lines-place").hidden = isHidden || !report?.moves.length;
  if (position.isOver) {
    const { board } = position;
    const [score, side] = [finalScore(board), play.ownSide];
    const own = side ? `${ownResult(score, side, isReversed)}: ` : "";
    return showWords(own + result(score, board.length, isReversed), "");
  }
  if (play.lessons.isSecret) return showWords(`A better move than ${play.lessons.retried.move}?`, "");
  const progress = play.task?.kind === "solve" ? solving(play.task.latest, position) : "";
  if (!report) return showWords(progress || (isThinking ? "…" : "Not searched yet"), "");
  const people = progress ? "" : peopleWords(play, report);
  const words = headline(position, report, isReversed, play.ownSide, !play.hasPeople);
  showWords(progress || words, details(report, position), people);
  const moves = report === position.report ? movesOf(position, isReversed) : report.moves;
  const most = Math.max(1, ...moves.map((move) => move.visits));
  return byId("lines").tBodies[0].replaceChildren(
    ...moves.map((move) => row(move, most, report, isReversed)),
  );
}

/** How often people win from here, "" where it is not known. */
function peopleWords({ cursor, game, ownSide, rating, isReversed }, report) {
  const black = forBlack(cursor, report, isReversed);
  const side = ownSide ?? (black.discs >= 0 ? "black" : "white");
  const share = expectedShare(game, cursor.board, side === "black" ? black.discs : -black.discs, rating);
  if (share === null) return "";
  const who = ownSide ? "" : ` as ${side}`;
  return `Players rated ${rating} win about ${chance(share)} from here${who}`;
}

function showWords(text, more, people = "") {
  write(byId("headline"), text);
  write(byId("people"), people);
  write(byId("details"), more);
}

/** Shows what a report says for black: from 32 discs for white to 32 for black. */
function showBar(worth, { board }, isReversed) {
  const bar = byId("bar");
  bar.classList.toggle("unknown", !worth);
  const { discs: expected, score } = worth ?? { discs: 0, score: null };
  const part = 0.5 + Math.max(-1, Math.min(1, expected / MOST_DISCS)) / 2;
  bar.style.setProperty("--black", part);
  bar.classList.toggle("white-ahead", expected < 0);
  byId("bar-text").textContent = worth ? Math.abs(expected).toFixed(0) : "";
  bar.setAttribute("aria-valuemin", -board.length);
  bar.setAttribute("aria-valuemax", board.length);
  bar.setAttribute("aria-valuenow", Math.round(expected));
  const rule = isReversed ? ", fewer discs win" : "";
  const words = worth ? `black ${discs(expected, score)} discs, wins ${chance(worth.wins)}` : "";
  bar.setAttribute("aria-valuetext", words ? words + rule : "not searched");
  bar.title = `Expected final score: ${words || "not searched"}${rule}`;
}

/** The expected score of a position that is being solved. */
function solving(report, position) {
  if (!report) return "Solving…";
  const { discs: expected } = forBlack(position, report, false);
  const who = expected >= 0 ? "Black" : "White";
  return `Solving: probably ${who} ${about(Math.abs(expected))}`;
}

function details(report, { mover }) {
  if (report.source === "line") return `from the line found at move ${report.ply}`;
  const how = {
    exact: "solved to the end",
    forced: "the only move",
    book: "from the opening book",
    people: "a human-like move",
    search: `${quality(report).toLocaleString("en")} simulation${quality(report) === 1 ? "" : "s"}`,
  }[report.source];
  const raw = `network without search ${percent(share(report.raw_value))} for ${mover}`;
  return `${how} in ${report.seconds.toFixed(1)} s, ${raw}`;
}

function row(move, most, report, isReversed) {
  const line = document.createElement("tr");
  line.classList.toggle("chosen", move.move === report.move);
  const isBound = report.score !== null && move.score === null;
  const cells = [
    move.move,
    worthOf(move, report, isReversed),
    move.value === null || isBound ? "–" : chance(share(move.value)),
    move.visits.toLocaleString("en"),
    move.prior === null ? "–" : percent(move.prior),
    move.line.slice(1, LINE_MOVES).join(" "),
  ];
  for (const text of cells) {
    const cell = document.createElement("td");
    cell.textContent = text;
    line.append(cell);
  }
  line.cells[3].style.setProperty("--part", move.visits / most);
  return line;
}

/** Shows why a move is a mistake; nothing without reasons. */
export function showReasons(reasons) {
  const list = byId("reasons");
  list.hidden = byId("why").hidden = !reasons.length;
  const items = reasons.map((text) => Object.assign(document.createElement("li"), { textContent: text }));
  if (list.textContent !== reasons.join("")) list.replaceChildren(...items);
}

/** Changes a text only if it differs, since screen readers read every change. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
