// WTHOR, the archive of the French federation, which is too large for the server's requests: games
// of a .wtb file, and names of the .JOU file. azo/formats/wthor.py describes the format.

import { square } from "./formatting.js";

const HEADER = 16; // bytes
const RECORD = 68;
const NAME = 20;

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Whether bytes are games of WTHOR: the header has their number and the size of the board. */
export function isArchive(bytes) {
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

/** The games of an archive: {black, white, discs, moves}, with "" for unknown names. */
export function gamesOf(bytes, names) {
  const view = viewOf(bytes);
  const games = [];
  for (let at = HEADER; at < bytes.length; at += RECORD) {
    const [black, white] = [2, 4].map((place) => names[view.getInt16(at + place, true)] ?? "");
    const bytesOfMoves = [...bytes.subarray(at + 8, at + RECORD)].filter((byte) => byte > 0);
    const moves = bytesOfMoves.map((byte) => square(Math.floor(byte / 10) - 1, (byte % 10) - 1));
    games.push({ black, white, discs: bytes[at + 6], moves });
  }
  return games;
}

/** A game as a line of a list. */
export function titleOf({ black, white, discs, moves }) {
  const players = black || white ? `${black || "?"} – ${white || "?"}, ` : "";
  return `${players}${discs}-${64 - discs}, ${moves.slice(0, 6).join(" ")} …`;
}

/** A game as a text that the server reads. */
export const textOf = ({ black, white, moves }) =>
  `black: ${black}\nwhite: ${white}\nmoves: ${moves.join("")}`;
