// Where a reader is in the book, and what they have done there. Only this browser knows.
const KEY = "reading";

/** The page that is open: what is kept of it begins with its name. */
export const page = location.pathname
  .split("/")
  .at(-1)
  .replace(/\.html$/, "");

/**
 * @returns {{ visited: number[], last?: { chapter: number, page: string, title: string }, done: string[], touched: string[],
 *   guessed: Object<string, string> }}  chapters read to their end, the section read last, exercises by their ids, tasks by
 *   page, widget and place, guesses by page and id
 */
export function place() {
  try {
    const { visited, last, done, touched, guessed } = JSON.parse(localStorage.getItem(KEY));
    const list = (kept) => (Array.isArray(kept) ? kept : []);
    return { visited: list(visited), last, done: list(done), touched: list(touched), guessed: { ...guessed } };
  } catch {
    return { visited: [], done: [], touched: [], guessed: {} };
  }
}

export function remember(more) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...place(), ...more }));
  } catch {
    /* it holds for this page */
  }
}

/**
 * @param {number} chapter
 * @returns {{ tasks: number, guesses: number, code: number, exercises: number }} how many of each a reader has done in it
 */
export function doneIn(chapter) {
  const { done, touched, guessed } = place();
  const count = (names) => names.filter((name) => Number(/\d+/.exec(name)?.[0]) === chapter).length;
  let code = [];
  try {
    code = Object.keys(localStorage).filter((name) => name.startsWith("write "));
  } catch {
    /* nothing is kept */
  }
  return { tasks: count(touched), guesses: count(Object.keys(guessed)), code: count(code), exercises: count(done) };
}
