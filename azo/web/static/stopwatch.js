// The seconds of azo's thought about its move: they show that a slow level is at work.

const STEP_MS = 250;
const QUICK_MS = 1000; // a shorter thought shows none

let timer = null;

/** Shows the seconds of a task as long as it is the current one; null for none. */
export function showSeconds(task) {
  const element = document.getElementById("seconds");
  clearTimeout(timer);
  const elapsed = task ? performance.now() - task.start : 0;
  const text = elapsed < QUICK_MS ? "" : `${Math.floor(elapsed / 1000)} s`;
  if (element.textContent !== text) element.textContent = text;
  if (task) timer = setTimeout(() => showSeconds(task), STEP_MS);
}
