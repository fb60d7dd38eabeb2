import { describe, expect, it } from "vitest";
import {
  addToCatalog,
  isCatalogEvent,
  listCatalog,
  payloadSchemaOf,
} from "../../../../../mock-server/rules/webhooks/catalog.ts";
import { createTestWorld } from "../../../../support/mock-world.ts";

describe("the mock's catalog", () => {
  it("accepts future events, with a schema of their own or a generated one", async () => {
    const { world } = createTestWorld();
    const payloadSchema = { $schema: "http://json-schema.org/draft-07/schema#", type: "object" };
    addToCatalog(world, { name: "return.filed", version: "3", payloadSchema });
    addToCatalog(world, { name: "refund.paid" });
    expect(await payloadSchemaOf(world, "return.filed")).toEqual(payloadSchema);
    expect(await payloadSchemaOf(world, "refund.paid")).toMatchObject({
      properties: { event: { const: "refund.paid" } },
    });
    expect(listCatalog(world).slice(-2)).toMatchObject([
      { name: "return.filed", version: "3" },
      { name: "refund.paid", version: "2", status: "", taskTypes: [] },
    ]);
  });

  it("rejects an existing name and an invalid one", () => {
    const { world } = createTestWorld();
    expect(() => addToCatalog(world, { name: "task.running" })).toThrow(/already in the catalog/);
    for (const name of ["", "plain", "task.", ".x", "Task.Running", "a b.c", "__proto__"]) {
      expect(() => addToCatalog(world, { name }), name).toThrow(/must look like/);
    }
    expect(isCatalogEvent(world, "constructor")).toBe(false);
    expect(isCatalogEvent(world, "toString")).toBe(false);
  });
});
