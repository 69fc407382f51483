// Questions to the server. All errors are `Failure`s with one line for the reader.

const RETRIES = 5;

export class Failure extends Error {}

// Trees are kept by session: every tab has its own.
const session = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
  byte.toString(16).padStart(2, "0"),
).join("");

export async function settings() {
  return (await send("/api/settings")).json();
}

/** Replays a game: its plies, what is legal at each, whether it is over. */
export async function replay({ game, start, moves }) {
  return (await post("/api/game", { game, start, moves: moves.join(" ") })).json();
}

/** Reads what someone pasted. */
export async function read(game, text) {
  return (await post("/api/read", { game, text })).json();
}

/**
 * Thinks about the last position of a game.
 * @param {{game: string, start: ?string, moves: string[]}} played the game
 * @param {object} how the role, and what it needs
 * @param {AbortSignal} signal ends the search
 * @param {(report: object) => void} onReport told what is known so far, the result too
 * @returns the result
 */
export async function think({ game, start, moves }, how, signal, onReport) {
  const question = { game, start, moves: moves.join(" "), session, ...how };
  const response = await post("/api/think", question, signal);
  const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await lines.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new Failure("the connection to azo broke off");
    });
    if (done) throw new Failure("the connection to azo broke off");
    text += value;
    const complete = text.split("\n");
    text = complete.pop();
    for (const line of complete) {
      const answer = JSON.parse(line);
      if (answer.error) throw new Failure(answer.error);
      onReport(answer.report);
      if (answer.is_final) return answer.report;
    }
  }
}

async function post(path, body, signal) {
  const options = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  };
  for (let retry = 0; ; retry += 1) {
    const response = await send(path, options);
    if (response.ok) return response;
    if (response.status === 503 && retry < RETRIES) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      continue;
    }
    const { error } = await response.json().catch(() => ({}));
    throw new Failure(error ?? `azo answered ${response.status}`);
  }
}

async function send(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("azo does not answer: is its server still running?");
  }
}
