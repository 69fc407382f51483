// Versions of what several tabs change in turn, so that each begins with what the one before has written.
//
// A lock of the browser lets one tab at a time change a value. It is not enough: each tab has a copy of
// `localStorage`, which gets the changes of other tabs some milliseconds later. So the number of the latest
// change is also in IndexedDB, which has no copies, and a tab waits until its own copy is as new.

const STORE = "versions";
const POLL_MS = 2;
const MOST_MS = 2000; // then the value was removed, or IndexedDB kept while localStorage was cleared

let database = null; // a promise

/** Changes a value of `localStorage` by its name while no other tab does, as far as the browser has locks. */
export async function changed(name, change) {
  if (!navigator.locks) return change();
  return navigator.locks.request(name, async () => {
    const version = await latest(name);
    const end = performance.now() + MOST_MS;
    while (own(name) < version && performance.now() < end) await pause();
    const result = change();
    const next = Math.max(version, own(name)) + 1;
    try {
      localStorage.setItem(key(name), next); // after the value, so that it arrives after it
      await store(name, next);
    } catch {
      // no room, or no IndexedDB: only the lock is left
    }
    return result;
  });
}

const key = (name) => `${name}.version`;

const own = (name) => Number(localStorage.getItem(key(name))) || 0;

const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

/** The number of the latest change in any tab; 0 if it is unknown. */
async function latest(name) {
  try {
    return (await request((await opened()).transaction(STORE).objectStore(STORE).get(name))) ?? 0;
  } catch {
    return 0;
  }
}

async function store(name, version) {
  const transaction = (await opened()).transaction(STORE, "readwrite");
  await request(transaction.objectStore(STORE).put(version, name));
}

function opened() {
  if (!database) {
    const opening = indexedDB.open("azo", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    database = request(opening);
  }
  return database;
}

const request = (pending) =>
  new Promise((resolve, reject) => {
    pending.onsuccess = () => resolve(pending.result);
    pending.onerror = () => reject(pending.error);
    pending.onblocked = () => reject(new Error("blocked"));
  });
