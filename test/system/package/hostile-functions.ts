// What a function of an application may do where the package expects a result or nothing. Each program that calls with
// them ends by itself, whatever it was given, and prints a JSON object with an entry per function.

export const behaviours = {
  throws() {
    throw new Error("thrown");
  },
  rejects: () => Promise.reject(new Error("rejected")),
  "rejects late": () =>
    new Promise((_, reject) => void setTimeout(() => reject(new Error("rejected late")), 20)),
  "never settles": () => new Promise(() => {}),
  "returns garbage": () => 42,
  "returns a thenable that throws": () => ({
    // biome-ignore lint/suspicious/noThenProperty: that is the point
    then() {
      throw new Error("then");
    },
  }),
} as const;

export type Behaviour = keyof typeof behaviours;

const names = Object.keys(behaviours) as Behaviour[];

/** The behaviour of `hostile` at present. */
export let behaviour: Behaviour = "throws";

/** A function of the application. */
export const hostile = ((...values: never[]) =>
  (behaviours[behaviour] as (...values: never[]) => unknown)(...values)) as (...values: unknown[]) => never;

/** Runs each case with each behaviour, and prints what they resolve to. `reached` is part of the output when one ends the process. */
export async function printOutcomes(cases: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  const outcomes: Partial<Record<Behaviour, object>> = {};
  for (behaviour of names) {
    const own: Record<string, unknown> = {};
    for (const [name, run] of Object.entries(cases)) {
      console.error(`reached: ${behaviour} ${name}`);
      own[name] = await run();
      // What rejects late does so before the next case begins.
      await new Promise((resolve) => void setTimeout(resolve, 40));
    }
    outcomes[behaviour] = own;
  }
  console.log(JSON.stringify(outcomes));
}
