// Names of openings on the usual 8x8 board.
//
// Names and moves are those of Robert Gatliff's catalogue of openings, as WZebra and other programs
// have it; where it gives two names, the first is here. An opening is known by its position, so any
// order of moves and any symmetry of the board counts.

import { boardAfter, firstPly, usualStart } from "./rules.js";

const OPENINGS = `
c4c3 Diagonal
c4c3d3c5b2 X-square
c4c3d3c5b3 Snake
c4c3d3c5b3f3 Lysons
c4c3d3c5b4 Heath
c4c3d3c5b4d2d6 Heath-Bat
c4c3d3c5b4d2e2 Iwasaki
c4c3d3c5b4e3 Heath-Chimney
c4c3d3c5b5 Raccoon Dog
c4c3d3c5b6c6b5 Hamilton
c4c3d3c5b6e3 Lollipop
c4c3d3c5d6 Cow
c4c3d3c5d6e3 Chimney
c4c3d3c5d6f4b4 Cow Bat
c4c3d3c5d6f4f5 Rose-v-Toth
c4c3d3c5d6f4f5d2 Tanida
c4c3d3c5d6f4f5d2b5 Aircraft
c4c3d3c5d6f4f5d2g4d7 Sailboat
c4c3d3c5d6f4f5e6c6d7 Maruoka
c4c3d3c5d6f4f5e6f6 Landau
c4c3d3c5f6 Buffalo
c4c3d3c5f6e2c6 Maruoka Buffalo
c4c3d3c5f6e3c6f5f4g5 Tanida Buffalo
c4c3d3c5f6f5 Hokuriku Buffalo
c4c3e6c5 Wing Variation
c4c3f5c5 Semi-Wing Variation
c4c5 Parallel
c4e3 Perpendicular
c4e3f4c5d6e6 Mimura
c4e3f4c5d6f3c6 Shaman
c4e3f4c5d6f3d3 Inoue
c4e3f4c5d6f3d3c3 Iago
c4e3f4c5d6f3e2 Bhagat
c4e3f4c5d6f3e6c3d3e2 Rose
c4e3f4c5d6f3e6c3d3e2b5 Flat
c4e3f4c5d6f3e6c3d3e2b5f5 Rotating Flat
c4e3f4c5d6f3e6c3d3e2b6f5 Rose-Birth
c4e3f4c5d6f3e6c3d3e2b6f5b4f6g5d7 Brightstein
c4e3f4c5d6f3e6c3d3e2b6f5g5 Rose-Birdie
c4e3f4c5d6f3e6c3d3e2d2 Greenberg
c4e3f4c5d6f3e6c6 Ralle
c4e3f4c5e6 Horse
c4e3f5b4 No-Cat
c4e3f5b4f3 Swallow
c4e3f5e6d3 Italian
c4e3f5e6f4 Cat
c4e3f5e6f4c5d6c6f7f3 Sakaguchi
c4e3f5e6f4c5d6c6f7g5g6 Berner
c4e3f6b4 Bent Ganglion
c4e3f6e6f5 Tiger
c4e3f6e6f5c5c3 Stephenson
c4e3f6e6f5c5c3b4 No-Kung
c4e3f6e6f5c5c3c6 Comp'Oth
c4e3f6e6f5c5c3g5 Kung
c4e3f6e6f5c5d3 Leader's Tiger
c4e3f6e6f5c5d6 Brightwell
c4e3f6e6f5c5f4g5g4f3c6d3d6 Ishii
c4e3f6e6f5c5f4g6f7 Rose-Bill
c4e3f6e6f5c5f4g6f7d3 Tamenori
c4e3f6e6f5g6 Aubrey`;

const LONGEST = 16; // plies of a named line
const { board: START } = firstPly(usualStart(8));

/** The least of the eight images of a board. */
function canonical(board) {
  const rows = board.match(/.{8}/g).map((row) => [...row]);
  const images = [];
  for (let turn = 0, image = rows; turn < 4; turn += 1) {
    image = image[0].map((_, column) => image.map((row) => row[column]).reverse());
    images.push(image, image.toReversed());
  }
  return images.map((image) => image.flat().join("")).sort()[0];
}

const names = new Map(
  OPENINGS.trim().split("\n").map((line) => {
    const [, moves, name] = line.match(/^(\S+) (.*)$/);
    const after = (board, move, ply) => boardAfter(board, ply % 2 ? "white" : "black", move);
    const board = moves.match(/../g).reduce(after, START);
    return [canonical(board), name];
  }),
);

/** The last opening with a name that a line of positions went through, "" without one. */
export function openingName(line) {
  if (line[0].board !== START) return "";
  return line.slice(0, LONGEST + 1).reduce((name, { board }) => names.get(canonical(board)) ?? name, "");
}
