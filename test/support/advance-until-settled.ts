const secondsMax = 100_000;

/** Advances a virtual clock by seconds until the promise settles. */
export async function advanceUntilSettled<Value>(
  clock: { advance(byMs: number): Promise<unknown> },
  promise: Promise<Value>,
): Promise<Value> {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  for (let seconds = 0; !settled; seconds += 1) {
    if (seconds > secondsMax) throw new Error(`the promise did not settle within ${secondsMax} s`);
    await clock.advance(1_000);
  }
  return promise;
}
