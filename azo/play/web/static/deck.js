// Positions to practise, in the browser's storage, and when each is asked again.
//
// The times are those of FSRS-4.5 with its default parameters, for a retention of 90 %
// (https://github.com/open-spaced-repetition/fsrs4anki/wiki/The-Algorithm). A solved position has the
// grade "good", another one "again", and comes back on the same day.

const DECK = "azo-deck";
const MOST_CARDS = 500;
const DAY = 24 * 60 * 60 * 1000;
const AGAIN = 1;
const GOOD = 3;
const AGAIN_MS = 10 * 60 * 1000;
const W = [
  0.4872, 1.4003, 3.7145, 13.8206, 5.1618, 1.2298, 0.8975, 0.031, 1.6474, 0.1367, 1.0461, 2.1072,
  0.0793, 0.3246, 1.587, 0.2272, 2.8755,
];
const FORGETTING = 19 / 81; // a card is known with 90 % after as many days as its stability

/**
 * Returns what is known of a card after a review.
 * @param {?{stability: number, difficulty: number, last: number}} memory null before the first
 * @param {boolean} isSolved
 * @param {number} now in milliseconds
 * @returns {{stability: number, difficulty: number, last: number, due: number}} days, 1 to 10, ms
 */
export function review(memory, isSolved, now) {
  const grade = isSolved ? GOOD : AGAIN;
  const first = { stability: W[grade - 1], difficulty: W[4] - (grade - 3) * W[5] };
  const next = memory ? changed(memory, grade, now) : first;
  const days = Math.max(1, Math.round(next.stability));
  return { ...next, last: now, due: now + (isSolved ? days * DAY : AGAIN_MS) };
}

function changed({ stability, difficulty, last }, grade, now) {
  const days = Math.floor((now - last) / DAY);
  const known = (1 + (FORGETTING * days) / stability) ** -0.5;
  const harder = W[7] * W[4] + (1 - W[7]) * (difficulty - W[6] * (grade - 3));
  const change = grade === GOOD ? grown : fallen;
  return {
    difficulty: Math.min(Math.max(harder, 1), 10),
    stability: change(stability, difficulty, known),
  };
}

const grown = (stability, difficulty, known) =>
  stability *
  (1 + Math.exp(W[8]) * (11 - difficulty) * stability ** -W[9] * (Math.exp((1 - known) * W[10]) - 1));

const fallen = (stability, difficulty, known) =>
  W[11] * difficulty ** -W[12] * ((stability + 1) ** W[13] - 1) * Math.exp((1 - known) * W[14]);

/** The cards, those first that were due first. */
export function cards() {
  const all = parsed(localStorage.getItem(DECK)) ?? []; // a damaged one begins anew
  return all.sort((one, two) => dueTime(one) - dueTime(two));
}

/** The cards of a text, null if it is damaged. */
function parsed(text) {
  try {
    return JSON.parse(text).filter((card) => card?.losses && card.moves);
  } catch {
    return null;
  }
}

const dueTime = ({ memory }) => memory?.due ?? 0;

/** The cards that are due. */
export const due = (now) => cards().filter((card) => dueTime(card) <= now);

/**
 * Adds positions that are not in the deck yet, and returns how many. The cards that are due last make
 * room.
 * @param {{game: string, start: ?string, moves: string[], mover: string, best: string,
 *   losses: Object<string, number>, isEnding: boolean}[]} added the discs that each move loses, as far
 *   as they are known
 */
export function add(added) {
  const known = cards();
  const ids = new Set(known.map(idOf));
  const fresh = added.filter((card) => !ids.has(idOf(card)));
  write([...fresh.map((card) => ({ ...card, memory: null })), ...known].slice(0, MOST_CARDS));
  return fresh.length;
}

/** Changes what is known of a card; null removes it. */
export function update(card, memory) {
  const others = cards().filter((each) => idOf(each) !== idOf(card));
  write(memory ? [...others, { ...card, memory }] : others);
}

/** The deck as a file. */
export const toText = () => JSON.stringify(cards());

/**
 * Takes the cards of a file; of a card that is in the deck already, the later review counts. Returns
 * their number, null if the file is none.
 */
export function merge(text) {
  const added = parsed(text);
  if (!added) return null;
  const known = new Map(cards().map((card) => [idOf(card), card]));
  const lastTime = (card) => card?.memory?.last ?? -1;
  for (const card of added) {
    if (!known.has(idOf(card)) || lastTime(card) > lastTime(known.get(idOf(card)))) known.set(idOf(card), card);
  }
  write([...known.values()].slice(0, MOST_CARDS));
  return added.length;
}

export const idOf = ({ game, start, moves }) => [game, start, ...moves].join(" ");

function write(all) {
  try {
    localStorage.setItem(DECK, JSON.stringify(all));
  } catch {
    // no room: the deck stays as it was
  }
}
