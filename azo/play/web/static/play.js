// State of the page: the game with its variations, the position on the board, who plays.
//
// The server describes a position: its board, the side to move and the legal moves. There is one
// search at a time. A change of the position or of the turn ends it, except an analysis of the game.

import * as api from "./api.js";
import { alternatives, capital } from "./formatting.js";
import { Lessons } from "./lessons.js";
import { Search } from "./search.js";
import * as tree from "./tree.js";

const PASS_MS = 900;
const MOVE_MS = { none: 700, black: 450, white: 450, both: 450 }; // least time between azo's moves
const HINT_SECONDS = 10;
const ANALYSIS_SECONDS = 30; // for slow machines: the strength ends a search before

const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, isCalm.matches ? 0 : ms));
const newId = () => crypto.getRandomValues(new Uint32Array(2)).join("-");

export class Play {
  /**
   * @param {object} settings settings from the server
   * @param {(play: Play) => void} render shows the state
   * @param {(text: string, kind?: string) => void} say shows an error, or a "note"; "" removes it
   */
  constructor(settings, render, say) {
    this.settings = settings;
    this.render = () => this.cursor && render(this);
    this.frame = null; // the next drawing, if one is due
    this.say = say;
    this.side = "black"; // the player's choice for new games
    this.human = "black"; // who plays now: "black", "white", "both" or "none"
    this.level = settings.level;
    this.map = "none";
    this.strength = 400;
    this.game = null; // name of the game
    this.start = null; // text of an unusual start
    this.title = "";
    this.id = null; // of the stored game
    this.cursor = null; // position on the board
    this.isPaused = false;
    this.isContinuous = false; // searches whatever is on the board
    this.hinted = null; // the position with a hint
    this.onLeave = () => {}; // called before another game comes on the board
    this.lessons = new Lessons(this);
    this.search = new Search(
      (position) => this.question(position),
      () => this.#renderSoon(),
      (task, message) => {
        this.isPaused = task.kind === "play";
        this.isContinuous = false;
        this.say(message);
        this.render();
      },
    );
  }

  get info() {
    return this.settings.games.find((info) => info.name === this.game);
  }

  get isReversed() {
    return this.info.is_reversed;
  }

  get line() {
    return this.cursor.line;
  }

  get root() {
    return this.cursor.path[0];
  }

  get isAtEnd() {
    return this.cursor.children.length === 0;
  }

  get isOver() {
    return this.cursor.isOver;
  }

  isHuman(colour) {
    return this.human === "both" || this.human === colour;
  }

  get isAzosTurn() {
    return this.isAtEnd && !this.isOver && !this.isHuman(this.cursor.mover);
  }

  get task() {
    return this.search.task;
  }

  get hint() {
    return this.hinted === this.cursor ? this.cursor.report?.move : undefined;
  }

  question(position) {
    return { game: this.game, start: this.start, moves: position.moves };
  }

  /** Starts a new game. */
  async begin(name) {
    await this.#replace({ game: name, start: null, moves: [] });
  }

  /** Opens the game of a link. */
  async follow(question) {
    await this.#replace(question);
  }

  /** Opens and analyses pasted text; throws `Failure` if it cannot be read. */
  async open(text) {
    const game = await api.read(this.game, text);
    this.#show(game, "both");
    if (game.note) this.say(capital(game.note), "note");
    if (game.moves.length) this.analyse();
  }

  /** Shows an analysed game from its start. */
  showAnalysed(game) {
    this.#show(game, "both");
    this.goTo(this.root);
  }

  /** Shows a stored game. */
  resume({ id, game, start, title, human, root, path }) {
    this.onLeave();
    this.search.stop();
    Object.assign(this, { id, game, start, title, human, isPaused: false });
    this.lessons.retried = null;
    this.cursor = path.reduce((at, move) => at.child(move) ?? at, root);
    this.say("");
    this.proceed();
  }

  /** Plays the square that was clicked. */
  async choose(square) {
    const { mover, legal } = this.cursor;
    if (this.isOver) return this.say("The game is over", "note");
    if (this.task?.kind === "play") return this.say("Not your turn: azo is thinking");
    if (!this.isHuman(mover)) {
      const advice = this.human === "none" ? "choose a side under “You play”" : "let azo move";
      return this.say(`Not your turn: ${mover} is azo's, ${advice}`);
    }
    if (!legal.includes(square)) {
      return this.say(`${square} is not legal: ${mover} may play ${alternatives(legal)}`);
    }
    this.say("");
    if (!(await this.add(this.cursor, [square]))) return undefined;
    if (this.lessons.retried?.parent === this.cursor.parent) return this.lessons.judge();
    // The move was on the board before, with azo's answer.
    if (!this.isAtEnd && !this.isHuman(this.cursor.mover)) this.cursor = this.cursor.next;
    return this.proceed();
  }

  /** Lets azo move for the side to move, or move at once if it is thinking. */
  async go() {
    if (this.isOver) return this.say("The game is over", "note");
    if (this.task?.kind === "play") {
      const { latest } = this.task;
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
    let at = this.cursor.parent;
    if (this.human !== "none") while (at && !isMine(at)) at = at.parent;
    if (!at) return this.say("There is no move to take back", "note");
    at.isTakenBack = true;
    this.isPaused = this.human === "none";
    return this.goTo(at);
  }

  /** Shows another position of the tree. */
  goTo(position) {
    if (!position || position === this.cursor) return;
    position.prefer();
    this.cursor = position;
    this.say("");
    if (this.task?.kind === "analyse") this.render();
    else this.proceed();
  }

  /** Shows a ply of the line. */
  goToPly(ply) {
    const { line } = this;
    this.goTo(line[Math.min(Math.max(ply, 0), line.length - 1)]);
  }

  async showHint() {
    if (this.isOver) return this.say("The game is over", "note");
    if (this.task?.kind === "play") return this.say("azo is thinking about its move", "note");
    this.say("");
    this.hinted = this.cursor;
    return this.#advise(HINT_SECONDS);
  }

  /** Searches every position of the line without a report; a second call stops it. */
  async analyse() {
    if (this.task?.kind === "analyse") return this.proceed();
    const wasPaused = this.isPaused;
    if (this.isAzosTurn) this.isPaused = true;
    const task = this.#begin("analyse");
    for (const position of this.line) {
      if (position.isOver || this.#isSearched(position)) continue;
      task.position = position;
      const report = await this.search.think(task, position, this.#advice(ANALYSIS_SECONDS));
      if (!report) return undefined;
    }
    this.isPaused = wasPaused;
    return this.proceed();
  }

  /** Switches the search of whatever is on the board on or off. */
  watch() {
    this.isContinuous = !this.isContinuous;
    if (this.isContinuous && this.map === "none") this.map = "value";
    this.proceed();
  }

  /** Changes the sides, the level, the map or the strength. */
  change(name, value) {
    this[name] = value;
    if (name === "human") Object.assign(this, { side: value, isPaused: false });
    const isChanged = {
      human: () => this.task?.kind !== "replay", // what is on its way follows the choice
      level: () => this.task?.kind === "play",
      map: () => !this.task,
      strength: () => false, // applies to later searches
    }[name]();
    if (isChanged) this.proceed();
    else this.render();
  }

  /** Starts the next action of the position: azo's move, a pass, or a search. */
  proceed() {
    this.search.stop();
    this.render();
    if (this.isOver) return undefined;
    if (this.isAtEnd && !this.isHuman(this.cursor.mover) && !this.isPaused) {
      return this.#azoMoves();
    }
    if (this.isAtEnd && this.isHuman(this.cursor.mover) && this.cursor.legal[0] === "pass") {
      return this.#passSoon();
    }
    if (this.lessons.isSecret) return undefined;
    if (this.isContinuous) return document.hidden ? undefined : this.#deepen();
    if (this.settings.analysed) return undefined; // there is no server to ask
    if (this.map === "none" || this.#isSearched(this.cursor)) return undefined;
    return this.#advise(HINT_SECONDS);
  }

  async #azoMoves() {
    const { mover, legal, ply } = this.cursor;
    const task = this.#begin("play");
    const pause = sleep(ply === 0 ? 0 : MOVE_MS[this.human]);
    const how = { role: "play", level: this.level };
    const report = await this.search.think(task, task.position, how);
    await pause;
    if (!report || !this.search.isCurrent(task)) return;
    if (legal[0] === "pass") this.say(`${capital(mover)} has no move and passes`, "note");
    await this.#play(report.move);
  }

  async #passSoon() {
    const task = this.#begin("pass");
    this.say(`${capital(this.cursor.mover)} has no move and passes`, "note");
    await sleep(PASS_MS);
    if (this.search.isCurrent(task)) await this.#play("pass");
  }

  async #advise(seconds) {
    const task = this.#begin("advise");
    const report = await this.search.think(task, task.position, this.#advice(seconds));
    if (report && this.search.end(task)) this.render();
  }

  /** Searches the position as long as it is on the board, is not solved and grows. */
  async #deepen() {
    const { max_simulations: numSimulations, max_seconds: seconds } = this.settings;
    const task = this.#begin("watch");
    const how = { role: "advise", num_simulations: numSimulations, seconds };
    for (;;) {
      const report = await this.search.think(task, task.position, how);
      if (!report) return;
      if (report.score !== null || report.num_simulations === 0) break;
    }
    if (this.search.end(task)) this.render();
  }

  /** Searches a position unless it was searched, and returns whether it was or is now. */
  async searched(position) {
    if (position.isOver || this.#isSearched(position)) return true;
    const task = this.#begin("advise");
    const report = await this.search.think(task, position, this.#advice(HINT_SECONDS));
    return Boolean(report) && this.search.end(task);
  }

  /** Draws reports at most once a frame: a slow device would do nothing else. */
  #renderSoon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.render();
    });
  }

  #advice(seconds) {
    return { role: "advise", num_simulations: this.strength, seconds };
  }

  async #play(move) {
    if (await this.add(this.cursor, [move])) this.proceed();
  }

  /** Puts moves on the board, as a variation if they are new; returns whether it could. */
  async add(from, moves) {
    const task = this.search.begin("replay", from);
    let [at, number] = [from, 0];
    while (number < moves.length && at.child(moves[number])) at = at.child(moves[number++]);
    if (number < moves.length) {
      const added = moves.slice(number);
      const question = { ...this.question(at), moves: [...at.moves, ...added] };
      const game = await this.#replay(task, question);
      if (!game) return false;
      const first = at.ply + 1;
      added.forEach((move, index) => (at = at.add(move, game.plies[first + index])));
    }
    this.search.end(task);
    at.prefer();
    this.cursor = at;
    return true;
  }

  async #replace(question) {
    const task = this.#begin("replay");
    const game = await this.#replay(task, question);
    if (game) this.#show(game, question.moves.length ? "both" : this.side);
  }

  /** Returns a game with its plies, null if it was refused or is not wanted any more. */
  async #replay(task, question) {
    try {
      const game = await api.replay(question);
      return this.search.isCurrent(task) ? game : null;
    } catch (error) {
      if (!(error instanceof api.Failure) || !this.cursor) throw error;
      if (this.search.end(task)) this.say(error.message);
      this.render();
      return null;
    }
  }

  #show({ game, start, note, ...played }, human) {
    this.onLeave();
    this.search.stop();
    Object.assign(this, { game, start, human, title: note ?? "", id: newId() });
    this.isPaused = false;
    this.lessons.retried = null;
    this.cursor = tree.fromGame(played);
    this.say("");
    this.proceed();
  }

  #begin(kind) {
    const task = this.search.begin(kind, this.cursor);
    this.render();
    return task;
  }

  #isSearched(position) {
    const report = position.searched;
    return report !== null && tree.quality(report) >= this.strength;
  }
}
