/** Questions of which only the newest matters, such as those of a slider that is dragged. */

/**
 * Asks for the newest wish: at most one question is on the way, and at most one is asked in a frame. Wishes in between
 * are never asked, so answers come in the order of their wishes.
 * @template W, T
 * @param {(wish: W) => Promise<T>} ask
 * @param {(answer: T, wish: W, isLast: boolean) => void} take `isLast`: nothing newer is wished for
 * @param {(error: Error, wish: W, isLast: boolean) => void} fail
 * @returns {(wish: W) => void} wishes for something
 */
export function latest(ask, take, fail) {
  let wished = /** @type {{ wish: W } | null} */ (null);
  let isAsking = false;
  const isLast = () => wished === null;
  const next = async () => {
    if (wished === null) {
      isAsking = false;
      return;
    }
    const { wish } = wished;
    wished = null;
    try {
      const answer = await ask(wish);
      take(answer, wish, isLast());
    } catch (error) {
      fail(/** @type {Error} */ (error), wish, isLast());
    }
    requestAnimationFrame(next);
  };
  return (wish) => {
    wished = { wish };
    if (isAsking) return;
    isAsking = true;
    next();
  };
}
