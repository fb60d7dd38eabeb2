/** Microseconds of a clock that all processes of this machine share and that is never set. */
export const machineMicros = (): number => Number(process.hrtime.bigint() / 1_000n);
