// Guess the move: the moves of an analysed game are guessed, and compared with those of the players.

import { plural } from "./formatting.js";
import { loss } from "./losses.js";
import { estimate, ratingWords } from "./people.js";
import { cardOf } from "./quiz.js";
import { lossOf } from "./replies.js";

export class Guess {
  /** @param {Play} play the moves to guess are those of the player, or those of both sides */
  constructor(play) {
    this.play = play;
    this.ratings = play.settings.people ?? [];
    const isAsked = ({ parent }) => !["black", "white"].includes(play.human) || parent.mover === play.human;
    const choices = play.line.filter((position) => {
      const known = position.ply > 1 && loss(position, play.isReversed);
      return known && isAsked(position) && position.parent.legal.length > 1;
    });
    this.left = choices.map((position) => {
      const { move: played, parent, ply } = position;
      const card = cardOf(play, parent);
      card.losses[played] = loss(position, play.isReversed).discs;
      return { ...card, played, ply, report: parent.report };
    });
    this.guesses = []; // {report, move, lost, theirs}
  }

  next() {
    return this.left.shift() ?? null;
  }

  question({ mover, ply }) {
    return `Move ${ply}: what does ${mover} play? (${this.left.length} left)`;
  }

  async judge(card, move) {
    const { losses, played, best, report } = card;
    if (move && move !== played && move !== best) {
      losses[move] = (await lossOf(this.play, card, move, best)) ?? losses[move];
    }
    const most = Math.max(...Object.values(losses));
    const words = (each) => {
      const discs = Math.round(losses[each] ?? most);
      return discs || losses[each] === undefined ? `loses ${plural(discs, "disc")}` : "loses nothing";
    };
    if (move) this.guesses.push({ report, move, lost: losses[move] ?? most, theirs: losses[played] });
    const isBest = Math.round(losses[played]) <= 0 || best === move;
    const better = isBest ? "" : `; the best move is ${best}`;
    if (!move) return `The move of the game, ${played}, ${words(played)}${better}`;
    if (move === played) return `${move}, as in the game, ${words(move)}${better}`;
    return `${move} ${words(move)}; the move of the game, ${played}, ${words(played)}${better}`;
  }

  end() {
    const { guesses } = this;
    const sum = (name) => Math.round(guesses.reduce((total, each) => total + each[name], 0));
    if (!guesses.length) return "No move was guessed";
    const lost = `${plural(guesses.length, "move")} lost ${plural(sum("lost"), "disc")}`;
    const found = estimate(guesses, this.ratings);
    const like = found ? `. You guess like players rated ${ratingWords(found, this.ratings)}` : "";
    return `Your ${lost}; those of the game lost ${sum("theirs")}${like}`;
  }
}
