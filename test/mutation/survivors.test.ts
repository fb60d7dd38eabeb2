import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFiles } from "../../scripts/project-files.mjs";
import { notMutated, policyFiles, purePackages } from "./policy-files.ts";
import { compareSurvivors, mergeMutants, readReport } from "./survivors.ts";

const read = (path: string) => readFileSync(path, "utf8");
const unitTest = (path: string) => `test/unit/${path.replace(/\.ts$/, ".test.ts")}`;

/** Imports of values: those of types are erased. */
function valueImports(path: string): readonly string[] {
  const statements = read(path).matchAll(/^(?:import|export)\s+(type\s+)?([^"';]*?)\s*from\s+"([^"]+)"/gm);
  return [...statements].flatMap(([, type, names = "", target = ""]) => {
    const isErased = type !== undefined || /^\{\s*(type [^,]+,?\s*)+\}$/.test(names);
    return isErased ? [] : [target.startsWith(".") ? posix.join(posix.dirname(path), target) : target];
  });
}

const known = new Map<string, boolean>();

/** Whether its imports, followed to the end, only compute. */
function isPure(path: string): boolean {
  const found = known.get(path);
  if (found !== undefined) return found;
  known.set(path, true);
  const targets = valueImports(path);
  const pure = targets.every((target) =>
    existsSync(target) ? isPure(target) : purePackages.includes(target),
  );
  known.set(path, pure);
  return pure;
}

const waits = (path: string) => /\bawait\b|\basync\b|\bPromise\b|\bschedule\(|\bclock\./.test(read(path));

describe("the mutated files", () => {
  it("are all that decide, do no I/O and have a test of their own", () => {
    const policies = projectFiles(".", ".ts")
      .filter((path) => /^(sdk|mock-server|receiver-kit)\//.test(path) && existsSync(unitTest(path)))
      .filter((path) => isPure(path) && !waits(path));
    expect(policies.length).toBeGreaterThan(30);
    const listed = new Set(Object.keys({ ...policyFiles, ...notMutated }));
    expect(policies.filter((path) => !listed.has(path))).toEqual([]);
  });

  it("and their tests exist", () => {
    const paths = Object.entries(policyFiles).flatMap(([path, tests]) => [path, ...tests]);
    expect([...paths, ...Object.keys(notMutated)].filter((path) => !existsSync(path))).toEqual([]);
  });
});

describe("the comparison of survivors", () => {
  const source = "const a = 1;\nconst isBig = a > 2 && b;\n";
  const at = (start: number, end: number) => ({
    start: { line: 2, column: start },
    end: { line: 2, column: end },
  });
  const mutant = { mutatorName: "EqualityOperator", replacement: "a >= 2", location: at(15, 20) };
  const report = (status: string) => [{ ...mutant, status }];
  const survivor = { line: "const isBig = a > 2 && b;", from: "a > 2", to: "a >= 2" };

  it("names a survivor by its line and by what was changed", () => {
    const { survivors, found, total } = readReport("a.ts", source, report("Survived"));
    expect({ survivors, found, total }).toEqual({ survivors: [survivor], found: 0, total: 1 });
    expect(readReport("a.ts", source, report("Timeout"))).toMatchObject({ survivors: [], found: 1 });
  });

  it("fails for a survivor that is not listed, and for a listed one that a test finds", () => {
    const listed = { "a.ts": { "no matter": [survivor] } };
    const result = readReport("a.ts", source, report("Survived"));
    expect(compareSurvivors([result], listed)).toEqual({ unknown: [], gone: [] });
    expect(compareSurvivors([result], {}).unknown).toEqual([{ path: "a.ts", ...survivor }]);
    expect(compareSurvivors([readReport("a.ts", source, report("Killed"))], listed).gone).toHaveLength(1);
  });

  it("keeps what was found once, and takes the later result of what was left", () => {
    const other = { ...mutant, replacement: "a < 2", status: "Killed" };
    const statuses = (earlier: string, later: string) =>
      mergeMutants([...report(earlier), other], report(later)).map(({ status }) => status);
    expect(statuses("Survived", "Killed")).toEqual(["Killed", "Killed"]);
    expect(statuses("Timeout", "Survived")).toEqual(["Timeout", "Killed"]);
    expect(mergeMutants([], [other])).toEqual([other]);
  });
});
