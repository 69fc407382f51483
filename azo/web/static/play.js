// State of the page: the game with its variations, the position on the board, who plays.
//
// Moves follow the page's own rules, `rules.js`; the server is asked for searches. There is one search
// at a time. A change of the position or of the turn ends it, except an analysis of the game.

import { Analysis } from "./analysis.js";
import { alternatives, capital } from "./formatting.js";
import { Lessons } from "./lessons.js";
import { Practice } from "./practice.js";
import { Quiz } from "./quiz.js";
import { Search } from "./search.js";
import * as tree from "./tree.js";

const PASS_MS = 900;
const PEOPLE_FOR = "othello8"; // the game that has human-like levels
const RATING = 1800; // of players, if the level is not human-like
const MOVE_MS = { none: 700, black: 450, white: 450, both: 450 }; // least time between azo's moves

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
    this.strength = 400; // simulations of a position in analyses
    this.isContinuous = false; // searches whatever is on the board
    this.isDetailed = false; // shows visits, policy and the like
    this.game = null; // name of the game
    this.start = null; // text of an unusual start
    this.title = "";
    this.players = {}; // names of black and white, "" if unknown
    this.id = null; // of the stored game
    this.cursor = null; // position on the board
    this.isPaused = false;
    this.hinted = null; // the position with a hint
    this.onLeave = () => {}; // called before another game comes on the board
    this.analysis = new Analysis(this);
    this.lessons = new Lessons(this);
    this.practice = new Practice(this);
    this.quiz = new Quiz(this);
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

  /** Text of the position that the game begins with. */
  get firstPosition() {
    return this.start ?? this.info.start;
  }

  get root() {
    return this.cursor.path[0];
  }

  /** The positions of the game, whatever variation is on the board. */
  get line() {
    return this.root.line;
  }

  /** Whether the game is over; then it stays as it is, and other moves are variations. */
  get isFinished() {
    return this.line.at(-1).isEnd;
  }

  get isInVariation() {
    return this.cursor.branch !== this.cursor;
  }

  /** Whether the reader plays against azo now, and so has to find the moves. */
  get isPlaying() {
    const { human, cursor } = this;
    if (this.isPaused || cursor.isEnd || !["black", "white"].includes(human)) return false;
    return this.isInVariation ? this.isAtEnd : !this.isFinished;
  }

  /** Whether the player can give the game up. */
  get canResign() {
    return this.isPlaying && this.root.children.length > 0;
  }

  get isAtEnd() {
    return !this.cursor.next;
  }

  get isOver() {
    return this.cursor.isEnd;
  }

  /** Whether the side to move has no move but the pass. */
  get mustPass() {
    return this.cursor.legal[0] === "pass";
  }

  /** Whether a move was taken back here: another one continues the line in its place. */
  isOpen(position) {
    return position.isTakenBack && (!this.isFinished || position.branch !== position);
  }

  isHuman(colour) {
    return this.human === "both" || this.human === colour;
  }

  get isAzosTurn() {
    return this.isAtEnd && !this.isOver && !this.isHuman(this.cursor.mover);
  }

  /** Whether the player looks for a move, so that the values of the position stay hidden. */
  get isSecret() {
    return this.lessons.isSecret || this.quiz.isSecret;
  }

  /** The rating whose human moves the page shows: that of the level, or 1800. */
  get rating() {
    return Number(String(this.level).match(/(?<=human:)\d+/) ?? RATING);
  }

  /** The player's side, null if the player has both or none. */
  get ownSide() {
    return ["black", "white"].includes(this.human) ? this.human : null;
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
  begin(name) {
    this.#show({ game: name, start: null, moves: [] }, this.side);
  }

  /** Starts another game against azo, with the colours swapped. */
  rematch() {
    this.side = { black: "white", white: "black" }[this.human];
    this.begin(this.game);
  }

  /** Shows the game of a link. */
  follow(game) {
    this.#show(game, game.moves.length ? "both" : this.side);
    if (game.note) this.say(capital(game.note), "note");
  }

  /** Shows and analyses a game. */
  open(game) {
    this.#show(game, "both");
    if (game.note) this.say(capital(game.note), "note");
    if (game.moves.length) this.analysis.searchGame();
  }

  /** Shows an analysed game from its start. */
  showAnalysed(game) {
    this.#show(game, "both");
    this.goTo(this.root);
  }

  /** Shows a position to practise, at the end of its game. */
  pose({ game, start, moves }) {
    Object.assign(this, { game, start, human: "both", players: {}, title: "", id: newId() });
    this.lessons.retried = null;
    this.cursor = tree.fromGame({ start: this.firstPosition, moves });
  }

  /** Shows a stored game. */
  resume({ id, game, start, title, players, human, root, path, level = this.level }) {
    this.onLeave();
    this.search.stop();
    Object.assign(this, { id, game, start, title, players, human, level, isPaused: false });
    this.#checkLevel();
    this.lessons.retried = null;
    this.quiz.leave();
    this.cursor = path.reduce((at, move) => at.child(move) ?? at, root);
    this.say("");
    this.proceed();
  }

  /** Plays the square that was clicked. */
  choose(square) {
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
    if (this.quiz.isSecret) return this.quiz.answer(square);
    const isAnalysing = this.task?.kind === "analyse";
    this.add(this.cursor, [square]);
    this.isPaused = false; // a move of the player's calls for an answer
    if (this.lessons.retried?.parent === this.cursor.parent) return this.lessons.judge();
    // The move was on the board before, with azo's answer.
    if (!this.isAtEnd && !this.isHuman(this.cursor.mover)) this.cursor = this.cursor.next;
    return isAnalysing && this.human === "both" ? this.analysis.searchGame() : this.proceed();
  }

  /** Lets azo move for the side to move, or move at once if it is thinking. */
  go() {
    if (this.isOver) return this.say("The game is over", "note");
    if (this.task?.kind === "play") {
      const { latest } = this.task;
      return latest && this.#play(latest.move);
    }
    this.isPaused = false;
    return this.mustPass ? this.#play("pass") : this.#azoMoves();
  }

  /** Stops azo's moves until `go`. */
  pause() {
    this.isPaused = true;
    this.proceed();
  }

  /** Takes back the player's last move and azo's answer; with both sides, one ply. */
  undo() {
    if (this.cursor.resigned) {
      this.cursor.resigned = null;
      this.say("");
      return this.proceed();
    }
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
    this.cursor = position;
    this.say("");
    if (this.task?.kind === "analyse") this.render();
    else this.proceed();
  }

  /** Shows a ply of the game. */
  goToPly(ply) {
    const { line } = this;
    this.goTo(line[Math.min(Math.max(ply, 0), line.length - 1)]);
  }

  /** The player gives the game up. */
  resign() {
    if (!this.canResign) return this.say("There is no game to resign", "note");
    // After an undo the game ends here, and what was taken back is a variation.
    if (!this.isInVariation && !this.isOpen(this.cursor)) this.cursor = this.line.at(-1);
    this.cursor.resigned = this.human;
    this.say("Undo takes back the resignation", "note");
    return this.proceed();
  }

  /** Makes the variation on the board the game. */
  keep() {
    for (const position of this.cursor.path.slice(1)) position.promote();
    this.render();
  }

  /** Changes the sides, the level, the map, the strength or the details. */
  change(name, value) {
    this[name] = value;
    if (name === "human") Object.assign(this, { side: value, isPaused: false });
    const isChanged = {
      human: () => true,
      level: () => this.task?.kind === "play",
      map: () => !this.task,
    }[name]?.();
    if (isChanged) this.proceed();
    else this.render();
  }

  /** Starts the next action of the position: azo's move, a pass, or a search. */
  proceed() {
    this.search.stop();
    this.render();
    if (this.cursor.isOver) return undefined;
    if (this.isOver) return this.analysis.proceed(); // a resigned position has values
    const isWaiting = this.isAzosTurn && this.isPaused;
    if (this.isAtEnd && this.mustPass && !isWaiting) return this.#passSoon();
    if (this.isAzosTurn && !isWaiting) return this.#azoMoves();
    return this.isSecret ? undefined : this.analysis.proceed();
  }

  async #azoMoves() {
    const task = this.beginTask("play");
    const pause = sleep(this.cursor.ply === 0 ? 0 : MOVE_MS[this.human]);
    const how = { role: "play", level: this.level };
    const report = await this.search.think(task, task.position, how);
    await pause;
    if (report && this.search.isCurrent(task)) this.#play(report.move);
  }

  async #passSoon() {
    const task = this.beginTask("pass");
    this.say(`${capital(this.cursor.mover)} has no move and passes`, "note");
    await sleep(PASS_MS);
    if (this.search.isCurrent(task)) this.#play("pass");
  }

  /** Draws reports at most once a frame: a slow device would do nothing else. */
  #renderSoon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.render();
    });
  }

  #play(move) {
    this.add(this.cursor, [move]);
    this.proceed();
  }

  /** Puts legal moves on the board, as a variation unless they continue a line. */
  add(from, moves) {
    this.search.stop();
    const last = moves.reduce((at, move) => at.child(move) ?? at.add(move), from);
    if (this.isOpen(from)) from.child(moves[0]).promote();
    from.isTakenBack = false;
    this.cursor = last;
  }

  #show({ game, start, moves, reports, note, players = {} }, human) {
    this.onLeave();
    this.search.stop();
    Object.assign(this, { game, start, human, players, title: note ?? "", id: newId() });
    this.isPaused = false;
    this.#checkLevel();
    this.lessons.retried = null;
    this.quiz.leave();
    this.cursor = tree.fromGame({ start: this.firstPosition, moves, reports });
    this.say("");
    this.proceed();
  }

  /** Whether there are human-like levels for the game. */
  get hasPeople() {
    return this.game === PEOPLE_FOR;
  }

  /** On a board without human-like levels, azo has the level that the server was started with. */
  #checkLevel() {
    if (this.hasPeople || !String(this.level).startsWith("human:")) return;
    const { level, levels } = this.settings;
    this.level = Number.isInteger(level) ? level : levels.length;
  }

  /** Starts a search of the position on the board in place of the current one. */
  beginTask(kind) {
    const task = this.search.begin(kind, this.cursor);
    this.render();
    return task;
  }
}
