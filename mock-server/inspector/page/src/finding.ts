/** One thing that is wrong with a delivery that does not verify. */
export type Finding = {
  readonly code: string;
  readonly title: string;
  /** What to do about it. */
  readonly advice: string;
};
