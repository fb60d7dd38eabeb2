import { describe, expect } from "vitest";
import { mockTest } from "workspace-tasks/mock-server/vitest";

const it = mockTest.extend({ mockOptions: { listen: false, clock: "virtual" } });

const lists = ["requests", "deliveries", "tasks"];
const invalid = { error: { code: "QUERY_INVALID", message: "iterator: Invalid iterator" } };

describe("a list of the control API", () => {
  it("returns every record once over its pages, in both orders", async ({ mock }) => {
    for (let count = 0; count < 7; count++) await mock.control.startTask({ taskType: "BINDER" });
    for (const order of ["asc", "desc"] as const) {
      const seen: string[] = [];
      let iterator: string | undefined;
      do {
        const page = await mock.control.listTasks({ limit: 3, order, iterator });
        seen.push(...page.data.map(({ taskId }) => taskId));
        iterator = page.iterator ?? undefined;
      } while (iterator !== undefined);
      expect(new Set(seen).size).toBe(7);
      expect(seen).toEqual(order === "asc" ? seen.toSorted() : seen.toSorted().reverse());
    }
  });

  it.for(["zzz", "NaN", "-1", "1.5", "1e3", "0", "constructor"])(
    "responds with 400 to the cursor %s, which is none",
    async (iterator, { mock }) => {
      for (const list of lists) {
        const response = await mock.fetch(`/_mock/v1/${list}?iterator=${iterator}`);
        expect([list, response.status]).toEqual([list, 400]);
        expect(await response.json()).toMatchObject(invalid);
      }
    },
  );

  it("responds with 400 to a cursor of the time before a reset", async ({ mock }) => {
    await mock.clock.advance("1h");
    for (let count = 0; count < 2; count++) {
      await mock.control.startTask({ taskType: "BINDER" });
      await mock.fetch("/graphql", { method: "POST" });
    }
    const tasks = await mock.control.listTasks({ limit: 1 });
    const requests = await mock.control.listRequests({ limit: 1 });
    await mock.control.reset();
    const late = { code: "QUERY_INVALID" };
    await expect(mock.control.listTasks({ iterator: tasks.iterator ?? "" })).rejects.toMatchObject(late);
    await expect(mock.control.listRequests({ iterator: requests.iterator ?? "" })).rejects.toMatchObject(
      late,
    );
  });
});
