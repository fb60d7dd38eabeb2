const sizeMax = 8;

/**
 * How many events may be kept or rolled back as one group. It falls fast when groups fail, since all their events are then
 * repeated, and rises slowly.
 */
export class GroupSize {
  #size = sizeMax;

  get max(): number {
    return Math.floor(this.#size);
  }

  onKept(): void {
    this.#size = Math.min(sizeMax, this.#size + 0.1);
  }

  onUndone(): void {
    this.#size = Math.max(1, this.#size / 2);
  }
}
