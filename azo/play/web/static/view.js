// Shows a `Play` on the page.

import { result, showMoves, showResult, showReport, write } from "./panels.js";
import { capital, discs, percent, share, signed } from "./formatting.js";

const COLD = 0.25; // a move worse than the best by this share has no colour

const byId = (id) => document.getElementById(id);

/** Shows the state of the page. */
export function render(play, board, graph) {
  showPlayers(play);
  showBoard(play, board);
  write(byId("status"), status(play));
  const { isOver, cursor, game, info, thinking } = play;
  if (isOver) showResult(play.report(), play.ply, result(game, info.is_reversed));
  else {
    const isThinking = thinking?.ply === cursor && ["play", "advise"].includes(thinking.kind);
    showReport(play.report(), play.ply, { isReversed: info.is_reversed, isThinking });
  }
  const reports = game.plies.map((_, ply) => play.report(ply));
  showMoves(game, cursor, reports);
  const squares = game.plies[0].board.length;
  graph.show(reports.map(point(game)), cursor, game.is_over ? game.moves.length : squares - 4);
  showButtons(play);
}

function showPlayers(play) {
  const count = discs(play.ply.board);
  const level = play.settings.levels[play.level - 1];
  for (const colour of ["black", "white"]) {
    const element = byId(colour);
    element.querySelector(".count").textContent = count[colour];
    const who = play.isHuman(colour) ? "You" : `azo, ${level}`;
    element.querySelector(".who").textContent = play.human === "both" ? capital(colour) : who;
    element.classList.toggle("to-move", !play.isOver && play.ply.mover === colour);
  }
}

function showBoard(play, board) {
  const { ply, game, cursor, thinking } = play;
  const isMine = play.isHuman(ply.mover) && thinking?.kind !== "play";
  const before = game.moves[cursor - 1];
  board.show({
    board: ply.board,
    mover: ply.mover,
    marked: isMine ? ply.legal.filter((move) => move !== "pass") : [],
    last: before === "pass" ? null : before,
    best: play.hint ?? null,
    map: play.map === "none" || play.isOver ? new Map() : mapOf(play),
  });
}

/** Text and colour of each square. */
function mapOf(play) {
  const map = new Map();
  const report = play.report();
  if (!report) return map;
  const kind = play.map;
  const sign = play.info.is_reversed ? -1 : 1;
  const worth = ({ value, score }) =>
    share(score === null ? value ?? -1 : (sign * score) / play.ply.board.length);
  const total = report.moves.reduce((sum, move) => sum + move.visits, 0);
  const best = Math.max(...report.moves.map(worth));
  for (const { move, prior, visits, value, score } of report.moves) {
    if (move === "pass") continue;
    if (kind === "prior") map.set(move, { heat: prior, text: percent(prior) });
    // A solved position has few visits, so the map shows its scores.
    else if (kind === "visits" && score === null && total > 0) {
      map.set(move, { heat: visits / total, text: String(visits) });
    } else if (score !== null || value !== null) {
      const heat = Math.max(0, 1 - (best - worth({ value, score })) / COLD);
      map.set(move, { heat, text: score === null ? percent(share(value)) : signed(score) });
    }
  }
  return map;
}

function point({ plies }) {
  return (report, ply) => {
    if (!report) return null;
    const value = plies[ply].mover === "black" ? report.value : -report.value;
    return { black: share(value), isExact: report.score !== null };
  };
}

function status(play) {
  const { thinking, ply, isOver, isAtEnd, cursor, game, info } = play;
  const mover = capital(ply.mover);
  if (isOver) return result(game, info.is_reversed);
  const rule = info.is_reversed && cursor === 0 ? "; fewer discs win" : "";
  if (thinking?.kind === "play") return `${mover}: azo is thinking…`;
  if (!isAtEnd) return `After move ${cursor} of ${game.moves.length}: ${mover} to move`;
  if (play.isAzosTurn && play.isPaused) return `${mover}: azo waits; “Go on” lets it move`;
  if (play.isAzosTurn) return `${mover}: azo is thinking…`;
  if (ply.legal[0] === "pass") return `${mover} has no move and passes`;
  return play.human === "both" ? `${mover} to move${rule}` : `Your move: ${ply.mover}${rule}`;
}

function showButtons(play) {
  const { cursor, game, isAtEnd, isOver, thinking } = play;
  const isThinking = thinking?.kind === "play";
  byId("first").disabled = byId("back").disabled = cursor === 0;
  byId("last").disabled = byId("forward").disabled = isAtEnd;
  byId("undo").disabled = cursor === 0;
  byId("hint").disabled = isOver || isThinking;
  byId("go").disabled = isOver;
  const isWaiting = play.isAzosTurn && play.isPaused;
  const isMoving = isThinking || (play.isAzosTurn && !play.isPaused);
  write(byId("go"), isMoving ? "Move now" : isWaiting ? "Go on" : "azo moves");
  byId("pause").hidden = play.human !== "none" || !isMoving;
  byId("former").hidden = play.former === null;
  byId("copy").disabled = game.moves.length === 0;
  const isAnalysing = thinking?.kind === "analyse";
  const progress = `Stop (${thinking?.ply} of ${game.moves.length})`;
  byId("analyse").textContent = isAnalysing ? progress : "Analyse game";
  byId("human").value = play.human;
  byId("level").value = play.level;
  byId("game").value = game.game;
  byId("network").textContent = `network: ${play.info.network}`;
  document.querySelector(`[name=map][value=${play.map}]`).checked = true;
}
