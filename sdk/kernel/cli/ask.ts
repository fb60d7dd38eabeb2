import { createInterface } from "node:readline/promises";

export interface AskOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

/** Asks and returns the text of the line; empty after a stop of the program, and at the end of the input. */
export async function ask(question: string, { input, output, signal }: AskOptions): Promise<string> {
  const lines = createInterface({ input, output, terminal: false });
  // Without it the question never resolves at the end of the input, and the process ends with code 13.
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  const answered = lines.question(question, { signal }).catch(() => "");
  return Promise.race([answered, ended]).finally(() => lines.close());
}
