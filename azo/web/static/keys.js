// Keys of the page, and the mouse wheel above the board.

const MAPS = ["none", "value", "visits", "prior"];
const WHEEL_STEP = 50; // pixels of a step; one notch of a wheel is more

/**
 * Connects keys with actions.
 * @param {Play} play the state of the page
 * @param {Object<string, () => void>} actions by the name of their button
 */
export function connectKeys(play, actions) {
  const nextMap = () => {
    const maps = play.isDetailed ? MAPS : MAPS.slice(0, 2);
    play.change("map", maps[(maps.indexOf(play.map) + 1) % maps.length]);
  };
  const keys = {
    ArrowLeft: actions.back,
    ArrowRight: actions.forward,
    PageUp: actions.back,
    PageDown: actions.forward,
    Home: actions.first,
    End: actions.last,
    Escape: actions["to-game"],
    u: actions.undo,
    h: actions.hint,
    g: actions.go,
    a: actions.analyse,
    l: actions.watch,
    x: actions.solve,
    s: actions.games,
    ".": actions["next-mistake"],
    ",": actions["previous-mistake"],
    b: actions.better,
    r: actions.retry,
    m: nextMap,
    d: actions.detailed,
    n: actions.new,
    o: actions.open,
    e: actions.edit,
    "?": actions.help,
  };
  document.addEventListener("keydown", (event) => {
    const isElsewhere =
      event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]");
    const isTyping = event.target.matches("select, textarea");
    const isChoosing = event.target.matches("input") && event.key.startsWith("Arrow");
    if (isElsewhere || isTyping || isChoosing) return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** The wheel above an element steps through the game: down is forward. */
export function connectWheel(element, { back, forward }) {
  let moved = 0;
  element.addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey) return; // zooms
      event.preventDefault();
      const isPixels = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL;
      if (Math.sign(event.deltaY) !== Math.sign(moved)) moved = 0;
      moved += isPixels ? event.deltaY : Math.sign(event.deltaY) * WHEEL_STEP;
      if (Math.abs(moved) < WHEEL_STEP) return;
      if (moved > 0) forward();
      else back();
      moved = 0;
    },
    { passive: false },
  );
}
