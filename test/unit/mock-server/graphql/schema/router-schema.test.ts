import { readFileSync } from "node:fs";
import { buildSchema, isObjectType, isUnionType } from "graphql";
import { describe, expect, it } from "vitest";
import { resolvers } from "../../../../../mock-server/graphql/schema/resolvers.ts";
import { routerSchema } from "../../../../../mock-server/graphql/schema/router-schema.ts";

const contract = buildSchema(readFileSync("schema.graphql", "utf8"));
const fieldsOf = (schema: typeof contract, typeName: string) => {
  const type = schema.getType(typeName);
  return isObjectType(type) ? Object.keys(type.getFields()) : [];
};

describe("routerSchema", () => {
  it.each(["Query", "Mutation", "Workspace"])("has every field of %s on at least one router", (typeName) => {
    const served = new Set(
      (["base", "gateway"] as const).flatMap((router) => fieldsOf(routerSchema(router), typeName)),
    );
    expect([...served].sort()).toEqual(fieldsOf(contract, typeName).sort());
  });

  it("has only me on both routers", () => {
    const roots = (router: "base" | "gateway") =>
      ["Query", "Mutation"].flatMap((typeName) => fieldsOf(routerSchema(router), typeName));
    const gateway = new Set(roots("gateway"));
    expect(roots("base").filter((field) => gateway.has(field))).toEqual(["me"]);
  });

  it("has a resolver for every root field and every union", () => {
    const attached = resolvers as Record<string, Record<string, unknown>>;
    for (const typeName of ["Query", "Mutation"]) {
      expect(Object.keys(attached[typeName] ?? {}).sort()).toEqual(fieldsOf(contract, typeName).sort());
    }
    const unions = Object.values(contract.getTypeMap()).filter(isUnionType);
    for (const { name } of unions) expect(attached[name]?.["__resolveType"]).toEqual(expect.any(Function));
  });

  it("has no resolver for a field that the contract does not have", () => {
    const strays = Object.entries(resolvers).flatMap(([typeName, fields]) =>
      Object.keys(fields)
        .filter((name) => name !== "__resolveType" && !fieldsOf(contract, typeName).includes(name))
        .map((name) => `${typeName}.${name}`),
    );
    expect(strays).toEqual([]);
  });
});
