// WTHOR, the archive of the French federation, which is too large for the server's requests: games
// of a .wtb file, and names of the .JOU file. azo/formats/wthor.py describes the format.

import { plural, square } from "./formatting.js";

const HEADER = 16; // bytes
const RECORD = 68;
const NAME = 20;
const MOST_REASONS = 3;

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Whether a file has games of WTHOR: by its name, or by the number of games in its header. */
export function isArchive({ name, bytes }) {
  if (/\.wtb$/i.test(name)) return true;
  if (bytes.length < HEADER + RECORD || ![0, 8].includes(bytes[12])) return false;
  return viewOf(bytes).getInt32(4, true) * RECORD === bytes.length - HEADER;
}

/** The names of a .JOU file; the number of a player is the place in it. */
export function namesOf(bytes) {
  const decoder = new TextDecoder("windows-1252");
  const names = [];
  for (let at = HEADER; at + NAME <= bytes.length; at += NAME) {
    names.push(decoder.decode(bytes.subarray(at, at + NAME)).replace(/\0.*/s, "").trim());
  }
  return names;
}

/**
 * The games of an archive, {number, black, white, discs, moves} with "" for unknown names, and what
 * is left out: records with a byte that is no square, and those that are missing.
 */
export function gamesOf(bytes, names) {
  const view = viewOf(bytes);
  if (bytes.length < HEADER) return { games: [], total: 0, leftOut: "the header is cut short" };
  const games = [];
  const problems = [];
  let number = 0;
  for (let at = HEADER; at + RECORD <= bytes.length; at += RECORD) {
    number += 1;
    const [black, white] = [2, 4].map((place) => names[view.getInt16(at + place, true)] ?? "");
    const bytesOfMoves = [...bytes.subarray(at + 8, at + RECORD)].filter((byte) => byte > 0);
    const bad = bytesOfMoves.find((byte) => byte > 88 || byte < 11 || byte % 10 < 1 || byte % 10 > 8);
    if (bad || !bytesOfMoves.length) {
      problems.push(`game ${number}: ${bad ? `byte ${bad} is not a square` : "no moves"}`);
      continue;
    }
    const moves = bytesOfMoves.map((byte) => square(Math.floor(byte / 10) - 1, (byte % 10) - 1));
    games.push({ number, black, white, discs: bytes[at + 6], moves });
  }
  const announced = view.getInt32(4, true);
  if (announced !== number) problems.push(`the header says ${plural(announced, "game")}, but ${number} ${number === 1 ? "follows" : "follow"}`);
  else if ((bytes.length - HEADER) % RECORD) problems.push("the last game is cut short");
  const more = problems.length > MOST_REASONS ? [`and ${problems.length - MOST_REASONS} more`] : [];
  return { games, total: number, leftOut: [...problems.slice(0, MOST_REASONS), ...more].join("; ") };
}

/** A game as a line of a list. */
export function titleOf({ black, white, discs, moves }) {
  const players = black || white ? `${black || "?"} – ${white || "?"}, ` : "";
  return `${players}${discs}-${64 - discs}, ${moves.slice(0, 6).join(" ")} …`;
}

/** A game as a text that the server reads. */
export const textOf = ({ black, white, moves }) =>
  `black: ${black}\nwhite: ${white}\nmoves: ${moves.join("")}`;
