// Positions to practise, in the browser's storage, and when each is asked again.
//
// The times are those of FSRS-6 with its default parameters, for a retention of 90 %
// (https://github.com/open-spaced-repetition/fsrs4anki/wiki/The-Algorithm). A solved position has the
// grade "good", another one "again", and comes back on the same day. `azo play` has the same deck.

import { idOf, lastTime, read, soundOrNull } from "./cards.js";
import * as versions from "./versions.js";

const DECK = "azo-deck";
const DAMAGED = "azo-deck.damaged";
const MOST_CARDS = 500;
const MOST_TEXT = 1 << 23; // characters of the deck of somebody else
const MOST_NAMED = 3; // refused cards
const STABILITIES = [0.001, 1e6]; // days
const MOST_DAYS = 36500; // to the next review
const DAY = 24 * 60 * 60 * 1000;
const AGAIN = 1;
const GOOD = 3;
const AGAIN_MS = 10 * 60 * 1000;
const W = [
  0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796, 1.4835,
  0.0614, 0.2629, 1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542,
];
const FORGETTING = 0.9 ** (-1 / W[20]) - 1; // a card is known with 90 % after as many days as its stability

/**
 * Returns what is known of a card after a review.
 * @param {?{stability: number, difficulty: number, last: number}} memory null before the first
 * @param {boolean} isSolved
 * @param {number} now in milliseconds
 * @returns {{stability: number, difficulty: number, last: number, due: number}} days, 1 to 10, ms
 */
export function review(memory, isSolved, now) {
  const grade = isSolved ? GOOD : AGAIN;
  const first = { stability: W[grade - 1], difficulty: bounded(difficultyAtFirst(grade)) };
  const after = memory ? next(memory, grade, now) : first;
  after.stability = within(after.stability, STABILITIES);
  const days = within(Math.round(after.stability), [1, MOST_DAYS]);
  return { ...after, last: now, due: now + (isSolved ? days * DAY : AGAIN_MS) };
}

const difficultyAtFirst = (grade) => W[4] - Math.exp(W[5] * (grade - 1)) + 1;

const within = (value, [least, most]) => Math.min(Math.max(value, least), most);

const bounded = (difficulty) => within(difficulty, [1, 10]);

function next({ stability, difficulty, last }, grade, now) {
  const days = Math.max(0, Math.floor((now - last) / DAY)); // a clock may go back
  const known = (1 + (FORGETTING * days) / stability) ** -W[20];
  const harder = difficulty - (W[6] * (grade - 3) * (10 - difficulty)) / 9;
  const change = days < 1 ? sameDay : grade === GOOD ? grown : fallen;
  return {
    difficulty: bounded(W[7] * difficultyAtFirst(4) + (1 - W[7]) * harder),
    stability: change(stability, difficulty, known, grade),
  };
}

function sameDay(stability, difficulty, known, grade) {
  const factor = Math.exp(W[17] * (grade - 3 + W[18])) * stability ** -W[19];
  return stability * (grade === GOOD ? Math.max(factor, 1) : factor);
}

const grown = (stability, difficulty, known) =>
  stability *
  (1 + Math.exp(W[8]) * (11 - difficulty) * stability ** -W[9] * (Math.exp((1 - known) * W[10]) - 1));

const fallen = (stability, difficulty, known) =>
  Math.min(
    W[11] * difficulty ** -W[12] * ((stability + 1) ** W[13] - 1) * Math.exp((1 - known) * W[14]),
    stability / Math.exp(W[17] * W[18]),
  );

let latest = { text: "[]", cards: [] }; // what was read last

/** Called with one line for the reader when the deck turns out to be damaged. */
export const listener = { onDamage: () => {} };

/** The cards, those first that were due first. */
export function cards() {
  const text = localStorage.getItem(DECK) ?? "[]";
  if (text !== latest.text) {
    const { cards: sound, refused } = read(text);
    latest = { text, cards: sound };
    if (refused.length) keepAside(text, sound, refused);
  }
  return [...latest.cards].sort((one, two) => dueTime(one) - dueTime(two));
}

const changed = (change) => versions.changed(DECK, change);

/** Keeps a damaged deck under another name, and continues with its undamaged cards. */
function keepAside(text, sound, refused) {
  let name = DAMAGED;
  for (let number = 2; localStorage.getItem(name) !== null; number++) name = `${DAMAGED}-${number}`;
  localStorage.removeItem(DECK); // its room is needed
  let place = `saved in this browser as “${name}”`;
  try {
    localStorage.setItem(name, text);
  } catch {
    place = "no room to save it"; // cannot be: it has that room already
  }
  write(sound);
  const number = `${sound.length} undamaged position${sound.length === 1 ? " is" : "s are"} kept`;
  listener.onDamage(`The deck was damaged: ${named(refused)}; ${place}; ${number}`);
}

/** What is wrong as one line, which names the first cards. */
export function named(refused) {
  const others = refused.length - MOST_NAMED;
  return refused.slice(0, MOST_NAMED).join("; ") + (others > 0 ? ` and ${others} more` : "");
}

const dueTime = ({ memory }) => memory?.due ?? 0;

/** The cards that are due. */
export const due = (now) => cards().filter((card) => dueTime(card) <= now);

/**
 * Adds positions that are not in the deck yet, and resolves to their number. The cards that are due last make
 * room.
 * @param {{game: string, start: ?string, moves: string[], mover: string, best: string,
 *   losses: Object<string, number>, isEnding: boolean}[]} added the discs that each move loses, as far
 *   as they are known
 */
export const add = (added) => changed(() => addNow(added));

function addNow(added) {
  const known = cards();
  const ids = new Set(known.map(idOf));
  const sound = added.map((card) => soundOrNull({ ...card, memory: null })).filter(Boolean);
  const fresh = sound.filter((card) => !ids.has(idOf(card)));
  write([...fresh, ...known].slice(0, MOST_CARDS));
  return fresh.length;
}

/**
 * Keeps the result of a review, and resolves to what is known of the card then. A later review, of another
 * tab, stays. `losses` are known of its moves by now.
 */
export const keepReview = (card, isSolved, now, losses = {}) =>
  changed(() => keepReviewNow(card, isSolved, now, losses));

function keepReviewNow(card, isSolved, now, losses) {
  const all = cards();
  const known = all.find((each) => idOf(each) === idOf(card)) ?? card;
  const isLatest = lastTime(known) <= now;
  const memory = isLatest ? review(known.memory, isSolved, now) : known.memory;
  const others = all.filter((each) => idOf(each) !== idOf(card));
  write([...others, { ...known, losses: { ...known.losses, ...losses }, memory }]);
  return memory;
}

/** The deck as a file. */
export const toText = () => JSON.stringify(cards());

/**
 * Takes the sound cards of a file; of a card that is in the deck already, the later review counts.
 * @returns {Promise<{number: number, refused: string[], left: number, problem: string}>} `number` of cards
 *   that are in the deck now, `left` for which there is no room, `problem` if it is no deck
 */
export const merge = (text, now) => changed(() => mergeNow(text, now));

function mergeNow(text, now) {
  if (text.length > MOST_TEXT) return { number: 0, refused: [], left: 0, problem: "too large" };
  const { cards: added, refused, problem } = read(text, now);
  if (problem) return { number: 0, refused, left: 0, problem };
  const known = new Map(cards().map((card) => [idOf(card), card]));
  let left = 0;
  for (const card of added) {
    const own = known.get(idOf(card));
    if (!own && known.size >= MOST_CARDS) left++;
    else if (!own) known.set(idOf(card), card);
    else if (lastTime(card) > lastTime(own)) known.set(idOf(card), { ...own, memory: card.memory });
  }
  write([...known.values()]);
  return { number: added.length - left, refused, left, problem: "" };
}

export { idOf } from "./cards.js";

function write(all) {
  try {
    localStorage.setItem(DECK, JSON.stringify(all));
  } catch {
    // no room: the deck stays as it was
  }
}
