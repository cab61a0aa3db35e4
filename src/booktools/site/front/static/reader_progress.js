// Where a reader is in the book, and what they have done there. Only this browser knows.
const KEY = "reading";

/**
 * @returns {{ visited: number[], last?: { chapter: number, page: string, title: string }, done: string[],
 *   guessed: Object<string, string> }}  chapters, the section read last, exercises by their ids, guesses by page and id
 */
export function place() {
  try {
    const { visited, last, done, guessed } = JSON.parse(localStorage.getItem(KEY));
    const list = (kept) => (Array.isArray(kept) ? kept : []);
    return { visited: list(visited), last, done: list(done), guessed: { ...guessed } };
  } catch {
    return { visited: [], done: [], guessed: {} };
  }
}

export function remember(more) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...place(), ...more }));
  } catch {
    /* it holds for this page */
  }
}
