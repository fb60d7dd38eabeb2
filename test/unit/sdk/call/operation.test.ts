import { readFileSync } from "node:fs";
import { buildSchema, parse, validate } from "graphql";
import { describe, expect, it } from "vitest";
import { defineOperation, type OperationName } from "../../../../sdk/call/operation.ts";
import { operationTable } from "../../../../sdk/generated/operation-table.ts";
import * as documents from "../../../../sdk/generated/operations.ts";

const schema = buildSchema(readFileSync(new URL("../../../../schema.graphql", import.meta.url), "utf8"));
const names = Object.keys(operationTable) as OperationName[];

describe("the table of operations", () => {
  it("the table holds every generated document, and each is valid for the schema", () => {
    const generated = Object.keys(documents).filter((name) => name.endsWith("Document"));
    expect(generated.map((name) => name.replace(/Document$/, "")).sort()).toEqual([...names].sort());
    for (const name of names) {
      const document = Reflect.get(documents, `${name}Document`) as { toString(): string };
      expect(validate(schema, parse(document.toString())), name).toEqual([]);
      expect(defineOperation(name, "").document).toBe(document.toString().trim());
    }
  });
});
