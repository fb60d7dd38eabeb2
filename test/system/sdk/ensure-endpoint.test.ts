import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { createVerifier } from "@workspace-tasks/receiver-kit";
import { fileSecrets, readSigningSecrets } from "@workspace-tasks/sdk";
import { expect, it } from "vitest";
import { createRandom } from "../../integration/simulation/random.ts";
import { bundledProgram } from "../../support/bundled-program.ts";
import { atDepth } from "../../support/depth.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { withFolder } from "../../support/with-folder.ts";
import type { EnsureEndpointProcessInput } from "./ensure-endpoint-program.ts";

const url = "https://receiver.example/webhooks";
const kills = atDepth(3, 12);

interface Fixture {
  readonly mock: MockServer;
  readonly path: string;
  start(input?: Partial<EnsureEndpointProcessInput>): RunningProgram;
  /** Whether the newest secret of the file verifies the next delivery. */
  verifiesNext(): Promise<boolean>;
}

async function withProcesses(use: (fixture: Fixture) => Promise<void>): Promise<void> {
  const deliveries: { headers: Record<string, string>; body: Uint8Array }[] = [];
  const receive = async (request: Request) => {
    const body = new Uint8Array(await request.arrayBuffer());
    deliveries.push({ headers: Object.fromEntries(request.headers), body });
    return new Response(null, { status: 204 });
  };
  await using mock = await createMockServer({ receivers: new Map([[url, receive]]) });
  const { apiKey, baseUrl } = mock;
  const program = await bundledProgram("test/system/sdk/ensure-endpoint-program.ts");
  await withFolder(async (folder) => {
    const path = join(folder, "secrets.json");
    await use({
      mock,
      path,
      start(input) {
        const given = { apiKey, baseUrl, url, path, rotates: false, aheadMs: 0, ...input };
        return new RunningProgram([...program, JSON.stringify(given)]);
      },
      async verifiesNext() {
        deliveries.length = 0;
        await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
        await expect.poll(() => deliveries.length).toBe(1);
        const [newest] = readSigningSecrets(await fileSecrets(path).read());
        const [delivery] = deliveries;
        if (newest === undefined || !delivery) return false;
        const verifying = createVerifier({ secrets: [newest] }).verify(delivery.body, delivery.headers);
        return verifying.then(
          () => true,
          () => false,
        );
      },
    });
  });
}

const endpointsOf = async ({ control }: MockServer) => (await control.listEndpoints({})).data.length;

it(
  "four processes that start at once share one endpoint and one secret",
  () =>
    withProcesses(async ({ mock, path, start, verifiesNext }) => {
      const programs = Array.from({ length: 4 }, () => start());
      const ends = await Promise.all(programs.map((program) => program.ended()));
      const expected = {
        code: 0,
        output: `${JSON.stringify(readSigningSecrets(await fileSecrets(path).read()))}\n`,
      };
      expect(ends).toEqual(Array(4).fill(expected));
      expect(await endpointsOf(mock)).toBe(1);
      expect(await verifiesNext()).toBe(true);
      expect(await readdir(join(path, ".."))).toEqual(["secrets.json"]);
    }),
  300_000,
);

it(
  "a process that is killed while it creates or rotates loses no secret when it is started again",
  () =>
    withProcesses(async ({ mock, start, verifiesNext }) => {
      using first = start();
      const isCreating = async () =>
        (await mock.control.listRequests({})).data.some(({ operations }) =>
          operations.includes("createWebhookEndpoint"),
        );
      await expect.poll(isCreating, { interval: 1 }).toBe(true);
      first.signal("SIGKILL");
      const random = createRandom(1);
      for (let kill = 1; kill <= kills; kill += 1) {
        using program = start({ rotates: true, aheadMs: 60_000 * kill });
        await program.said(/whsec_/);
        await pause(random.integer(0, 60));
        program.signal("SIGKILL");
        await program.ended();
        const restarted = await start({ aheadMs: 60_000 * kill + 31_000 }).ended();
        expect(restarted).toMatchObject({ code: 0 });
        expect(await verifiesNext()).toBe(true);
      }
      expect(await endpointsOf(mock)).toBe(1);
    }),
  300_000,
);
