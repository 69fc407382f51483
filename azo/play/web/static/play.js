// State of the page: the game, the ply on the board, who plays, and the current search.
//
// A game comes from the server: {game, start, moves, plies, is_over, margin}. There is one search
// at a time, `thinking`. A change of the game or of the turn ends it.

import * as api from "./api.js";
import { alternatives, capital, winner } from "./formatting.js";

const PASS_MS = 900;
const MOVE_MS = { none: 700, black: 450, white: 450, both: 450 }; // least time between azo's moves
const HINT_SECONDS = 10;
const ANALYSIS_SECONDS = 4;

const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, isCalm.matches ? 0 : ms));

export class Play {
  /**
   * @param {object} settings settings from the server
   * @param {(play: Play) => void} render shows the state
   * @param {(text: string) => void} say shows a message; "" removes it
   */
  constructor(settings, render, say) {
    this.settings = settings;
    this.render = () => render(this);
    this.say = say;
    this.human = "black";
    this.level = settings.level;
    this.map = "none";
    this.strength = 400;
    this.game = null;
    this.cursor = 0; // ply shown on the board
    this.former = null; // the previous game
    this.thinking = null; // {kind: "play" | "advise" | "analyse", controller, latest, ply}
    this.isPaused = false;
    this.hinted = null; // key of the position with a hint
    this.reports = new Map(); // the best report of each position, by `#key`
  }

  get info() {
    return this.settings.games.find((info) => info.name === this.game.game);
  }

  get ply() {
    return this.game.plies[this.cursor];
  }

  get isAtEnd() {
    return this.cursor === this.game.moves.length;
  }

  get isOver() {
    return this.ply.legal.length === 0;
  }

  isHuman(colour) {
    return this.human === "both" || this.human === colour;
  }

  get isAzosTurn() {
    return this.isAtEnd && !this.isOver && !this.isHuman(this.ply.mover);
  }

  /** The report of a ply; at the end of a finished game, its result. */
  report(ply = this.cursor) {
    const { mover, legal } = this.game.plies[ply];
    if (legal.length) return this.reports.get(this.#key(ply));
    const sign = mover === "black" ? 1 : -1;
    const winning = winner(this.game.margin, this.info.is_reversed);
    const value = winning === null ? 0 : winning === mover ? 1 : -1;
    return { value, score: sign * this.game.margin };
  }

  get hint() {
    return this.hinted === this.#key() ? this.report()?.move : undefined;
  }

  /** Starts a new game; `swapFormer` brings the old one back. */
  async start(name) {
    await this.#replay({ game: name, start: null, moves: [] }, { isNew: true });
  }

  /** Continues a game, such as the one before a reload. */
  async resume({ game, start, moves }) {
    await this.#replay({ game, start, moves }, { isNew: true });
  }

  /** Opens and analyses pasted text; throws `Failure` if it cannot be read. */
  async open(text) {
    const game = await api.read(this.game.game, text);
    this.#keepFormer();
    this.human = "both";
    this.#show(game, game.moves.length);
    this.say(game.note && capital(game.note));
    if (game.moves.length) this.analyse();
  }

  /** Exchanges the game with the previous one. */
  swapFormer() {
    const { game, cursor, human } = this.former;
    this.#keepFormer(true);
    this.human = human;
    this.isPaused = true;
    this.#show(game, cursor);
  }

  /** Plays the square that was clicked. */
  async choose(square) {
    const { mover, legal } = this.ply;
    if (this.isOver) return this.say("The game is over");
    if (this.thinking?.kind === "play") return this.say("Not your turn: azo is thinking");
    if (!this.isHuman(mover)) {
      const advice = this.human === "none" ? "choose a side under “You play”" : "let azo move";
      return this.say(`Not your turn: ${mover} is azo's, ${advice}`);
    }
    if (!legal.includes(square)) {
      return this.say(`${square} is not legal: ${mover} may play ${alternatives(legal)}`);
    }
    this.say("");
    return this.#play(square);
  }

  /** Lets azo move for the side to move, or move at once if it is thinking. */
  async go() {
    if (this.isOver) return this.say("The game is over");
    if (this.thinking?.kind === "play") {
      const { latest } = this.thinking;
      return latest && this.#play(latest.move);
    }
    this.isPaused = false;
    return this.#azoMoves();
  }

  /** Stops azo's moves until `go`. */
  pause() {
    this.isPaused = true;
    this.proceed();
  }

  /** Takes back the player's last move and azo's answer; with both sides, one ply. */
  undo() {
    const isMine = ({ mover, legal }) => this.isHuman(mover) && legal[0] !== "pass";
    let ply = this.cursor - 1;
    if (this.human !== "none") while (ply >= 0 && !isMine(this.game.plies[ply])) ply -= 1;
    if (ply < 0) return this.say("There is no move to take back");
    if (!this.isAtEnd) this.#keepFormer();
    this.isPaused = this.human === "none";
    this.say("");
    const { moves, plies, ...rest } = this.game;
    const shorter = { moves: moves.slice(0, ply), plies: plies.slice(0, ply + 1) };
    return this.#show({ ...rest, ...shorter, is_over: false }, ply);
  }

  /** Shows another ply of the game. */
  goTo(ply) {
    const inside = Math.min(Math.max(ply, 0), this.game.moves.length);
    if (inside === this.cursor) return;
    this.cursor = inside;
    this.say("");
    if (this.thinking?.kind === "analyse") this.render();
    else this.proceed();
  }

  async showHint() {
    if (this.isOver) return this.say("The game is over");
    if (this.thinking?.kind === "play") return this.say("azo is thinking about its move");
    this.say("");
    this.hinted = this.#key();
    return this.#advise();
  }

  /** Searches every position without a report; a second call stops it. */
  async analyse() {
    if (this.thinking?.kind === "analyse") return this.proceed();
    const wasPaused = this.isPaused;
    if (this.isAzosTurn) this.isPaused = true;
    const thinking = this.#begin("analyse");
    for (let ply = 0; ply < this.game.plies.length; ply += 1) {
      if (!this.game.plies[ply].legal.length || this.#isSearched(ply)) continue;
      thinking.ply = ply;
      const report = await this.#think(thinking, ply, this.#advice(ANALYSIS_SECONDS));
      if (!report || thinking !== this.thinking) return undefined;
    }
    this.isPaused = wasPaused;
    return this.proceed();
  }

  /** Changes the sides, the level, the map or the strength. */
  change(name, value) {
    this[name] = value;
    const isChanged = {
      human: () => true,
      level: () => this.thinking?.kind === "play",
      map: () => !this.thinking,
      strength: () => false, // applies to later searches
    }[name]();
    if (name === "human") this.isPaused = false;
    if (isChanged) this.proceed();
    else this.render();
  }

  /** Starts the next action of the position: azo's move, a pass, or a search for the map. */
  proceed() {
    this.#stop();
    this.render();
    if (this.isAtEnd && !this.isOver) {
      if (!this.isHuman(this.ply.mover)) return this.isPaused || this.#azoMoves();
      if (this.ply.legal[0] === "pass") return this.#passSoon();
    }
    const needsSearch = this.map !== "none" && !this.isOver && !this.#isSearched(this.cursor);
    return needsSearch && this.#advise();
  }

  async #azoMoves() {
    const { mover, legal } = this.ply;
    const thinking = this.#begin("play");
    const pause = sleep(this.cursor === 0 ? 0 : MOVE_MS[this.human]);
    const report = await this.#think(thinking, this.cursor, { role: "play", level: this.level });
    await pause;
    if (!report || thinking !== this.thinking) return;
    if (legal[0] === "pass") this.say(`${capital(mover)} has no move and passes`);
    await this.#play(report.move);
  }

  async #passSoon() {
    const thinking = this.#begin("pass");
    this.say(`${capital(this.ply.mover)} has no move and passes`);
    await sleep(PASS_MS);
    if (thinking === this.thinking) await this.#play("pass");
  }

  async #advise() {
    const thinking = this.#begin("advise");
    const report = await this.#think(thinking, this.cursor, this.#advice(HINT_SECONDS));
    if (!report || thinking !== this.thinking) return;
    this.thinking = null;
    this.render();
  }

  #advice(seconds) {
    return { role: "advise", num_simulations: this.strength, seconds };
  }

  /** Returns the final report of a search, or null if it failed or was stopped. */
  async #think(thinking, ply, how) {
    const key = this.#key(ply);
    const onReport = (report) => {
      if (thinking !== this.thinking) return;
      thinking.latest = report;
      const earlier = this.reports.get(key);
      if (!earlier || rank(report) >= rank(earlier)) this.reports.set(key, report);
      this.render();
    };
    try {
      return await api.think(this.#question(ply), how, thinking.controller.signal, onReport);
    } catch (error) {
      if (error.name === "AbortError") return null;
      if (!(error instanceof api.Failure)) throw error;
      if (thinking !== this.thinking) return null;
      this.thinking = null;
      this.isPaused = thinking.kind === "play";
      this.say(error.message);
      this.render();
      return null;
    }
  }

  async #play(move) {
    const { moves } = this.game;
    if (this.human === "both" && moves[this.cursor] === move) {
      this.goTo(this.cursor + 1);
      return;
    }
    const { game, start } = this.game;
    const question = { game, start, moves: [...moves.slice(0, this.cursor), move] };
    await this.#replay(question, { isNew: !this.isAtEnd });
  }

  async #replay(question, { isNew }) {
    this.#stop();
    const waiting = this.#begin("replay");
    try {
      const game = await api.replay(question);
      if (waiting !== this.thinking) return;
      if (isNew) this.#keepFormer();
      if (isNew && !question.moves.length) this.isPaused = false;
      this.#show(game, game.moves.length);
    } catch (error) {
      if (!(error instanceof api.Failure)) throw error;
      if (waiting === this.thinking) this.thinking = null;
      this.say(error.message);
      if (this.game) this.render();
      else throw error;
    }
  }

  #show(game, cursor) {
    this.game = game;
    this.cursor = cursor;
    this.proceed();
  }

  #keepFormer(isAlways = false) {
    if (!this.game || !(this.game.moves.length || isAlways)) return;
    this.former = { game: this.game, cursor: this.cursor, human: this.human };
  }

  #begin(kind) {
    this.#stop();
    this.thinking = { kind, controller: new AbortController(), latest: null, ply: this.cursor };
    if (this.game) this.render();
    return this.thinking;
  }

  #stop() {
    this.thinking?.controller.abort();
    this.thinking = null;
  }

  #question(ply) {
    const { game, start, moves } = this.game;
    return { game, start, moves: moves.slice(0, ply) };
  }

  #key(ply = this.cursor) {
    return JSON.stringify(this.#question(ply));
  }

  #isSearched(ply) {
    const report = this.reports.get(this.#key(ply));
    return report !== undefined && rank(report) >= this.strength;
  }
}

/** Quality of a report: exact reports are the best, others count by visits. */
function rank({ score, moves }) {
  return score === null ? moves.reduce((sum, move) => sum + move.visits, 0) : Infinity;
}
