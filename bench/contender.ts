/** Does the work `count` times. */
export type RunContender = (count: number) => void | Promise<void>;

/** Each file in `contenders/` exports one as `createContender`. A contender is ours or a peer. */
export type CreateContender = (name: string, argument: string) => RunContender | Promise<RunContender>;
