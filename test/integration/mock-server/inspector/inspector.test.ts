import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPage } from "@workspace-tasks/kernel/built-page.ts";
import { createMockServer } from "@workspace-tasks/mock-server";
import { afterAll, describe, expect, it } from "vitest";
import { createInspector } from "../../../../mock-server/inspector/inspector.ts";

const folder = mkdtempSync(join(tmpdir(), "inspector-"));
mkdirSync(join(folder, "assets"));
writeFileSync(join(folder, "index.html"), "<!doctype html>");
writeFileSync(join(folder, "assets/index-4f2a.js"), "export {};");
writeFileSync(join(folder, "assets/style-77b1.css"), "a{}");
writeFileSync(join(folder, "private.txt"), "not part of the page");
const page = createInspector(readPage(folder));
afterAll(() => rmSync(folder, { recursive: true }));

describe("the inspector page", () => {
  it("is served with its types and a policy that allows no foreign content", () => {
    const response = page("/_mock/");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const policy = response.headers.get("content-security-policy") ?? "";
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

  it("is requested each time, its hashed assets once", () => {
    expect(page("/_mock/").headers.get("cache-control")).toBe("no-cache");
    expect(page("/_mock/assets/index-4f2a.js").headers.get("cache-control")).toContain("immutable");
  });

  it.each(["/_mock/private.txt", "/_mock/../package.json", "/_mock/assets/", "/_mock/%2e%2e/x"])(
    "responds with 404 at %s",
    (path) => {
      const response = page(path);
      expect(response.status).toBe(404);
      expect(response.headers.get("content-security-policy")).toBe("default-src 'none'");
    },
  );

  it("responds with 503 and what to do when its files are not there", async () => {
    const response = createInspector(readPage(tmpdir()))("/_mock/");
    expect(response.status).toBe(503);
    expect(await response.text()).toContain("npm run build");
  });

  it("is redirected to from the path without its slash", async () => {
    await using mock = await createMockServer({ listen: false });
    const response = await mock.fetch("/_mock", { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([308, "/_mock/"]);
  });
});
