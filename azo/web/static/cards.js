// Cards of a deck, as a file or the browser's storage has them: only sound ones are taken.
//
// A card has a legal position, its side to move, a best move among the legal ones, and discs that moves
// lose. `azo/coach/deck.py` has the same checks.

import { firstPly, nextPly, usualStart } from "./rules.js";

const GAME = /^othello([468])(-reversed)?$/;
const START = /^([XO-]+) [XO]$/;
const MOVE = /^([a-h][1-8]|pass)$/;
const MOST_MOVES = 128;
const MOST_LOST = 128; // discs, by any move
const MEMORY = { stability: [0.001, 1e6], difficulty: [1, 10], last: [0, 1e14], due: [0, 1e14] };
const DAY = 24 * 60 * 60 * 1000;
const MOST_SHOWN = 60; // characters of a value

class Refused extends Error {}

/**
 * Returns the sound cards of a text and what is wrong with the others; of cards of one position the one
 * with the latest review. A text that is no list in JSON has whole cards too.
 * @param {string} text
 * @param {number} latest reviews after it, in milliseconds, are refused
 * @returns {{cards: object[], refused: string[], problem: string}} `problem`: why it is no list, or ""
 */
export function read(text, latest = Infinity) {
  const { items, problem } = parsed(text);
  const [known, refused] = [new Map(), problem ? [problem] : []];
  items.forEach((item, index) => {
    try {
      const card = checked(item, latest);
      const earlier = known.get(idOf(card));
      if (!earlier || lastTime(card) > lastTime(earlier)) known.set(idOf(card), card);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refused.push(`card ${index + 1}: ${error.message}`);
    }
  });
  return { cards: [...known.values()], refused, problem };
}

export const idOf = ({ game, start, moves }) => [game, start, ...moves].join(" ");

/** When a card was reviewed; -1 before its first review. */
export const lastTime = ({ memory }) => memory?.last ?? -1;

function parsed(text) {
  try {
    const items = JSON.parse(text);
    return Array.isArray(items) ? { items, problem: "" } : { items: [], problem: "not a list of cards" };
  } catch (error) {
    return { items: objects(text), problem: `not JSON: ${error.message}` };
  }
}

/** The objects of a damaged text that are whole. */
function objects(text) {
  const found = [];
  let [depth, start, isText] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (isText) {
      if (sign === "\\") at++;
      else if (sign === '"') isText = false;
    } else if (sign === '"') isText = true;
    else if (sign === "{" && depth++ === 0) start = at;
    else if (sign === "}" && depth > 0 && --depth === 0) {
      try {
        found.push(JSON.parse(text.slice(start, at + 1)));
      } catch {
        // not whole
      }
    }
  }
  return found;
}

/** Returns a card with only the fields of cards, null unless it is sound. */
export function soundOrNull(item) {
  try {
    return checked(item);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return null;
  }
}

/** Returns a card with only the fields of cards; throws `Refused` unless it is sound. */
function checked(item, latest = Infinity) {
  demand(isObject(item), "it", item);
  const { game, start = null, moves, mover, best, losses, isEnding = false, memory = null } = item;
  const size = Number(typeof game === "string" && game.match(GAME)?.[1]);
  demand(size, "game", game);
  const squares = typeof start === "string" && start.match(START)?.[1].length;
  demand(start === null || squares === size * size, "start", start);
  const isMove = (move) => typeof move === "string" && MOVE.test(move);
  demand(Array.isArray(moves) && moves.length <= MOST_MOVES && moves.every(isMove), "moves", moves);
  demand(["black", "white"].includes(mover), "mover", mover);
  demand(isMove(best), "best", best);
  demand(isObject(losses), "losses", losses);
  for (const [move, loss] of Object.entries(losses)) {
    demand(isMove(move), "losses", move);
    demand(isWithin(loss, [0, MOST_LOST]), `losses.${move}`, loss);
  }
  demand(typeof isEnding === "boolean", "isEnding", isEnding);
  const ply = replayed(start ?? usualStart(size), moves);
  if (!ply.legal.length) throw new Refused("the game is over");
  if (ply.legal[0] === "pass") throw new Refused("there is no choice");
  if (ply.mover !== mover) throw new Refused(`mover is ${mover}: ${ply.mover} is to move`);
  const illegal = [best, ...Object.keys(losses)].find((move) => !ply.legal.includes(move));
  if (illegal) throw new Refused(`${illegal} is not legal: ${mover} may play ${ply.legal.join(", ")}`);
  if (!(losses[best] <= Math.min(...Object.values(losses)))) {
    throw new Refused(`best is ${best}: losses have another best move`);
  }
  const kept = memory === null ? null : checkedMemory(memory, latest);
  return { game, start, moves: [...moves], mover, best, losses: { ...losses }, isEnding, memory: kept };
}

function checkedMemory(memory, latest) {
  demand(isObject(memory), "memory", memory);
  const names = Object.keys(MEMORY);
  for (const name of names) demand(isWithin(memory[name], MEMORY[name]), `memory.${name}`, memory[name]);
  if (memory.last > latest + DAY) {
    throw new Refused(`memory.last is ${new Date(memory.last).toISOString().slice(0, 10)}: in the future`);
  }
  return Object.fromEntries(names.map((name) => [name, memory[name]]));
}

function replayed(start, moves) {
  let ply = firstPly(start);
  moves.forEach((move, index) => {
    const { legal, mover } = ply;
    if (!legal.includes(move)) {
      const others = legal.length ? `${mover} may play ${legal.join(", ")}` : "the game is over";
      throw new Refused(`illegal move ${move} at ply ${index + 1}: ${others}`);
    }
    ply = nextPly(ply, move);
  });
  return ply;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const isWithin = (value, [least, most]) => typeof value === "number" && value >= least && value <= most;

function demand(isSound, name, value) {
  if (isSound) return;
  const text = (typeof value === "number" ? String(value) : JSON.stringify(value)) ?? "missing";
  throw new Refused(`${name} is ${text.slice(0, MOST_SHOWN)}`);
}
