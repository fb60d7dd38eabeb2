import { expect, it } from "vitest";
import { endEachWrite, endings } from "./end-each-write.ts";

it.each(endings)(
  "a receiver loses no event and applies none twice when %s ends the transaction of any write",
  async (_, ending) => {
    expect(await endEachWrite(ending)).toBeGreaterThan(5);
  },
  60_000,
);
