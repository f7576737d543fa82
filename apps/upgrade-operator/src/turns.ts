/** Has acts follow one another that must not overlap. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the act when all that were asked for before have ended, however they did. */
  take<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
