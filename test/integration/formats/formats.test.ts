// What another release may have written: one recorded file for each version of each format that this release reads. A file
// that this release cannot read any more is a broken promise of docs/compatibility.md: raise the version of the format,
// record a file of the new version, and keep reading the older one. A new field of a record is optional in its schema,
// `read-snapshot.ts` accepts both versions, and the list of fields is that of the new one alone.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createMockServer, type Snapshot } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { snapshotSchema, snapshotVersion } from "../../../mock-server/snapshot/snapshot-schema.ts";
import { decodeDelivery, encodeDelivery } from "../../../receiver-kit/rabbitmq/delivery-message.ts";

const folder = join(import.meta.dirname, "recorded");
const text = (name: string) => readFileSync(join(folder, name), "utf8");
const versions = (format: string) => readdirSync(folder).filter((name) => name.startsWith(`${format}-`));

describe("a recorded snapshot of the mock", () => {
  it.each(versions("mock-snapshot"))(
    "%s is restored with all its records, and time continues",
    async (name) => {
      const snapshot = JSON.parse(text(name)) as Snapshot;
      await using mock = await createMockServer({ listen: false, clock: "virtual" });
      await mock.control.restoreSnapshot(snapshot);
      const restored = await mock.control.getSnapshot();
      expect(restored).toEqual({ ...snapshot, version: snapshotVersion });
      const { state, journal, faults } = snapshot;
      for (const [list, records] of Object.entries({ ...state, ...journal, ...faults }))
        expect(records, list).not.toEqual([]);
      await mock.clock.advance("1d");
      expect((await mock.control.getSnapshot()).nowMs).toBe(snapshot.nowMs + 86_400_000);
    },
  );

  it("has the fields of the present version: an older release reads no others, so a change needs another version", () => {
    const schema = z.toJSONSchema(snapshotSchema, { io: "input", unrepresentable: "any" }) as JsonSchema;
    const recorded = JSON.parse(text(`fields-of-mock-snapshot-${snapshotVersion}.json`));
    expect([...new Set(fieldsOf(schema, schema, ""))].toSorted()).toEqual(recorded);
  });
});

describe("a recorded message of RabbitMQ", () => {
  const messageOf = (name: string) => {
    const { properties, content } = JSON.parse(text(name));
    const fields = { deliveryTag: 1, redelivered: false };
    return { fields, properties, content: Buffer.from(content) };
  };

  it.each(versions("rabbitmq-delivery"))("%s is read", (name) => {
    const { content } = messageOf(name);
    const tenant = { id: "acme", workspaceId: "workspace-1" };
    expect(decodeDelivery(messageOf(name))).toEqual({
      webhook: { id: "msg-1", timestamp: 1_780_272_120, secretIndex: 0, body: content, tenant },
      source: "default",
      traceparent: "00-1",
    });
  });

  it("is what the present release publishes", () => {
    const message = messageOf("rabbitmq-delivery-1.json");
    const delivery = decodeDelivery(message);
    expect(delivery && encodeDelivery(delivery)).toEqual(message.properties);
  });
});

interface JsonSchema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** Paths of all fields, those that may be absent with a question mark. */
function fieldsOf(
  schema: JsonSchema,
  root: JsonSchema,
  path: string,
  within: readonly string[] = [],
): string[] {
  const {
    $ref,
    properties = {},
    required = [],
    items,
    additionalProperties,
    anyOf = [],
    oneOf = [],
  } = schema;
  const inside = (child: JsonSchema, childPath: string) => fieldsOf(child, root, childPath, within);
  if ($ref !== undefined) {
    const target = root.$defs?.[$ref.replace("#/$defs/", "")];
    return target && !within.includes($ref) ? fieldsOf(target, root, path, [...within, $ref]) : [];
  }
  return [
    ...Object.entries(properties).flatMap(([name, child]) => {
      const field = `${path}.${name}`;
      return [required.includes(name) ? field : `${field}?`, ...inside(child, field)];
    }),
    ...(items ? inside(items, `${path}[]`) : []),
    ...(typeof additionalProperties === "object" ? inside(additionalProperties, `${path}.*`) : []),
    ...[...anyOf, ...oneOf].flatMap((child) => inside(child, path)),
  ];
}
