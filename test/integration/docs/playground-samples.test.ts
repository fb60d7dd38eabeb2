import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, createVerifier, memoryInbox } from "@workspace-tasks/receiver-kit";
import { createClient } from "@workspace-tasks/sdk";
import { expect, it, vi } from "vitest";
import { describeError, describe as describeValue } from "../../../docs/playground/worker/describe.ts";
import { sampleOutputs } from "../../support/sample-outputs.ts";

const folder = join(import.meta.dirname, "../../../docs/playground/samples");
const AsyncFunction = (async () => {}).constructor as FunctionConstructor;

/** What a sample prints, with the globals of the playground's worker, in this process. */
async function outputOf(code: string): Promise<readonly string[]> {
  const receivers = new Map();
  await using mock = await createMockServer({ clock: "virtual", listen: false, receivers });
  const { apiKey, baseUrl, fetch } = mock;
  await using client = createClient({ apiKey, baseUrl, fetch });
  const lines: string[] = [];
  const log = (...values: readonly unknown[]) => lines.push(values.map(describeValue).join(" "));
  const parts = { createClient, createReceiver, createVerifier, memoryInbox };
  const globals = { mock, client, receivers, fetch, ...parts, console: { log } };
  const run = AsyncFunction(...Object.keys(globals), code) as (
    ...values: readonly unknown[]
  ) => Promise<void>;
  await run(...Object.values(globals)).catch((error: unknown) => lines.push(describeError(error).text));
  return lines;
}

it.each(Object.entries(sampleOutputs))(
  "the sample %s of the playground prints its output",
  async (title, lines) => {
    // The receiver reports what its handlers throw.
    using _ = vi.spyOn(console, "warn").mockReturnValue();
    const file = join(folder, `${title.toLowerCase().replace(" ", "-")}.js`);
    expect(await outputOf(readFileSync(file, "utf8"))).toEqual(lines);
  },
);
