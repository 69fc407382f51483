// Requests to the server. Every error is a `Failure` with one line for the reader.

const RETRIES = 5;

export class Failure extends Error {}

// The server keeps search trees by session; each tab has its own.
const session = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
  byte.toString(16).padStart(2, "0"),
).join("");

export async function settings() {
  return (await send("/api/settings")).json();
}

/**
 * Returns a game of a pasted text, `{text}`, or of a file, `{name, content}` in Base64, with the
 * titles and numbers of all its games; the first that can be opened without a `number`.
 */
export async function read(game, source, number = null) {
  return (await post("/api/read", { game, ...source, number })).json();
}

/** Returns positions to practise that come with azo, "endings" or "openings". */
export async function shipped(kind) {
  return (await send(`/static/${kind}.json`)).json();
}

/**
 * Returns reasons, sentences, for a mistake in the last position: two lines, each with its move, and
 * the scores after both for the other side.
 */
export async function reasons({ game, start, moves }, refutation, better, leads, isExact) {
  const lines = { refutation: refutation.join(" "), better: better.join(" ") };
  const known = { leads, is_exact: isExact };
  return (await post("/api/reasons", { game, start, moves: moves.join(" "), ...lines, ...known })).json();
}

/**
 * Searches the last position of a game.
 * @param {{game: string, start: ?string, moves: string[]}} played the game
 * @param {object} how the role and its limits
 * @param {AbortSignal} signal ends the search
 * @param {(report: object) => void} onReport called with every report
 * @returns the final report
 */
export async function think({ game, start, moves }, how, signal, onReport) {
  const question = { game, start, moves: moves.join(" "), session, ...how };
  const response = await post("/api/think", question, signal);
  const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await lines.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new Failure("the connection to azo was lost");
    });
    if (done) throw new Failure("the connection to azo was lost");
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
    throw new Failure("azo does not answer: is the server still running?");
  }
}
