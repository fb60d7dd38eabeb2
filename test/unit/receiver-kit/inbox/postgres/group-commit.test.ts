import { describe, expect, it } from "vitest";
import {
  createGroupCommit,
  type GroupCommitOptions,
} from "../../../../../receiver-kit/inbox/postgres/group-commit.ts";
import { deferred } from "../../../../../sdk/kernel/deferred.ts";

type Commit = { readonly items: readonly string[]; readonly gate: ReturnType<typeof deferred<void>> };

/** Commits that end when the test says so; each item's result is its own text in capitals. */
function manualCommits(options: Partial<GroupCommitOptions<string, string>> = {}) {
  const commits: Commit[] = [];
  const add = createGroupCommit<string, string>({
    commit: async (items) => {
      const gate = deferred();
      commits.push({ items, gate });
      await gate.promise;
      return items.map((item) => item.toUpperCase());
    },
    isCausedByItem: () => false,
    itemsMax: 3,
    bytesOf: (item) => item.length,
    bytesMax: 10,
    concurrency: 1,
    ...options,
  });
  const turn = async () => {
    // The next commit begins one turn of the event loop after the last one's end.
    for (let n = 0; n < 3; n++) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  return { commits, add, turn };
}

describe("createGroupCommit", () => {
  it("gathers the items that arrive during a commit into the next one", async () => {
    const { add, commits, turn } = manualCommits();
    const first = add("a");
    await turn();
    const later = ["b", "c", "d", "e"].map(add);
    await turn();
    expect(commits.map(({ items }) => items)).toEqual([["a"]]);
    commits[0]?.gate.resolve();
    expect(await first).toBe("A");
    await turn();
    expect(commits[1]?.items).toEqual(["b", "c", "d"]);
    commits[1]?.gate.resolve();
    await turn();
    await turn();
    commits[2]?.gate.resolve();
    expect(await Promise.all(later)).toEqual(["B", "C", "D", "E"]);
  });

  it("splits items by bytesMax, and commits a larger item alone", async () => {
    const { add, commits, turn } = manualCommits();
    const added = ["aaaaaa", "bbbb", "c", "d".repeat(50), "e"].map(add);
    for (let n = 0; n < 4; n++) {
      await turn();
      commits[n]?.gate.resolve();
    }
    await Promise.all(added);
    expect(commits.map(({ items }) => items.map((item) => item[0]))).toEqual([
      ["a", "b"],
      ["c"],
      ["d"],
      ["e"],
    ]);
  });

  it("rejects all items of a failed commit, and continues with the next", async () => {
    const { add, commits, turn } = manualCommits();
    const lost = [add("a"), add("b")].map((item) => item.catch((error: Error) => error.message));
    await turn();
    commits[0]?.gate.reject(new Error("disk is full"));
    expect(await Promise.all(lost)).toEqual(["disk is full", "disk is full"]);
    const next = add("c");
    await turn();
    commits[1]?.gate.resolve();
    expect(await next).toBe("C");
  });

  it("commits the items one by one when one of them may have caused the error", async () => {
    const { add } = manualCommits({
      isCausedByItem: () => true,
      commit: async (items) => {
        if (items.includes("bad")) throw new Error("value out of range");
        return items.map((item) => item.toUpperCase());
      },
    });
    const results = await Promise.allSettled(["a", "bad", "c"].map(add));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });
});
