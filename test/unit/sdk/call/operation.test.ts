import { readFileSync } from "node:fs";
import { buildSchema, parse, validate } from "graphql";
import { describe, expect, it } from "vitest";
import type { OperationName } from "../../../../sdk/call/operation.ts";
import { createClient } from "../../../../sdk/client.ts";
import { operationTable } from "../../../../sdk/generated/operation-table.ts";
import * as documents from "../../../../sdk/generated/operations.ts";
import { failureOf } from "../../../support/outcome-of.ts";

const schema = buildSchema(readFileSync(new URL("../../../../schema.graphql", import.meta.url), "utf8"));
const names = Object.keys(operationTable) as OperationName[];

describe("the table of operations", () => {
  it("the table holds every generated document, and each is valid for the schema", () => {
    const generated = Object.keys(documents).filter((name) => name.endsWith("Document"));
    expect(generated.map((name) => name.replace(/Document$/, "")).sort()).toEqual([...names].sort());
    for (const name of names) {
      const document = Reflect.get(documents, `${name}Document`) as { toString(): string };
      expect(validate(schema, parse(document.toString())), name).toEqual([]);
    }
  });

  it("a failed call and a wrong input name the same method", async () => {
    const fetch = async () => new Response("", { status: 404 });
    const urls = { baseUrl: "http://localhost:1", gatewayUrl: "http://localhost:2" };
    await using client = createClient({ apiKey: "key_1234567890", ...urls, fetch });
    const input = { name: "n", users: [] } as never;
    const messages = await Promise.all(
      [client.partner.workspaces.create(input), client.taxClients.list().toArray(), client.partner.me()].map(
        async (call) => (await failureOf(call as Promise<unknown>)).message.split(": ")[0],
      ),
    );
    expect(messages).toEqual(["partner.workspaces.create", "taxClients.list", "partner.me"]);
  });
});
