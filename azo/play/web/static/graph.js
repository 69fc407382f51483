// The value over the game: black's share of the points at every ply; a click goes to the ply.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 140;
const LEFT = 42;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 20;

export class Graph {
  /**
   * @param {HTMLElement} element place of the drawing
   * @param {(ply: number) => void} onChoose called with the clicked ply
   */
  constructor(element, onChoose) {
    this.element = element;
    this.points = [];
    this.cursor = 0;
    this.length = 1;
    const choose = (event) => {
      const x = event.clientX - element.getBoundingClientRect().left;
      const ply = Math.round(((x - LEFT) / this.#width()) * this.length);
      onChoose(Math.min(Math.max(ply, 0), this.last));
    };
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      choose(event);
    });
    element.addEventListener("pointermove", (event) => {
      if (event.buttons) choose(event);
    });
    new ResizeObserver(() => this.#draw()).observe(element);
  }

  /**
   * @param {({black: number, isExact: boolean} | null)[]} points by ply, null without a report
   * @param {number} cursor the ply on the board
   * @param {number} length plies on the axis
   */
  show(points, cursor, length) {
    this.points = points;
    this.cursor = cursor;
    this.last = points.length - 1;
    this.length = Math.max(length, 1);
    const point = points[cursor];
    const black = point ? `, black ${Math.round(100 * point.black)} %` : "";
    this.element.setAttribute("aria-valuemin", 0);
    this.element.setAttribute("aria-valuemax", this.last);
    this.element.setAttribute("aria-valuenow", cursor);
    this.element.setAttribute("aria-valuetext", `ply ${cursor} of ${this.last}${black}`);
    this.#draw();
  }

  #width() {
    return Math.max(this.element.clientWidth - LEFT - RIGHT, 50);
  }

  #draw() {
    const width = this.#width();
    const bottom = HEIGHT - BOTTOM;
    const x = (ply) => LEFT + (width * ply) / this.length;
    const y = (black) => TOP + (bottom - TOP) * (1 - black);
    const drawn = this.points.flatMap((point, ply) => (point ? [{ ply, ...point }] : []));
    const svg = make("svg", { width: width + LEFT + RIGHT, height: HEIGHT, "aria-hidden": true });
    const box = { x: LEFT, y: TOP, width, height: bottom - TOP };
    svg.append(make("rect", { class: "frame", ...box }));
    if (drawn.length) {
      const [from, to] = [x(drawn[0].ply), x(drawn.at(-1).ply)];
      svg.append(make("rect", { class: "white", ...box, x: from, width: to - from }));
      const line = drawn.map(({ ply, black }) => `${x(ply)},${y(black)}`).join(" ");
      const area = `${from},${bottom} ${line} ${to},${bottom}`;
      svg.append(make("polygon", { class: "black", points: area }));
      svg.append(make("polyline", { class: "line", points: line }));
    }
    for (const [black, text] of [[0, "0%"], [0.5, "50%"], [1, "100%"]]) {
      const [x1, x2, height] = [LEFT, LEFT + width, y(black)];
      svg.append(make("line", { class: "grid", x1, x2, y1: height, y2: height }));
      svg.append(make("text", { x: LEFT - 5, y: height + 4, "text-anchor": "end" }, text));
    }
    for (let ply = 0; ply <= this.length; ply += 10) {
      svg.append(make("text", { x: x(ply), y: HEIGHT - 5, "text-anchor": "middle" }, String(ply)));
    }
    const here = x(this.cursor);
    svg.append(make("line", { class: "cursor", x1: here, x2: here, y1: TOP, y2: bottom }));
    for (const { ply, black, isExact } of drawn) {
      svg.append(dot(x(ply), y(black), isExact, ply === this.cursor));
    }
    this.element.replaceChildren(svg);
  }
}

function dot(x, y, isExact, isHere) {
  const r = isHere ? 5 : 3;
  if (!isExact) return make("circle", { class: "dot", cx: x, cy: y, r });
  const points = `${x},${y - r - 1} ${x + r + 1},${y} ${x},${y + r + 1} ${x - r - 1},${y}`;
  return make("polygon", { class: "dot exact", points });
}

function make(name, attributes, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}
