// Shows a `Play` on the page.

import { capital, count, finalScore, forBlack, other, outcome, ownResult, percent, worthOf } from "./formatting.js";
import { lesson } from "./lessons.js";
import { loss, movesOf } from "./losses.js";
import { showSummary } from "./moves.js";
import { openingName } from "./openings.js";
import { difficulty } from "./people.js";
import { showReasons, showReport, write } from "./panels.js";
import { showSeconds } from "./stopwatch.js";

const COLD = 8; // a move this many discs worse than the best has no colour
const ARROWS = 3; // lines that are drawn
const ARROW_MOVES = [3, 2, 2]; // of each

const byId = (id) => document.getElementById(id);

/** Shows the state of the page. */
export function render(play, { board, graph, moves }) {
  const { cursor, line, task } = play;
  showPlayers(play);
  showBoard(play, board);
  write(byId("status"), status(play));
  const mistake = lessonOf(play);
  write(byId("lesson"), mistake?.text ?? "");
  showReasons(mistake ? [...play.lessons.reasons(cursor), ...peopleWords(play)] : []);
  showSeconds(task?.kind === "play" ? task : null);
  showReport(play, task?.position === cursor);
  moves.show(play);
  showSummary(play);
  write(byId("opening"), openingName(cursor.path));
  write(byId("title"), play.title);
  const variation = play.isInVariation ? cursor.line.slice(cursor.branch.ply) : [];
  const length = line.at(-1).isOver ? line.length - 1 : cursor.board.length - 4;
  const point = (position, report) => pointOf(position, report, play.isReversed);
  graph.show({
    points: line.map((position) => point(position, position.report)),
    variation: variation.map((position) => point(position, position.outlook)),
    branch: cursor.branch.ply,
    cursor: cursor.ply,
    length,
  });
  showButtons(play);
}

/** How often people play the move that led to the position on the board. */
function peopleWords({ cursor, isReversed, rating, settings }) {
  const { move, parent } = cursor;
  const report = { ...parent.report, moves: movesOf(parent, isReversed) };
  const known = difficulty(report, move, rating, settings.people);
  if (!known) return [];
  const [played, missed] = [known.played, known.missed].map(percent);
  return [`${played} of players rated ${rating} play it, and ${missed} lose 2 discs or more here.`];
}

function showPlayers(play) {
  const number = count(play.cursor.board);
  const { level, settings } = play;
  const likePeople = `like players rated ${String(level).slice("human:".length)}`;
  const strength = settings.levels[level - 1] ? `${level} ${settings.levels[level - 1]}` : likePeople;
  for (const colour of ["black", "white"]) {
    const element = byId(colour);
    element.querySelector(".count").textContent = number[colour];
    const who = play.isHuman(colour) ? "You" : `azo, ${strength}`;
    const name = play.players[colour] || capital(colour);
    write(element.querySelector(".who"), play.human === "both" ? name : who);
    element.title = play.players[colour] ?? "";
    const isMoving = !play.isOver && play.cursor.mover === colour;
    element.classList.toggle("to-move", isMoving);
    element.classList.toggle("thinking", isMoving && play.task?.kind === "play");
  }
}

function showBoard(play, board) {
  const { cursor, task, isContinuous } = play;
  const { answered } = play.quiz;
  const isMine = play.isHuman(cursor.mover) && task?.kind !== "play";
  const isShown = !cursor.isOver && !play.isSecret;
  board.show({
    board: cursor.board,
    mover: cursor.mover,
    marked: isMine ? cursor.legal.filter((move) => move !== "pass") : [],
    last: cursor.move === "pass" ? null : cursor.move,
    best: answered?.best ?? play.hint ?? null,
    lesson: lessonOf(play),
    map: answered ? lossesOf(answered) : isShown && play.map !== "none" ? mapOf(play) : new Map(),
    arrows: isShown && isContinuous ? arrowsOf(play) : [],
  });
}

/** What to say about the move that led to the position on the board, if it is a mistake. */
function lessonOf({ cursor, lessons, isReversed, isPlaying, isAtEnd }) {
  const isToMove = isPlaying && isAtEnd; // azo's mistake would show what to play
  return lessons.isSecret || isToMove ? null : lesson(cursor, isReversed);
}

/** The best lines; the best one is the longest. */
function arrowsOf({ cursor: { report } }) {
  const lines = report?.moves.slice(0, ARROWS).filter(({ discs: known }) => known !== null) ?? [];
  return lines.map(({ line }, rank) => ({ moves: line.slice(0, ARROW_MOVES[rank]), rank }));
}

const heatOf = (loss) => Math.max(0, 1 - loss / COLD);

/** What each move of an answered card loses. */
function lossesOf({ losses }) {
  const text = (loss) => (loss < 0.5 ? "0" : `−${Math.round(loss)}`);
  const shown = ([move, loss]) => [move, { heat: heatOf(loss), text: text(loss) }];
  return new Map(Object.entries(losses).map(shown));
}

/** Text and colour of each square. */
function mapOf({ cursor, map: kind, isReversed }) {
  const map = new Map();
  const report = cursor.outlook;
  if (!report) return map;
  const moves = report === cursor.report ? movesOf(cursor, isReversed) : report.moves;
  const worth = (move) => (isReversed ? -1 : 1) * (move.discs ?? -Infinity);
  const total = moves.reduce((sum, move) => sum + move.visits, 0);
  const isSolved = report.score !== null;
  const known = moves.filter((move) => !isSolved || move.score !== null);
  const best = Math.max(...known.map(worth));
  for (const each of moves) {
    const { move, prior, visits } = each;
    const isBound = isSolved && each.score === null;
    if (move === "pass") continue;
    if (kind === "prior" && prior !== null) map.set(move, { heat: prior, text: percent(prior) });
    // A solved position has few visits, so the map shows its scores.
    else if (kind === "visits" && !isSolved && total > 0) {
      map.set(move, { heat: visits / total, text: String(visits) });
    } else if (each.discs !== null || isBound) {
      const heat = isBound ? 0 : heatOf(best - worth(each));
      const text = worthOf(each, report, isReversed).replace("~", ""); // the headline says it
      map.set(move, { heat, text });
    }
  }
  return map;
}

function pointOf(position, report, isReversed) {
  if (!report) return null;
  const { move, ply } = position;
  const mark = ply ? loss(position, isReversed)?.mark ?? "" : "";
  const name = ply ? `${ply} ${move}${mark}` : "start";
  return { name, mark, ...forBlack(position, report, isReversed) };
}

function status(play) {
  const { task, cursor, isOver, isAtEnd, isReversed } = play;
  const mover = capital(cursor.mover);
  const { resigned } = cursor;
  if (play.quiz.card) return play.quiz.words;
  if (resigned) {
    const who = resigned === play.ownSide ? "You" : capital(resigned);
    return `${who} resigned: ${other(resigned)} wins`;
  }
  if (isOver) return ownOutcome(play) + outcome(cursor, isReversed);
  if (play.lessons.isSecret) return `Find a better move than ${play.lessons.retried.move}`;
  const rule = isReversed && cursor.ply === 0 ? "; fewer discs win" : "";
  if (task?.kind === "play") return `${mover}: azo is thinking…`;
  if (!isAtEnd && !play.isOpen(cursor)) {
    const { branch } = cursor;
    if (play.isInVariation) return `Instead of move ${branch.ply + 1}, ${branch.next.move}: ${mover} to move`;
    return `After move ${cursor.ply} of ${play.line.length - 1}: ${mover} to move`;
  }
  if (play.isAzosTurn && play.isPaused) return `${mover}: azo waits; “Go on” lets it move`;
  if (play.mustPass) return `${mover} has no move and passes`;
  if (play.isAzosTurn) return `${mover}: azo is thinking…`;
  return play.human === "both" ? `${mover} to move${rule}` : `Your move: ${cursor.mover}${rule}`;
}

/** What the end of a game is for the player, "" if the player has no side. */
export function ownOutcome({ cursor, ownSide, isReversed }) {
  return ownSide ? `${ownResult(finalScore(cursor.board), ownSide, isReversed)}: ` : "";
}

function showButtons(play) {
  const { cursor, isAtEnd, isOver, task, line } = play;
  const isThinking = task?.kind === "play";
  byId("first").disabled = byId("back").disabled = cursor.ply === 0;
  byId("last").disabled = byId("forward").disabled = isAtEnd;
  byId("resign").hidden = !play.canResign;
  byId("variation-buttons").hidden = !play.isInVariation;
  byId("undo").disabled = cursor.ply === 0 && !cursor.resigned;
  byId("rematch").hidden = !(play.ownSide && line.at(-1).isEnd && cursor === line.at(-1));
  const likePeople = byId("level").querySelector("optgroup");
  likePeople.hidden = likePeople.disabled = !play.hasPeople;
  const { card, isAsking } = play.quiz;
  byId("watch").disabled = isAsking;
  byId("guess").hidden = card !== null || byId("summary").hidden;
  byId("hint").disabled = isOver || isThinking;
  byId("go").disabled = isOver;
  byId("practice-buttons").hidden = !card;
  byId("turn-buttons").hidden = card !== null;
  byId("play-out").hidden = isAsking;
  write(byId("go-on"), isAsking ? "Show answer" : "Next position");
  const kept = play.practice.mistakes.length;
  byId("keep-mistakes").hidden = !kept || card !== null;
  const isWaiting = play.isAzosTurn && play.isPaused;
  const isMoving = isThinking || (play.isAzosTurn && !play.isPaused);
  write(byId("go"), isMoving ? "Move now" : isWaiting ? "Go on" : "azo moves");
  byId("pause").hidden = play.human !== "none" || !isMoving;
  const hasMoves = line.length > 1;
  for (const id of ["copy", "link", "save-text", "save-ggf"]) byId(id).disabled = !hasMoves;
  byId("moves-card").classList.toggle("empty", !hasMoves);
  byId("game-card").classList.toggle("empty", !line.some(({ searched }) => searched));
  byId("watch").setAttribute("aria-pressed", play.isContinuous);
  write(byId("solve"), task?.kind === "solve" ? "Stop" : "Solve");
  byId("solve").disabled = isAsking || isOver || cursor.searched?.score != null;
  byId("detailed").setAttribute("aria-pressed", play.isDetailed);
  document.documentElement.classList.toggle("detailed", play.isDetailed);
  const isAnalysing = task?.kind === "analyse";
  const progress = `Stop (${task?.position.ply} of ${line.length - 1})`;
  byId("analyse").textContent = isAnalysing ? progress : "Analyse game";
  byId("human").value = play.human;
  byId("level").value = play.level;
  byId("game").value = play.game;
  byId("network").textContent = `network: ${play.info.network}`;
  document.querySelector(`[name=map][value=${play.map}]`).checked = true;
}
