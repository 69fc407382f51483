// How often people win from a position, by its expected score, its empty squares and their rating.
//
// The chance is a logistic function of the score, whose slope depends on the rating and the empty
// squares. `scripts/fit_results.py` fitted it to games between humans of about the same rating;
// docs/notebook/people.md says how well it holds. Other boards have no such games.

import { count } from "./formatting.js";

const GAME = "othello8";
const FEWEST_EMPTY = 5; // squares; the fit has no later positions
const [MEAN, UNIT] = [1800, 200]; // of ratings
const WEIGHTS = [-2.6683, 0.1997, 0.7858, 0.7497, 0.0649];

/**
 * The share of the points that players of a rating get from a position against others of that rating;
 * null if it is not known.
 * @param {number} score expected discs of one side
 * @returns {?number} the share of that side
 */
export function expectedShare(game, board, score, rating) {
  const { empty } = count(board);
  if (game !== GAME || empty < FEWEST_EMPTY) return null;
  const [skill, time] = [(rating - MEAN) / UNIT, (30 - empty) / 30];
  const basis = [1, skill, time, time ** 2, skill * time];
  const slope = Math.exp(basis.reduce((sum, value, index) => sum + value * WEIGHTS[index], 0));
  return 1 / (1 + Math.exp(-score * slope));
}
