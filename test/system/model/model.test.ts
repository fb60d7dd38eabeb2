import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withoutFencing } from "../../support/broken-inboxes.ts";
import { atDepth } from "../../support/depth.ts";
import { describeWithSpin } from "../../support/with-spin.ts";
import { checkModel } from "./check-model.ts";
import { modelChecks } from "./models.ts";
import { replayAll, replayedBounds } from "./replay-checks.ts";
import { loadMemoryInbox, type OpenReplayed, openMemoryInbox } from "./replayed-inbox.ts";

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
    let loaded: Awaited<ReturnType<typeof loadMemoryInbox>>;
    beforeAll(async () => {
      loaded = await loadMemoryInbox();
    });
    afterAll(() => loaded[Symbol.dispose]());

    it.each(atDepth([oneKey!], [oneKey!, twoKeys!]))(
      "the memory inbox does what the model does in every transition with $KEYS key(s)",
      async (bounds) => {
        const replayed = await replayAll(openMemoryInbox(loaded.module), bounds);
        expect(replayed).toMatchObject({ covered: replayed.transitions, difference: undefined });
      },
      120_000,
    );

    it("an inbox without fencing differs from the model", async () => {
      const open = openMemoryInbox(loaded.module);
      const unfenced: OpenReplayed = (clock) => {
        const opened = open(clock);
        return { ...opened, inbox: withoutFencing(opened.inbox) };
      };
      const { difference } = await replayAll(unfenced, oneKey!);
      expect(difference).toMatch(/^.*\n {2}model: .*\n {2}inbox: /);
    });
  });
});
