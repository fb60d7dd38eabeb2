/** Work that has begun and not ended. */
export class InFlight {
  readonly #work = new Set<Promise<unknown>>();

  /** The result of the work. */
  async track<Result>(work: Promise<Result>): Promise<Result> {
    this.#work.add(work);
    try {
      return await work;
    } finally {
      this.#work.delete(work);
    }
  }

  /** Resolves once what is in flight now has ended, also with an error. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#work);
  }
}
