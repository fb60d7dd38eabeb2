import { describe, expect, it } from "vitest";
import * as catalog from "../../../../mock-server/rules/events.ts";
import { createTestWorld } from "../../../support/mock-world.ts";

describe("the mock's catalog", () => {
  it("accepts future events, with a schema of their own or a generated one", async () => {
    const { world } = createTestWorld();
    const payloadSchema = { $schema: "http://json-schema.org/draft-07/schema#", type: "object" };
    catalog.addToCatalog(world, { name: "return.filed", version: "3", payloadSchema });
    catalog.addToCatalog(world, { name: "refund.paid" });
    expect(await catalog.payloadSchemaOf(world, "return.filed")).toEqual(payloadSchema);
    expect(await catalog.payloadSchemaOf(world, "refund.paid")).toMatchObject({
      properties: { event: { const: "refund.paid" } },
    });
    expect(catalog.listCatalog(world).slice(-2)).toMatchObject([
      { name: "return.filed", version: "3" },
      { name: "refund.paid", version: "2", status: "", taskTypes: [] },
    ]);
  });

  it("has the task types of the settings, in its entries and in their schemas", async () => {
    const typesWithEvents = ["TAX_PREP", "ENTITY_REVIEW"];
    const { world } = createTestWorld({ settings: { tasks: { typesWithEvents } } });
    const typesOf = (name: string) =>
      catalog.listCatalog(world).find((entry) => entry.name === name)?.taskTypes;
    expect([typesOf("subtask.failed"), typesOf("documents.synced")]).toEqual([typesWithEvents, []]);
    expect(await catalog.payloadSchemaOf(world, "subtask.failed")).toMatchObject({
      properties: { taskType: { enum: typesWithEvents } },
    });
  });

  it("rejects an existing name and an invalid one", () => {
    const { world } = createTestWorld();
    expect(() => catalog.addToCatalog(world, { name: "task.running" })).toThrow(/already in the catalog/);
    for (const name of ["", "plain", "task.", ".x", "Task.Running", "a b.c", "__proto__"]) {
      expect(() => catalog.addToCatalog(world, { name }), name).toThrow(/must look like/);
    }
    expect(catalog.isCatalogEvent(world, "constructor")).toBe(false);
    expect(catalog.isCatalogEvent(world, "toString")).toBe(false);
  });
});
