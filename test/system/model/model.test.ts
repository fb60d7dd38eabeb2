import type { MemoryTransaction } from "@workspace-tasks/receiver-kit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { withoutFencing } from "../../support/broken-inboxes.ts";
import { atDepth } from "../../support/depth.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { hasPostgres } from "../../support/with-postgres.ts";
import { describeWithSpin } from "../../support/with-spin.ts";
import { checkModel } from "./check-model.ts";
import { modelChecks } from "./models.ts";
import { replayAll, replayedBounds } from "./replay-checks.ts";
import * as stores from "./replayed-stores.ts";

const [oneKey, twoKeys] = replayedBounds;

describeWithSpin("the model of the inbox", () => {
  it.each(modelChecks.filter(({ isSmall }) => isSmall))(
    "no run of the model of $name violates an invariant",
    async (check) => {
      expect(await checkModel(check)).toMatchObject({ violation: undefined });
    },
    120_000,
  );

  describe("replayed", () => {
    let parts: Awaited<ReturnType<typeof stores.loadReplayedParts>>;
    beforeAll(async () => {
      parts = await stores.loadReplayedParts();
    });
    afterAll(() => parts[Symbol.dispose]());

    it.each(atDepth([oneKey!], [oneKey!, twoKeys!]))(
      "the memory inbox does what the model does in every transition with $KEYS key(s)",
      async (bounds) => {
        const replayed = await replayAll(stores.memoryStore(parts.module), bounds);
        expect(replayed).toMatchObject({ covered: replayed.transitions, difference: undefined });
      },
      120_000,
    );

    it.each([oneKey!, twoKeys!])(
      "the SQLite inbox does what the model does in a sample of runs with $KEYS key(s)",
      async (bounds) => {
        await using store = await stores.sqliteStore(parts.module);
        expect(await replayAll(store, bounds, { callsMax: 1_000 })).toMatchObject({ difference: undefined });
      },
      120_000,
    );

    it.skipIf(!hasPostgres)(
      "the PostgreSQL inbox does what the model does in a sample of runs",
      async () => {
        await using database = await (await sharedPostgres()).database();
        await using store = await stores.postgresStore(parts.module, database.pool());
        expect(await replayAll(store, twoKeys!, { callsMax: 200 })).toMatchObject({ difference: undefined });
      },
      120_000,
    );

    it("an inbox without fencing differs from the model", async () => {
      const store = stores.memoryStore(parts.module);
      const unfenced: stores.ReplayedStore = {
        ...store,
        async open(clock) {
          const opened = await store.open(clock);
          return { ...opened, inbox: withoutFencing(opened.inbox as InboxStore<MemoryTransaction>) };
        },
      };
      const { difference } = await replayAll(unfenced, oneKey!);
      expect(difference).toMatch(/^.*\n {2}model: .*\n {2}inbox: /);
    });
  });
});
