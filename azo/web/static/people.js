// How people play, by the chances in reports: how often they make a move, and what rating moves show.

const GRID = 20; // between ratings that are considered
const PRIOR = [1800, 300]; // mean and standard deviation of ratings
const TAIL = 0.1; // of the probability on either side of an interval
const LEAST = 1e-3; // of a chance: anybody errs
const LEAST_MOVES = 20; // of an estimate
const MISTAKE = 2; // discs

/** The probability that players of a rating play one of some moves. */
function chance({ people }, moves, rating, ratings) {
  const right = Math.max(1, ratings.findIndex((each) => each >= rating));
  const part = (rating - ratings[right - 1]) / (ratings[right] - ratings[right - 1]);
  const of = (chances) => chances[right - 1] + part * (chances[right] - chances[right - 1]);
  return moves.reduce((sum, move) => sum + of(people[move]), 0);
}

/**
 * How often players of a rating play a move, and how often they lose discs in its position; null if
 * it is not known.
 */
export function difficulty(report, move, rating, ratings) {
  if (!report?.people?.[move]) return null;
  const good = report.moves.filter(({ discs }) => discs !== null && report.discs - discs < MISTAKE);
  const found = chance(report, good.map((each) => each.move), rating, ratings);
  return { played: chance(report, [move], rating, ratings), missed: 1 - found };
}

/**
 * The rating of who made some moves, an interval of 80 %; null with few moves.
 * @param {{report: object, move: string}[]} choices moves, and the reports before them
 */
export function estimate(choices, ratings) {
  const known = choices.filter(({ report, move }) => report?.people?.[move]);
  if (known.length < LEAST_MOVES) return null;
  const grid = [];
  for (let rating = ratings[0]; rating <= ratings.at(-1); rating += GRID) grid.push(rating);
  const log = grid.map((rating) => {
    const fits = ({ report, move }) => Math.log(Math.max(chance(report, [move], rating, ratings), LEAST));
    return known.reduce((sum, each) => sum + fits(each), -(((rating - PRIOR[0]) / PRIOR[1]) ** 2) / 2);
  });
  const most = Math.max(...log);
  const weights = log.map((each) => Math.exp(each - most));
  const total = weights.reduce((sum, weight) => sum + weight);
  const quantile = (share) => {
    let left = share * total;
    return grid[weights.findIndex((weight) => (left -= weight) <= 0)];
  };
  return { rating: quantile(0.5), low: quantile(TAIL), high: quantile(1 - TAIL) };
}

/** An estimate as text; the chances say nothing of ratings beyond their own. */
export function ratingWords({ rating, low, high }, ratings) {
  if (low === ratings[0]) return `≤ ${high}`;
  return high === ratings.at(-1) ? `≥ ${low}` : `${rating} ± ${(high - low) / 2}`;
}
