// The compiler rejects a field of the schema that no record and no resolver of the mock has.
import { describe, expectTypeOf, it } from "vitest";
import type { MissingFields } from "../../mock-server/graphql/schema.ts";

// biome-ignore lint/complexity/noBannedTypes: no resolver at all
type WithoutResolvers = MissingFields<{}>;

describe("the fields that the mock serves", () => {
  it("lacks a field without a resolver whose record has no such property", () => {
    expectTypeOf<"Task.startedAt" | "Task.subTasks" | "Mutation.createClient">().toExtend<WithoutResolvers>();
  });

  it("lacks no field that is a property of its record", () => {
    expectTypeOf<Extract<WithoutResolvers, "Task.id" | "TaskTaxPrepResult.taxYear">>().toBeNever();
  });

  it("lacks no field that has a resolver", () => {
    type Given = { Task: { startedAt: unknown } };
    expectTypeOf<Extract<MissingFields<Given>, "Task.startedAt">>().toBeNever();
  });
});
