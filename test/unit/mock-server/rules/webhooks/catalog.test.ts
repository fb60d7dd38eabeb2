import { describe, expect, test } from "vitest";
import { eventCatalog, knownEventNames, payloadJsonSchema } from "workspace-tasks/events";
import {
  addToCatalog,
  isCatalogEvent,
  listCatalog,
  payloadSchemaOf,
} from "../../../../../mock-server/rules/webhooks/catalog.ts";
import { createTestWorld } from "../../../../support/mock-world.ts";

describe("the mock's catalog", () => {
  test("is the catalog of the event contract", async () => {
    const { world } = createTestWorld();
    expect(listCatalog(world)).toEqual(eventCatalog);
    for (const name of knownEventNames) {
      expect(await payloadSchemaOf(world, name)).toEqual(payloadJsonSchema(name));
    }
  });

  test("takes events of the future, with a schema of their own or a plain one", async () => {
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

  test("refuses a name it has, and a name that is none", () => {
    const { world } = createTestWorld();
    expect(() => addToCatalog(world, { name: "task.running" })).toThrow(/already in the catalog/);
    for (const name of ["", "plain", "task.", ".x", "Task.Running", "a b.c", "__proto__"]) {
      expect(() => addToCatalog(world, { name }), name).toThrow(/must look like/);
    }
    expect(isCatalogEvent(world, "constructor")).toBe(false);
    expect(isCatalogEvent(world, "toString")).toBe(false);
  });
});
