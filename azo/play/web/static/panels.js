// The report of a position, and the list of moves.

import { capital, headline, outcome, percent, share, signed, winner } from "./formatting.js";

const ROWS = 6;
const LINE_MOVES = 8;
const MISTAKES = [[0.4, "??"], [0.2, "?"], [0.1, "?!"]]; // least loss, as a share of the points

const byId = (id) => document.getElementById(id);

/** Shows a report, or a note if there is none. */
export function showReport(report, ply, { isReversed, isThinking }) {
  if (report === undefined) {
    const advice = isThinking ? "" : "A hint or a map on the board starts a search.";
    showSummary(isThinking ? "…" : "Not searched yet", advice);
    showRows([]);
    return;
  }
  showSummary(headline(report, ply, isReversed), details(report, ply), blackShare(report, ply));
  const most = Math.max(1, ...report.moves.map((move) => move.visits));
  showRows(
    report.moves.slice(0, ROWS).map((move) => row(move, most, move.move === report.move)),
  );
}

/** Shows the result of a game; `report` holds its value. */
export function showResult(report, ply, text) {
  showSummary(text, "", blackShare(report, ply));
  showRows([]);
}

function showSummary(headline, details, black = null) {
  byId("headline").textContent = headline;
  byId("details").textContent = details;
  byId("share").classList.toggle("unknown", black === null);
  byId("share").style.setProperty("--black", black ?? 0.5);
}

const blackShare = ({ value }, { mover }) => share(mover === "black" ? value : -value);

/** Always shows the same number of rows, so that the page does not jump. */
function showRows(rows) {
  const body = byId("lines").tBodies[0];
  body.replaceChildren(...rows);
  while (body.rows.length < ROWS) body.insertRow().insertCell().colSpan = 5;
}

function details(report, ply) {
  const visits = report.moves.reduce((sum, move) => sum + move.visits, 0);
  const alone = `network alone ${percent(share(report.raw_value))} for ${ply.mover}`;
  const how = {
    exact: "solved to the end",
    forced: "the only move",
    book: "from the opening book",
    search: `${visits.toLocaleString("en")} simulations`,
  }[report.source];
  return `${how} in ${report.seconds.toFixed(1)} s, ${alone}`;
}

function row(move, most, isChosen) {
  const line = document.createElement("tr");
  line.classList.toggle("chosen", isChosen);
  const value = move.value === null ? "–" : percent(share(move.value));
  const cells = [
    move.move,
    move.score === null ? value : signed(move.score),
    move.visits.toLocaleString("en"),
    percent(move.prior),
    move.line.slice(1, LINE_MOVES).join(" "),
  ];
  for (const text of cells) {
    const cell = document.createElement("td");
    cell.textContent = text;
    line.append(cell);
  }
  line.cells[2].style.setProperty("--part", move.visits / most);
  return line;
}

/** Shows the moves. Buttons are reused, because one may have the focus or be pressed. */
export function showMoves({ moves, plies }, cursor, reports) {
  const list = byId("moves");
  while (list.children.length > moves.length) list.lastChild.remove();
  while (list.children.length < moves.length) {
    list.append(document.createElement("li"));
    list.lastChild.append(document.createElement("button"));
  }
  moves.forEach((move, index) => {
    const button = list.children[index].firstChild;
    const { mark, loss } = mistake(move, reports[index], reports[index + 1]);
    button.className = plies[index].mover;
    button.classList.toggle("mistake", mark !== "");
    button.title = loss;
    write(button, `${move}${mark}`);
    if (index + 1 === cursor) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  if (list.dataset.cursor === String(cursor)) return;
  list.dataset.cursor = cursor;
  const current = list.children[Math.max(cursor - 1, 0)];
  // Scrolls only the list, not the page.
  if (current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
}

/** Changes a text only if it differs, since screen readers read every change. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The mark and the loss of a move, if both positions were searched. */
function mistake(move, before, after) {
  const none = { mark: "", loss: "" };
  if (!before || !after || move === before.move) return none;
  const lost = share(before.value) - (1 - share(after.value));
  const mark = MISTAKES.find(([least]) => lost >= least)?.[1] ?? "";
  const isSolved = before.score !== null && after.score !== null;
  const discs = isSolved ? `, ${Math.abs(before.score + after.score)} discs` : "";
  return { mark, loss: lost > 0 ? `lost ${percent(lost)}${discs}; ${before.move} was best` : "" };
}

/** The result of a finished game; the winner's discs come first. */
export function result(game, isReversed) {
  const squares = game.plies.at(-1).board.length;
  const black = (squares + game.margin) / 2;
  const discs = [black, squares - black];
  if (winner(game.margin, isReversed) === "white") discs.reverse();
  return `${capital(outcome(game.margin, isReversed))}: ${discs.join(" to ")}`;
}
