import { describe, expect, it } from "vitest";
import { createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { sampleEvent } from "../../../support/sample-event.ts";

describe("retention", () => {
  it("bodies are removed after 7 days and ids after 14, while the receiver runs", async () => {
    await using fixture = createReceiverFixture({ pollMs: 86_400_000 });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "msg_1");
    await fixture.clock.advance(8 * 86_400_000);
    expect(await fixture.inbox.get({ source: "default", id: "msg_1" })).toMatchObject({
      state: "done",
      body: null,
    });
    await fixture.clock.advance(7 * 86_400_000);
    expect(await fixture.stateOf("msg_1")).toBeUndefined();
  });
});
