// Numbers, moves and results as text.

export const other = (colour) => (colour === "black" ? "white" : "black");

export const capital = (text) => text[0].toUpperCase() + text.slice(1);

export const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** A value in [-1, 1] as a share of the points. */
export const share = (value) => (1 + value) / 2;

export const percent = (fraction) => `${Math.round(100 * fraction)}%`;

/** A chance of winning; only a certain one is 0 or 100 %. */
export const chance = (fraction) =>
  percent(fraction === 0 || fraction === 1 ? fraction : Math.min(Math.max(fraction, 0.01), 0.99));

const sign = (number) => (number > 0 ? "+" : number < 0 ? "−" : "");

/** Whole discs; halves are rounded away from 0. */
const whole = (number) => Math.sign(number) * Math.round(Math.abs(number)) || 0;

const signed = (number) => `${sign(number)}${Math.abs(number)}`;

/** Whole discs: an exact score, or an expected one with ~. */
export const discs = (expected, score) => (score === null ? `~${signed(whole(expected))}` : signed(score));

/** An expected score, for a sentence. */
export const about = (expected) => `about ${signed(whole(expected))}`;

/** What a move is worth in discs; in a solved position an unsolved move is at most the best. */
export function worthOf(move, report, isReversed) {
  if (report.score !== null && move.score === null) {
    return `${isReversed ? "≥" : "≤"}${discs(null, report.score)}`;
  }
  return move.discs === null ? "–" : discs(move.discs, move.score);
}

/** Whole discs given away; ~ marks an estimate. */
export const lost = ({ discs: number, isExact }) => `${isExact ? "" : "~"}${whole(number)}`;

/** The same with its noun. */
export const lostDiscs = (known) => `${lost(known)} ${whole(known.discs) === 1 ? "disc" : "discs"}`;

/** The square of a move such as "f5" as [row, column]. */
export const place = (move) => [Number(move[1]) - 1, move.charCodeAt(0) - 97];

export const square = (row, column) => String.fromCharCode(97 + column) + (row + 1);

/** Discs of black and of white on a board, and empty squares. */
export function count(board) {
  const number = (character) => board.split(character).length - 1;
  return { black: number("X"), white: number("O"), empty: number("-") };
}

/** Black's final score if the game ends: the side with more discs gets the empty squares. */
export function finalScore(board) {
  const { black, white, empty } = count(board);
  return black - white + Math.sign(black - white) * empty;
}

/** The winner for black's score; null for a draw. */
export function winner(score, isReversed) {
  if (score === 0) return null;
  return score > 0 !== isReversed ? "black" : "white";
}

/** A final score for black as the result, the winner's discs first: "37-27 to white". */
export function result(score, numSquares, isReversed) {
  const black = (numSquares + score) / 2;
  const who = winner(score, isReversed);
  if (who === null) return `${black}-${black}, a draw`;
  const [more, less] = who === "black" ? [black, numSquares - black] : [numSquares - black, black];
  return `${more}-${less} to ${who}`;
}

/** A final score for black as a player sees it who has one side: "You win by 10". */
export function ownResult(score, side, isReversed) {
  const who = winner(score, isReversed);
  if (who === null) return "A draw";
  return `You ${who === side ? "win" : "lose"} by ${Math.abs(score)}`;
}

/** The result of a finished game, with a note if it includes empty squares. */
export function outcome({ board }, isReversed) {
  const { empty } = count(board);
  const note = empty ? `, ${empty} empty ${empty > 1 ? "squares" : "square"} included` : "";
  return result(finalScore(board), board.length, isReversed) + note;
}

/** What a report says for black: expected score, exact score or null, and share of the points. */
export function forBlack({ mover }, report, isReversed) {
  const turn = mover === "black" ? 1 : -1;
  const score = report.score === null ? null : turn * report.score;
  const won = winner(score ?? 0, isReversed);
  const exact = won === null ? 0.5 : won === "black" ? 1 : 0;
  return {
    discs: turn * report.discs,
    score,
    wins: score === null ? share(turn * report.value) : exact,
  };
}

/** Legal moves as text. */
export function alternatives(moves) {
  if (moves.length < 2) return moves.join("");
  return `${moves.slice(0, -1).join(", ")} or ${moves.at(-1)}`;
}

/**
 * A report in one line, as the player of a side sees it, if there is one. A chance of winning is only shown
 * where `isCertain`: people err more than the search.
 */
export function headline(position, report, isReversed, side, isCertain) {
  const { discs: expected, score, wins } = forBlack(position, report, isReversed);
  if (score !== null) {
    const own = side ? `${ownResult(score, side, isReversed)}: ` : "";
    return `${own}${result(score, position.board.length, isReversed)}, exact`;
  }
  const who = expected >= 0 ? "Black" : "White";
  const won = isCertain ? `, wins ${chance(expected >= 0 ? wins : 1 - wins)}` : "";
  if (!side) return `${who} ${about(Math.abs(expected))}${won}`;
  if (whole(expected) === 0) return "Even";
  const isBetter = (side === "black" ? expected : -expected) > 0 !== isReversed;
  return `You are ${isBetter ? "ahead" : "behind"} by about ${whole(Math.abs(expected))}`;
}
