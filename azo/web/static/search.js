// One search at a time: its requests to the server, and the reports that positions keep.

import * as api from "./api.js";

/** Only analyses know discs, and a position is solved only at the end. */
const isKept = ({ discs, score }, { role }) =>
  discs !== null && (role !== "solve" || score !== null);

export class Search {
  /**
   * @param {(position: Position) => object} question the game up to a position
   * @param {() => void} render shows a new report
   * @param {(task: object, message: string) => void} fail called when the server refuses
   */
  constructor(question, render, fail) {
    Object.assign(this, { question, render, fail });
    this.task = null; // {kind, position, controller, latest, start}
  }

  /** Starts a task in place of the current one. */
  begin(kind, position) {
    this.stop();
    const controller = new AbortController();
    this.task = { kind, position, controller, latest: null, start: performance.now() };
    return this.task;
  }

  stop() {
    this.task?.controller.abort();
    this.task = null;
  }

  /** Ends a task if it is the current one, and returns whether it was. */
  end(task) {
    if (task !== this.task) return false;
    this.task = null;
    return true;
  }

  isCurrent(task) {
    return task === this.task;
  }

  /** Returns the final report of a position, or null if the search failed or was stopped. */
  async think(task, position, how) {
    const onReport = (report) => {
      if (!this.isCurrent(task)) return;
      task.latest = report;
      if (isKept(report, how)) position.record(report);
      this.render();
    };
    const question = this.question(position);
    try {
      const report = await api.think(question, how, task.controller.signal, onReport);
      return this.isCurrent(task) ? report : null;
    } catch (error) {
      if (error.name === "AbortError") return null;
      if (!(error instanceof api.Failure)) throw error;
      if (this.end(task)) this.fail(task, error.message);
      return null;
    }
  }
}
