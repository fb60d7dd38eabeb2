import { knownEventNames } from "@workspace-tasks/events";
import { expect, it } from "vitest";
import { createAsyncapiDocument } from "../../../../sdk/events/asyncapi.ts";

it("each event is a message of the channel, with its schema and an example; every reference leads somewhere", () => {
  const document = createAsyncapiDocument();
  const at = (pointer: string): unknown =>
    pointer
      .slice("#/".length)
      .split("/")
      .reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], document);
  const text = JSON.stringify(document);
  const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, target = ""]) => target);
  const inside = references.filter((target) => target.startsWith("#/"));
  expect(inside.filter((target) => at(target) === undefined)).toEqual([]);
  const files = references.filter((target) => !target.startsWith("#/"));
  expect(files).toEqual(knownEventNames.map((name) => `./schemas/${name}.json`));
  const messages = Object.values(at("#/channels/webhooks/messages") as Record<string, { $ref: string }>);
  expect(messages.map(({ $ref }) => at($ref))).toEqual(
    knownEventNames.map((name) =>
      expect.objectContaining({ name, examples: [{ payload: expect.objectContaining({ event: name }) }] }),
    ),
  );
});
