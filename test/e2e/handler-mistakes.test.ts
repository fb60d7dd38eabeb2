// Handlers with the mistakes that people make with promises, each receiver in a process of its own: whether that ends shows
// only from outside. Beside the mistaken ones, 24 events have handlers without one.

import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundledProgram } from "../support/bundled-program.ts";
import type { PostgresDatabases } from "../support/postgres.ts";
import { RunningProgram } from "../support/running-program.ts";
import { sharedPostgres } from "../support/shared-server.ts";
import { withFolder } from "../support/with-folder.ts";
import { describeWithPostgres, hasPostgres } from "../support/with-postgres.ts";

interface Outcome {
  readonly done: readonly string[];
  readonly dead: readonly { readonly id: string; readonly message: string; readonly code?: string }[];
  readonly effects: readonly string[];
  readonly lateQueries: number;
  readonly warnings: readonly object[];
}

type Run = (...mistakes: readonly string[]) => Promise<Outcome>;

const others = Array.from({ length: 24 }, (_, n) => `task-${n}`);
const withOthers = (...names: readonly string[]) => [...others, ...names].toSorted();
const program = path.join(import.meta.dirname, "../support/mistaken-handlers-program.ts");
let bundled: readonly string[];
beforeAll(async () => {
  bundled = await bundledProgram(program);
});

async function outcomeOf(store: string, mistakes: readonly string[]): Promise<Outcome> {
  using running = new RunningProgram([...bundled, store, mistakes.join(",")]);
  const { code, output } = await running.ended();
  expect(code, output).toBe(0);
  return JSON.parse(output) as Outcome;
}

const notAwaited = (id: string, query: string) => ({
  ...{ id, code: "QUERY_NOT_AWAITED" },
  message: `on("task.*"), for the event task.running ${id}, did not await ${query}, which failed: put await before it, and before the function that contains it`,
});
const insertMissing = 'query("INSERT INTO missing VALUES …")';

function describeMistakes(name: string, run: Run, only: () => void): void {
  describe(`a handler on ${name} does not end its process, and holds up no other event,`, () => {
    it.each([
      ["only query", ["only query"]],
      ["second query", ["second query", "second query again"]],
    ])(
      "when its %s has no await: the event is done, its effects are there once",
      async (mistake, effects) => {
        expect(await run(mistake)).toMatchObject({
          ...{ done: withOthers(mistake), dead: [], effects: withOthers(...effects), lateQueries: 0 },
        });
      },
    );

    it("when it throws while a query of it is in flight: the event is dead, and has no effect", async () => {
      const { done, dead, effects } = await run("throws in flight");
      expect(dead).toEqual([{ id: "throws in flight", message: "after the query was sent" }]);
      expect({ done, effects }).toEqual({ done: others.toSorted(), effects: others.toSorted() });
    });

    it("when it queries after it has returned: that query is rejected, counted, and logged", async () => {
      const after = await run("after return");
      expect(after).toMatchObject({ done: withOthers("after return"), dead: [], effects: others.toSorted() });
      expect(after).toMatchObject({
        lateQueries: 1,
        warnings: [{ handler: 'on("task.*")', query: 'query("INSERT INTO effects VALUES …")' }],
      });
    });

    it("when it returns no promise, or a function that queries is not awaited: all of it is done before the commit", async () => {
      const { dead, effects } = await run("not async", "function");
      expect(dead).toEqual([]);
      expect(effects).toEqual(withOthers("not async", "function", "function again"));
    });

    it("when several queries come after it has returned, also of a function: they are counted, and one is logged", async () => {
      const { dead, effects, lateQueries, warnings } = await run("two after return", "function after return");
      expect({ dead, effects }).toEqual({ dead: [], effects: withOthers("two after return") });
      expect({ lateQueries, warnings: warnings.length }).toEqual({ lateQueries: 3, warnings: 1 });
    });

    it("when a query without await fails: the event is dead, with the query's first words and not its values", async () => {
      const mistakes = [
        "fails",
        "fails early",
        "fails with finally",
        "function fails",
        "function fails early",
      ];
      const { done, dead, effects } = await run(...mistakes);
      expect(dead.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
        mistakes.map((mistake) => notAwaited(mistake, insertMissing)),
      );
      expect({ done, effects }).toEqual({ done: others.toSorted(), effects: others.toSorted() });
    });

    it("when a query without await is not text: the event is dead", async () => {
      expect((await run("no text")).dead).toEqual([notAwaited("no text", "query()")]);
    });

    it("when it sends four queries at once: nothing is written to the console, as pg does when they wait inside it", async () => {
      const { dead, effects } = await run("four at once");
      expect({ dead, effects }).toEqual({
        dead: [],
        effects: withOthers(...[1, 2, 3, 4].map((n) => `four at once ${n}`)),
      });
    });

    it("when one of two queries in Promise.all fails: the event is dead with that error", async () => {
      const { dead } = await run("throws with two in flight");
      expect(dead).toMatchObject([
        { id: "throws with two in flight", message: expect.stringContaining("missing") },
      ]);
    });

    only();
  });
}

describeMistakes(
  "SQLite",
  (...mistakes) => withFolder((folder) => outcomeOf(path.join(folder, "inbox.db"), mistakes)),
  () => {
    it("when it handles the error of a query itself: the event is done", async () => {
      const outcome = await withFolder((folder) => outcomeOf(path.join(folder, "inbox.db"), ["caught"]));
      expect(outcome).toMatchObject({ dead: [], effects: withOthers("caught") });
    });
  },
);

let server: PostgresDatabases;
async function onPostgres(...mistakes: readonly string[]): Promise<Outcome> {
  await using database = await server.database();
  return await outcomeOf(database.url, mistakes);
}

describeWithPostgres("with PostgreSQL", () => {
  beforeAll(async () => {
    if (hasPostgres) server = await sharedPostgres();
  });
  describeMistakes("PostgreSQL", onPostgres, () => {
    it("when it queries through the client without await, and after it has returned", async () => {
      const { dead, effects, lateQueries } = await onPostgres(
        "client",
        "client fails",
        "client after return",
      );
      expect(dead).toEqual([notAwaited("client fails", insertMissing)]);
      expect(effects).toEqual(withOthers("client"));
      expect(lateQueries).toBe(1);
    });

    it("when a query without await does not end: the time limit of the handlers ends it", async () => {
      const { dead } = await onPostgres("never settles");
      expect(dead).toMatchObject([{ id: "never settles", code: "HANDLER_TIMEOUT" }]);
    });
  });
});
