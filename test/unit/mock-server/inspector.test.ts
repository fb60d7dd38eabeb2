import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
import { createInspector } from "../../../mock-server/inspector/inspector.ts";

const folder = mkdtempSync(join(tmpdir(), "inspector-"));
mkdirSync(join(folder, "assets"));
writeFileSync(join(folder, "index.html"), "<!doctype html>");
writeFileSync(join(folder, "assets/index-4f2a.js"), "export {};");
writeFileSync(join(folder, "assets/style-77b1.css"), "a{}");
writeFileSync(join(folder, "private.txt"), "not part of the page");
const page = createInspector(folder);
afterAll(() => rmSync(folder, { recursive: true }));

describe("the inspector page", () => {
  test("is served with its types and a policy that lets nothing foreign in", () => {
    const answer = page("/_mock/");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy.split("; ").sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src data:",
      "script-src 'self'",
      "style-src 'self'",
    ]);
    expect(page("/_mock/assets/index-4f2a.js").headers.get("content-type")).toBe(
      "text/javascript; charset=utf-8",
    );
    expect(page("/_mock/assets/style-77b1.css").headers.get("content-type")).toBe("text/css; charset=utf-8");
  });

  test("is asked for anew each time, its hashed parts never again", () => {
    expect(page("/_mock/").headers.get("cache-control")).toBe("no-cache");
    expect(page("/_mock/assets/index-4f2a.js").headers.get("cache-control")).toContain("immutable");
  });

  test.each(["/_mock/private.txt", "/_mock/../package.json", "/_mock/assets/", "/_mock/%2e%2e/x"])(
    "has nothing at %s",
    (path) => {
      const answer = page(path);
      expect(answer.status).toBe(404);
      expect(answer.headers.get("content-security-policy")).toBe("default-src 'none'");
    },
  );

  test("says how to build it when it was not built", async () => {
    const answer = createInspector(null)("/_mock/");
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain("npm run build");
  });

  test("is led to from the path without its slash", async () => {
    await using mock = await createMockServer({ listen: false });
    const answer = await mock.fetch("/_mock", { redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([308, "/_mock/"]);
  });
});
