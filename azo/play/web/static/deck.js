// Positions to practise, in the browser's storage, and when each is asked again.
//
// The times are those of FSRS-6 with its default parameters, for a retention of 90 %
// (https://github.com/open-spaced-repetition/fsrs4anki/wiki/The-Algorithm). A solved position has the
// grade "good", another one "again", and comes back on the same day. `azo play` has the same deck.

const DECK = "azo-deck";
const MOST_CARDS = 500;
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
  const next = memory ? changed(memory, grade, now) : first;
  const days = Math.max(1, Math.round(next.stability));
  return { ...next, last: now, due: now + (isSolved ? days * DAY : AGAIN_MS) };
}

const difficultyAtFirst = (grade) => W[4] - Math.exp(W[5] * (grade - 1)) + 1;

const bounded = (difficulty) => Math.min(Math.max(difficulty, 1), 10);

function changed({ stability, difficulty, last }, grade, now) {
  const days = Math.floor((now - last) / DAY);
  const known = (1 + (FORGETTING * days) / stability) ** -W[20];
  const harder = difficulty - (W[6] * (grade - 3) * (10 - difficulty)) / 9;
  const change = days < 1 ? sameDay : grade === GOOD ? grown : fallen;
  return {
    difficulty: bounded(W[7] * difficultyAtFirst(4) + (1 - W[7]) * harder),
    stability: Math.max(change(stability, difficulty, known, grade), 0.001),
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
