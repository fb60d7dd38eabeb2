/** Advances a virtual clock by seconds until the promise settles; fails when it takes more than `secondsMax`. */
export async function advanceUntilSettled<Value>(
  clock: { advance(byMs: number): Promise<unknown> },
  promise: Promise<Value>,
  secondsMax = 100_000,
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
