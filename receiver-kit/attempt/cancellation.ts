/** Ends an attempt early. An `AbortSignal` costs more than the rest of a short attempt, so it is created when it is read. */
export class Cancellation {
  /** Why the attempt was cancelled. */
  reason: Error | undefined;
  #controller: AbortController | undefined;
  #onCancel: ((reason: Error) => void) | undefined;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.reason) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  /** The first reason counts. */
  cancel(reason: Error): void {
    if (this.reason) return;
    this.reason = reason;
    this.#controller?.abort(reason);
    this.#onCancel?.(reason);
  }

  /** Settles as `work` does, or rejects with the reason. For one work at a time. */
  race(work: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.reason) reject(this.reason);
      this.#onCancel = reject;
      work.then(resolve, reject);
    });
  }
}
