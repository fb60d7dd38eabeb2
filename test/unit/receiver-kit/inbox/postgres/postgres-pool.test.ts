import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import {
  ignorePoolErrors,
  type PostgresPool,
} from "../../../../../receiver-kit/inbox/postgres/postgres-pool.ts";

it("an error of a client that was just checked out does not end the process", () => {
  const pool = new EventEmitter();
  const lose = () => {
    const client = new EventEmitter();
    pool.emit("acquire", client);
    client.emit("error", new Error("the server ended the connection"));
  };
  expect(lose).toThrow("the server ended the connection");
  ignorePoolErrors(pool as unknown as PostgresPool);
  expect(lose).not.toThrow();
});
