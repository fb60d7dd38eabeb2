import { expect, it } from "vitest";
import { loadedModules } from "../../support/loaded-modules.ts";

const modulesOf = (specifier: string) => loadedModules(`await import(${JSON.stringify(specifier)});`);
const of = (modules: readonly string[], part: string) => modules.filter((module) => module.includes(part));

it("importing the receiver kit loads neither the audit nor standardwebhooks nor telemetry", async () => {
  const modules = await modulesOf("@workspace-tasks/receiver-kit");
  expect(of(modules, "/receiver-kit/receiver").length).toBeGreaterThan(0);
  expect(of(modules, "/node_modules/standardwebhooks/")).toEqual([]);
  expect(of(modules, "/mock-server/tools/check-receiver/")).toEqual([]);
  expect(of(modules, "/receiver-kit/telemetry")).toEqual([]);
  expect(of(modules, "/receiver-kit/rabbitmq")).toEqual([]);
  expect(of(modules, "/node_modules/@opentelemetry/")).toEqual([]);
  for (const peer of ["amqplib", "express", "pg", "libsql", "better-sqlite3", "msw", "vitest"]) {
    expect(of(modules, `/node_modules/${peer}/`)).toEqual([]);
  }
});

it("importing the inboxes loads nothing of RabbitMQ, and importing its entry point not the client", async () => {
  const inboxes = await loadedModules(
    `await import("@workspace-tasks/receiver-kit/sqlite"); await import("@workspace-tasks/receiver-kit/postgres");`,
  );
  expect(of(inboxes, "rabbitmq")).toEqual([]);
  const entry = await modulesOf("@workspace-tasks/receiver-rabbitmq");
  expect(of(entry, "/receiver-kit/rabbitmq/").length).toBeGreaterThan(0);
  expect(of(entry, "/node_modules/amqplib/")).toEqual([]);
});
