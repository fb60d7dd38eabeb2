// The example receiver-postgres agrees with the service, without a line of code for it: with tasks of before, deliveries that were
// lost, and a service that was away for a while.
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { createMockServer } from "@workspace-tasks/mock-server";
import { expect } from "vitest";
import { createRandom } from "../../integration/simulation/random.ts";
import { atDepth } from "../../support/depth.ts";
import { freePort, listen } from "../../support/listen.ts";
import { packageEnvironment, packageFlagsOfTypescript } from "../../support/package-flags.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { itWithPostgres } from "../../support/with-postgres.ts";

const everyMs = atDepth(5_000, 15_000);
const awayMs = atDepth(7_000, 600_000);
const before = atDepth(300, 1_000);
const during = 60;
const url = "https://receiver.example/webhooks";

itWithPostgres(
  `the example receiver-postgres has the states of ${before + during} tasks within twice everyMs after ${awayMs / 1_000} s without the service, with 30 % of the deliveries lost; without a client it has not`,
  { timeout: 900_000 },
  async () => {
    const random = createRandom(1);
    const receivers: string[] = [];
    const forward = async (request: Request) => {
      const body = await request.arrayBuffer();
      // Answered, and lost on the way.
      if (random.happens(0.3)) return new Response();
      const init = { method: "POST", headers: request.headers, body };
      for (const origin of receivers) await fetch(`${origin}/webhooks`, init);
      return new Response();
    };
    await using mock = await createMockServer({ receivers: new Map([[url, forward]]) });
    const start = (count: number) =>
      Promise.all(
        Array.from({ length: count }, () =>
          mock.control.startTask({ taskType: "BINDER", progression: "manual" }),
        ),
      );
    const old = await start(before);
    for (const { taskId } of old) await mock.control.setTaskStatus(taskId, { status: "COMPLETED" });
    const { signingSecret } = await mock.control.createEndpoint({ url });

    let isAway = false;
    await using service = await listen(
      createServer(async (request, response) => {
        if (isAway) return void response.writeHead(503).end();
        const body: Uint8Array[] = [];
        for await (const chunk of request) body.push(chunk as Uint8Array);
        const { "content-type": type = "", authorization } = request.headers;
        const headers = { "content-type": type, ...(authorization && { authorization }) };
        const answer = await fetch(`${mock.baseUrl}${request.url}`, {
          method: request.method ?? "POST",
          headers,
          ...(body.length > 0 && { body: Buffer.concat(body) }),
        });
        response.writeHead(answer.status, { "content-type": "application/json" });
        response.end(await answer.text());
      }),
    );
    const databases = await sharedPostgres();
    const run = async (baseUrl: string) => {
      const database = await databases.database();
      const port = await freePort();
      const program = new RunningProgram([...packageFlagsOfTypescript, "examples/receiver-postgres.ts"], {
        env: {
          ...packageEnvironment,
          DATABASE_URL: database.url,
          PORT: String(port),
          WORKSPACE_TASKS_SIGNING_SECRET: signingSecret,
          WORKSPACE_TASKS_BASE_URL: baseUrl,
          WORKSPACE_TASKS_API_KEY: mock.apiKey,
          RECONCILE_MS: String(everyMs),
        },
      });
      const origin = `http://127.0.0.1:${port}`;
      while (!(await fetch(origin).catch(() => undefined))) await pause(100);
      receivers.push(origin);
      const pool = database.pool();
      const completed = async () =>
        (await pool.query("SELECT count(*)::int AS n FROM task_states WHERE status = 'COMPLETED'")).rows[0].n;
      return {
        completed,
        async [Symbol.asyncDispose]() {
          program[Symbol.dispose]();
          await pool.end();
          await database[Symbol.asyncDispose]();
        },
      };
    };
    await using receiver = await run(service.origin);
    await using control = await run(`http://127.0.0.1:${await freePort()}`);
    while ((await receiver.completed()) < before) await pause(500);

    isAway = true;
    const lost = await start(during);
    for (const { taskId } of lost) await mock.control.setTaskStatus(taskId, { status: "COMPLETED" });
    await pause(awayMs);
    isAway = false;
    const endMs = performance.now() + 2 * everyMs;
    while ((await receiver.completed()) < before + during && performance.now() < endMs) await pause(500);
    expect(await receiver.completed()).toBe(before + during);
    const without = await control.completed();
    expect(without).toBeGreaterThan(0);
    expect(without).toBeLessThan(during);
  },
);
