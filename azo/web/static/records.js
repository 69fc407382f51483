// Games as text: transcripts, links and GGF.

const USUAL = "othello8"; // a link without a name

/** The moves of a line as one word; a pass is "pa". */
export const transcript = (moves) => moves.map((move) => move.slice(0, 2)).join("");

/** The part of a link after #: the moves, after the game and the start unless both are usual. */
export function toHash({ game, start, moves }) {
  const parts = [transcript(moves)];
  if (start) parts.unshift(start.replace(" ", ""));
  if (start || game !== USUAL) parts.unshift(game);
  return parts.join(":");
}

/** The game of a link, null without one. */
export function fromHash(hash) {
  const parts = decoded(hash.replace(/^#/, "")).split(":");
  if (parts.length === 1 && !parts[0]) return null;
  const moves = parts.at(-1).match(/..?/g) ?? [];
  const [game, board] = parts.length > 1 ? parts : [USUAL];
  const start = parts.length > 2 ? `${board.slice(0, -1)} ${board.at(-1)}` : null;
  return { game, start, moves };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // such as "%zz", which is no game
  }
}

/** A line as a game in GGF. */
export function toGgf(line, { size, isReversed, black, white, score }) {
  const name = (text) => text.replaceAll("]", ")");
  const symbols = (text) => text.replaceAll("X", "*");
  const turn = { black: "*", white: "O" }[line[0].mover];
  const properties = [
    ["GM", "Othello"],
    ["PC", "azo"],
    ["DT", new Date().toISOString().slice(0, 10)],
    ["PB", name(black)],
    ["PW", name(white)],
    ["RE", score === null ? "?" : `${score > 0 ? "+" : ""}${score}`],
    ["TY", `${size}${isReversed ? "a" : ""}`],
    ["BO", `${size} ${symbols(line[0].board)} ${turn}`],
    ...line.slice(1).map(({ parent, move }) => [
      parent.mover === "black" ? "B" : "W",
      move.slice(0, 2).toUpperCase(),
    ]),
  ];
  return `(;${properties.map(([key, value]) => `${key}[${value}]`).join("")};)\n`;
}

/** Lets the browser save a text as a file. */
export function download(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
