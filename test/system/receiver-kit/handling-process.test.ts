// A process that only handles lives until close(), whatever its inbox, and also while its database is down.
import { setTimeout as pause } from "node:timers/promises";
import { createReceiver, type Inbox } from "@workspace-tasks/receiver-kit";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { storeOf } from "../../../receiver-kit/inbox/inbox.ts";
import { bundledProgram } from "../../support/bundled-program.ts";
import { atDepth } from "../../support/depth.ts";
import { createFreezingProxy } from "../../support/freezing-proxy.ts";
import { postgresInbox, sqliteInbox } from "../../support/inbox-stores.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { secretA, signDelivery } from "../../support/signed-delivery.ts";
import { withFolder } from "../../support/with-folder.ts";
import { itWithPostgres } from "../../support/with-postgres.ts";

const entry = "test/system/receiver-kit/handling-program.ts";
const outageMs = atDepth(15_000, 60_000);

/** Stores a delivery as another process would. */
async function store(inbox: Inbox<unknown>, id: string): Promise<void> {
  await using receiver = createReceiver({ secrets: [secretA], inbox: storeOf(inbox) });
  const body = JSON.stringify(sampleEvent());
  const { headers } = signDelivery({ id, body, timestampSeconds: Math.floor(Date.now() / 1_000) });
  const request = new Request("http://a.example", { method: "POST", headers, body });
  expect((await receiver.fetch(request)).status).toBe(200);
}

async function startOn(place: string): Promise<RunningProgram> {
  const program = new RunningProgram([...(await bundledProgram(entry)), place]);
  await program.said(/started/);
  return program;
}

/** It has not ended by itself, and ends when it is asked to. */
async function expectAliveUntilClosed(program: RunningProgram): Promise<void> {
  program.signal("SIGTERM");
  expect(await program.ended()).toMatchObject({ code: 0, output: expect.stringContaining("closed") });
}

describe("a process with nothing but a started receiver", () => {
  it("lives with an inbox in memory", async () => {
    using program = await startOn("memory");
    await pause(3_000);
    await expectAliveUntilClosed(program);
  });

  it("lives with a SQLite file, and handles what another process stores there", () =>
    withFolder(async (folder) => {
      using program = await startOn(`${folder}/webhooks.db`);
      await pause(3_000);
      await store(sqliteInbox(`${folder}/webhooks.db`), "msg_later");
      await program.said(/handled msg_later/);
      await expectAliveUntilClosed(program);
    }));

  itWithPostgres(
    `lives through ${outageMs / 1_000} s without its database, refused and silent, and handles what is due afterwards`,
    async () => {
      const databases = await sharedPostgres();
      await using database = await databases.database();
      const direct = new URL(database.url);
      let target = Number(direct.port);
      await using proxy = await createFreezingProxy(() => target);
      const url = new URL(database.url);
      url.port = String(proxy.port);
      using program = await startOn(url.href);
      target = 1;
      proxy.closeExisting();
      await pause(outageMs / 2);
      proxy.freezeAll();
      await pause(outageMs / 2);
      proxy.heal();
      proxy.closeExisting();
      target = Number(direct.port);
      const pool = new pg.Pool({ connectionString: database.url });
      await store(postgresInbox(pool), "msg_later");
      await pool.end();
      await program.said(/handled msg_later/);
      await expectAliveUntilClosed(program);
    },
    outageMs + 60_000,
  );
});
