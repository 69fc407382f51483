// The game as a graph: black's expected final score and chance of winning at every ply.
//
// Only plies that follow one another are joined, so that a ply without a search is a gap. A click
// goes to a ply; a pointer above it shows its values.

import { discs, percent } from "./formatting.js";
import { make } from "./svg.js";

const LEFT = 34;
const RIGHT = 38;
const TOP = 8;
const BOTTOM = 18;

export class Graph {
  /**
   * @param {HTMLElement} element place of the drawing
   * @param {HTMLElement} note place of the values under the pointer
   * @param {(ply: number) => void} onChoose called with the clicked ply
   */
  constructor(element, note, onChoose) {
    Object.assign(this, { element, note, points: [], variation: [], branch: 0, cursor: 0 });
    Object.assign(this, { length: 1, last: 0 });
    const plyAt = (event) => {
      const x = event.clientX - element.getBoundingClientRect().left;
      const ply = Math.round(((x - LEFT) / this.#width()) * this.length);
      return Math.min(Math.max(ply, 0), this.last);
    };
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      onChoose(plyAt(event));
    });
    element.addEventListener("pointermove", (event) => {
      if (event.buttons) onChoose(plyAt(event));
      this.#describe(plyAt(event));
    });
    element.addEventListener("pointerleave", () => this.#describe(null));
    new ResizeObserver(() => this.#draw()).observe(element);
  }

  /**
   * @param {object} game the game
   * @param {(object | null)[]} game.points by ply: {name, discs, score, wins, mark} for black,
   *   null without a report
   * @param {(object | null)[]} game.variation points of the variation on the board
   * @param {number} game.branch the ply of the first one
   * @param {number} game.cursor the ply on the board
   * @param {number} game.length plies of the whole game
   */
  show({ points, variation, branch, cursor, length }) {
    const last = points.length - 1;
    const most = Math.max(length, branch + variation.length - 1, 1);
    Object.assign(this, { points, variation, branch, cursor, last, length: most });
    const point = variation.length ? variation[cursor - branch] : points[cursor];
    const attributes = {
      "aria-valuemin": 0,
      "aria-valuemax": Math.max(last, cursor),
      "aria-valuenow": cursor,
      "aria-valuetext": `ply ${cursor} of ${last}${point ? `, ${text(point)}` : ""}`,
    };
    for (const [name, value] of Object.entries(attributes)) this.element.setAttribute(name, value);
    this.#draw();
  }

  #describe(ply) {
    const point = ply === null ? null : this.points[ply];
    this.note.hidden = ply === null;
    this.note.textContent = point ? `${point.name}: ${text(point)}` : `ply ${ply}: not searched`;
    if (ply === null) return;
    const x = LEFT + (this.#width() * ply) / this.length;
    this.note.classList.toggle("left", x > this.element.clientWidth / 2);
    this.note.style.setProperty("--x", `${x}px`);
  }

  #width() {
    return Math.max(this.element.clientWidth - LEFT - RIGHT, 50);
  }

  #draw() {
    const [width, height] = [this.#width(), this.element.clientHeight];
    if (height < TOP + BOTTOM) return;
    const bottom = height - BOTTOM;
    const drawn = numbered(this.points, 0);
    const aside = numbered(this.variation, this.branch);
    const heights = [...drawn, ...aside].map((point) => Math.ceil(Math.abs(point.discs) / 8));
    const most = 8 * Math.max(1, ...heights);
    const x = (ply) => LEFT + (width * ply) / this.length;
    const y = (share) => TOP + (bottom - TOP) * (1 - share);
    const scaled = (number) => y(0.5 + number / (2 * most));
    const svg = make("svg", { width: width + LEFT + RIGHT, height, "aria-hidden": true });
    svg.append(make("rect", { class: "frame", x: LEFT, y: TOP, width, height: bottom - TOP }));
    for (const [share, right] of [[0, "0%"], [0.5, "50%"], [1, "100%"]]) {
      const [x1, x2, y1] = [LEFT, LEFT + width, y(share)];
      const left = discs(most * (2 * share - 1), most * (2 * share - 1));
      svg.append(make("line", { class: "grid", x1, x2, y1, y2: y1 }));
      svg.append(make("text", { x: x1 - 5, y: y1 + 4, "text-anchor": "end" }, left));
      svg.append(make("text", { x: x2 + 5, y: y1 + 4 }, right));
    }
    for (let ply = 0; ply <= this.length; ply += 10) {
      svg.append(make("text", { x: x(ply), y: height - 4, "text-anchor": "middle" }, String(ply)));
    }
    for (const run of runs(drawn)) {
      const line = (level) => run.map((point) => `${x(point.ply)},${level(point)}`).join(" ");
      const level = line((point) => scaled(point.discs));
      const ends = [x(run.at(-1).ply), x(run[0].ply)].map((end) => `${end},${y(0.5)}`).join(" ");
      svg.append(make("polygon", { class: "area", points: `${level} ${ends}` }));
      svg.append(make("polyline", { class: "wins", points: line((point) => y(point.wins)) }));
      svg.append(make("polyline", { class: "line", points: level }));
    }
    for (const run of runs(aside)) {
      const points = run.map((point) => `${x(point.ply)},${scaled(point.discs)}`).join(" ");
      svg.append(make("polyline", { class: "variation", points }));
    }
    const here = x(this.cursor);
    svg.append(make("line", { class: "cursor", x1: here, x2: here, y1: TOP, y2: bottom }));
    for (const point of drawn) {
      svg.append(dot(x(point.ply), scaled(point.discs), point, point.ply === this.cursor));
    }
    this.element.replaceChildren(svg);
  }
}

/** The points that are known, each with its ply. */
function numbered(points, first) {
  return points.flatMap((point, index) => (point ? [{ ply: first + index, ...point }] : []));
}

/** Splits points where a ply is missing. */
function runs(drawn) {
  const parts = [];
  for (const point of drawn) {
    if (parts.at(-1)?.at(-1).ply === point.ply - 1) parts.at(-1).push(point);
    else parts.push([point]);
  }
  return parts;
}

const text = ({ discs: expected, score, wins }) =>
  `black ${discs(expected, score)}, wins ${percent(wins)}`;

function dot(x, y, { score, mark }, isHere) {
  const r = isHere || mark ? 4.5 : 2.5;
  const style = `dot${score === null ? "" : " exact"}${mark ? " mistake" : ""}`;
  if (score === null) return make("circle", { class: style, cx: x, cy: y, r });
  const points = `${x},${y - r - 1} ${x + r + 1},${y} ${x},${y + r + 1} ${x - r - 1},${y}`;
  return make("polygon", { class: style, points });
}
