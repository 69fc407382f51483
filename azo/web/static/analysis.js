// Searches of positions on request: a hint, the whole game, and what is on the board.

import { count } from "./formatting.js";
import { doubted } from "./losses.js";
import { quality } from "./tree.js";

const HINT_SECONDS = 10;
const GAME_SECONDS = 30; // a position; for slow machines: the strength ends a search before
const MOST_SOLVED = 30; // empty squares; more take days

export class Analysis {
  /** @param {Play} play the state of the page */
  constructor(play) {
    this.play = play;
  }

  /** Marks the best move. */
  async showHint() {
    const { play } = this;
    if (play.isOver) return play.say("The game is over", "note");
    if (play.task?.kind === "play") return play.say("azo is thinking about its move", "note");
    play.say("");
    play.hinted = play.cursor;
    return this.#advise();
  }

  /**
   * Searches every position of the game without a report, and those around mistakes deeply; a second
   * call stops it.
   */
  async searchGame() {
    const { play } = this;
    if (play.task?.kind === "analyse") return play.proceed();
    const wasPaused = play.isPaused;
    if (play.isAzosTurn) play.isPaused = true;
    const task = play.beginTask("analyse");
    for (const position of play.line) {
      if (!position.isOver && !this.#isSearched(position)) {
        task.position = position;
        const report = await play.search.think(task, position, this.#limits(GAME_SECONDS));
        if (!report) return undefined;
      }
      if (!(await this.#settle(task, play.line))) return undefined;
    }
    play.isPaused = wasPaused;
    return play.proceed();
  }

  /** Finds the exact score of the position on the board; a second call stops it. */
  async solve() {
    const { play } = this;
    if (play.task?.kind === "solve") return play.proceed();
    if (play.isOver) return play.say("The game is over", "note");
    const { empty } = count(play.cursor.board);
    if (empty > MOST_SOLVED) {
      return play.say(`${empty} empty squares: at most ${MOST_SOLVED} can be solved`, "note");
    }
    if (play.isAzosTurn) play.isPaused = true;
    play.say("");
    const task = play.beginTask("solve");
    const how = { role: "solve", seconds: play.settings.max_seconds };
    for (;;) {
      const report = await play.search.think(task, task.position, how);
      if (!report) return undefined;
      if (report.score !== null) break;
    }
    return play.search.end(task) && play.render();
  }

  /** Switches the search of whatever is on the board on or off. */
  watch() {
    const { play } = this;
    play.isContinuous = !play.isContinuous;
    if (play.isContinuous && play.map === "none") play.map = "value";
    play.proceed();
  }

  /** Searches the position on the board if its values are to be shown. */
  proceed() {
    const { play } = this;
    if (play.isContinuous) return document.hidden ? undefined : this.#deepen();
    if (play.settings.analysed) return undefined; // there is no server to ask
    if (play.map === "none") return undefined;
    const isSearched = this.#isSearched(play.cursor);
    const isSure = !doubted(this.#pair, play.isReversed).length;
    return isSearched && isSure ? undefined : this.#advise(isSearched);
  }

  /** Searches a position unless it was searched, and returns whether it was or is now. */
  async searched(position) {
    const { play } = this;
    if (position.isOver || this.#isSearched(position)) return true;
    const task = play.beginTask("advise");
    const report = await play.search.think(task, position, this.#limits(HINT_SECONDS));
    const isSure = report && (await this.#settle(task, this.#pair));
    return Boolean(isSure) && play.search.end(task);
  }

  async #advise(isSearched = false) {
    const { play } = this;
    const task = play.beginTask("advise");
    if (!isSearched) {
      const report = await play.search.think(task, task.position, this.#limits(HINT_SECONDS));
      if (!report) return;
    }
    if ((await this.#settle(task, this.#pair)) && play.search.end(task)) play.render();
  }

  /** The position on the board and the one before it. */
  get #pair() {
    return this.play.cursor.path.slice(-2);
  }

  /** Searches positions around mistakes of a line deeply; returns whether the task went on. */
  async #settle(task, line) {
    const { play } = this;
    const tried = new Set();
    for (;;) {
      const weak = doubted(line, play.isReversed).filter((position) => !tried.has(position));
      if (!weak.length) return play.search.isCurrent(task);
      for (const position of weak) {
        tried.add(position);
        task.position = position;
        const how = { ...this.#limits(GAME_SECONDS), is_deep: true };
        if (!(await play.search.think(task, position, how))) return false;
      }
    }
  }

  /** Searches the position as long as it is on the board, is not solved and grows. */
  async #deepen() {
    const { play } = this;
    const { max_simulations: numSimulations, max_seconds: seconds } = play.settings;
    const task = play.beginTask("watch");
    const how = { role: "advise", num_simulations: numSimulations, seconds };
    for (;;) {
      const report = await play.search.think(task, task.position, how);
      if (!report) return;
      if (report.score !== null || report.num_simulations === 0) break;
    }
    if (play.search.end(task)) play.render();
  }

  #limits(seconds) {
    return { role: "advise", num_simulations: this.play.strength, seconds };
  }

  #isSearched({ searched }) {
    return searched !== null && quality(searched) >= this.play.strength;
  }
}
