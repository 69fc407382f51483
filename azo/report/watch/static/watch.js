// Asks for the run every few seconds, and draws it anew when it has changed.

const SECONDS = 3;
const CONFIG = { displaylogo: false, responsive: true };
const isTouched = matchMedia("(pointer: coarse)").matches; // a finger scrolls and does not zoom
const find = (id) => document.getElementById(id);
let seen = "";

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

function board(text) {
  const [squares, mover] = text.split(" ");
  const made = element("div", `board ${mover}-moves`);
  const count = (colour) => squares.split(colour).length - 1;
  const side = mover === "X" ? "black" : "white";
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", `${count("X")} black and ${count("O")} white discs, ${side} to move`);
  made.style.gridTemplateColumns = `repeat(${Math.sqrt(squares.length)}, 1fr)`;
  made.append(...[...squares].map((square) => element("span", square === "-" ? "" : square)));
  return made;
}

function section(sheet) {
  let found = find(sheet.name);
  if (!found) {
    found = element("section", "");
    found.id = sheet.name;
    const panels = element("div", "panels");
    found.append(element("h2", "", sheet.title), element("p", ""), panels);
    find("sheets").append(found);
  }
  found.querySelector("p").textContent = sheet.caption;
  return found.querySelector(".panels");
}

function show(run) {
  document.title = find("title").textContent = run.title;
  const entries = Object.entries(run.summary);
  find("summary").replaceChildren(
    ...entries.map(([name, value]) => {
      const entry = element("div", "");
      entry.append(element("dt", "", name), element("dd", "", value));
      return entry;
    }),
  );
  find("games").hidden = !run.games.boards.length;
  find("boards").replaceChildren(...run.games.boards.map(board));
  for (const sheet of run.sheets) {
    const panels = section(sheet);
    sheet.panels.forEach((panel, number) => {
      if (!panels.children[number]) panels.append(element("div", "panel"));
      panel.layout.uirevision = "kept"; // a reader's zoom stays
      if (isTouched) panel.layout.dragmode = false;
      Plotly.react(panels.children[number], panel.data, panel.layout, CONFIG);
    });
  }
}

async function refresh() {
  let notice = "";
  try {
    const answer = await fetch(`/run?seen=${encodeURIComponent(seen)}`);
    if (answer.status !== 204) {
      const run = await answer.json();
      if (answer.ok) {
        show(run);
        seen = run.version;
      } else {
        notice = run.error;
      }
    }
  } catch {
    notice = "azo watch does not answer: has it ended?";
  }
  find("notice").textContent = notice;
  setTimeout(refresh, SECONDS * 1000);
}

refresh();
