import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";

const it = mockTest.extend({ mockOptions: { listen: false } });
const name = "return.filed";

describe("an event that is added to the catalog", () => {
  it("has the version of the catalog in its body", async ({ mock: { control } }) => {
    await control.createEndpoint({ url: "http://127.0.0.1:1/webhooks" });
    await control.addCatalogEvent({ name, version: "3" });
    const { eventId } = await control.sendEvent({ name, payload: {} });
    const { body } = await control.getEvent(eventId);
    expect(JSON.parse(body)).toMatchObject({ event: name, version: "3" });
    const own = await control.sendEvent({ name, payload: { version: "4" } });
    expect(JSON.parse((await control.getEvent(own.eventId)).body)).toMatchObject({ version: "4" });
  });

  it.for([
    [{ type: "objekt" }, 'payloadSchema.type: expected "array", "boolean",'],
    [{ properties: { id: { type: ["string", 7] } } }, "payloadSchema.properties.id.type: expected"],
    [{ required: "id" }, "payloadSchema.required: expected an array, got"],
    [{ allOf: [] }, "payloadSchema.allOf: expected an array of at least 1 item"],
    [{ not: { minLength: -1 } }, "payloadSchema.not.minLength: expected a number of at least 0"],
    [
      { properties: { id: { pattern: "(" } } },
      "payloadSchema.properties.id.pattern: expected a regular expression",
    ],
  ] as const)("is rejected with the schema %j", async ([payloadSchema, message], { mock: { control } }) => {
    await expect(control.addCatalogEvent({ name, payloadSchema })).rejects.toMatchObject({
      code: "BODY_INVALID",
      message: expect.stringContaining(message),
    });
    expect((await control.listCatalog()).data.map((event) => event.name)).not.toContain(name);
  });

  it("accepts every kind of keyword, and those that it does not know", async ({ mock: { control } }) => {
    const payloadSchema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: ["object", "null"],
      properties: {
        id: { type: "string", minLength: 1, pattern: "^[a-z]+$" },
        tags: { items: { type: "string" } },
      },
      patternProperties: { "^x-": true },
      additionalProperties: false,
      required: ["id"],
      if: { properties: { id: { const: "a" } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { oneOf: [{ maxProperties: 2 }, { not: {} }] },
      definitions: { pair: { items: [{ type: "integer" }, true], uniqueItems: true } },
      "x-own": { any: "thing" },
    };
    await control.addCatalogEvent({ name, payloadSchema });
  });
});
