// Numbers, moves and results as text.

export const other = (colour) => (colour === "black" ? "white" : "black");

export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A value in [-1, 1] as a share of the points. */
export const share = (value) => (1 + value) / 2;

export const percent = (fraction) => `${Math.round(100 * fraction)}%`;

export const signed = (score) => (score > 0 ? `+${score}` : score < 0 ? `−${-score}` : "0");

/** The square of a move such as "f5" as [row, column]. */
export const place = (move) => [Number(move[1]) - 1, move.charCodeAt(0) - 97];

export const square = (row, column) => String.fromCharCode(97 + column) + (row + 1);

/** Discs of black and of white on a board. */
export function discs(board) {
  const count = (character) => board.split(character).length - 1;
  return { black: count("X"), white: count("O") };
}

/** The winner for a margin of black's discs; null for a draw. */
export function winner(margin, isReversed) {
  if (margin === 0) return null;
  return margin > 0 !== isReversed ? "black" : "white";
}

/** The result for a final margin of black's discs. */
export function outcome(margin, isReversed) {
  const who = winner(margin, isReversed);
  if (who === null) return "draw";
  const by = Math.abs(margin);
  return isReversed ? `${who} wins with ${by} fewer` : `${who} wins by ${by}`;
}

/** Legal moves as text. */
export function alternatives(moves) {
  if (moves.length < 2) return moves.join("");
  return `${moves.slice(0, -1).join(", ")} or ${moves.at(-1)}`;
}

/** A report in one line. */
export function headline(report, ply, isReversed) {
  const sign = ply.mover === "black" ? 1 : -1;
  if (report.score !== null) {
    return `${capital(outcome(sign * report.score, isReversed))}, exact`;
  }
  const black = share(sign * report.value);
  return black >= 0.5 ? `Black ${percent(black)}` : `White ${percent(1 - black)}`;
}
