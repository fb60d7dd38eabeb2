export type Contender = {
  readonly name: string;
  /** Does the work `count` times. */
  run(count: number): void | Promise<void>;
};

/** Each file in `contenders/` exports one as `contenders`. */
export type ListContenders = (argument: string) => readonly Contender[] | Promise<readonly Contender[]>;
