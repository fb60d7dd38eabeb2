import { createMockServer } from "@workspace-tasks/mock-server";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { describeWithChromium as describe, itWithChromium as it } from "../../support/with-chromium.ts";
import { sharedChromium } from "./support/chromium.ts";

/** What a page gets from a mock when its script sends these requests. */
function callFrom(page: Page, baseUrl: string, apiKey: string) {
  return page.evaluate(
    async ([base = "", key = ""]) => {
      const outcome = (sent: Promise<Response>) =>
        sent.then(
          async (response) => `${response.status} ${await response.text()}`,
          () => "not readable",
        );
      const headers = { "content-type": "application/json" };
      const post = (path: string, body: string) =>
        outcome(fetch(`${base}${path}`, { method: "POST", headers, body }));
      const query = `mutation { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: "${key}") { workspaceToken } }`;
      return {
        tokenExchange: await post("/graphql", JSON.stringify({ query })),
        gateway: await post("/gateway/graphql", '{"query":"{ __typename }"}'),
        uploads: await outcome(
          fetch(`${base}/api/uploads`, { method: "POST", headers: { "tus-resumable": "1.0.0" } }),
        ),
        snapshot: await outcome(fetch(`${base}/_mock/v1/snapshot`)),
        reset: await post("/_mock/v1/reset", "{}"),
        blind: await outcome(
          fetch(`${base}/_mock/v1/reset`, { method: "POST", mode: "no-cors", body: "{}" }),
        ),
      };
    },
    [baseUrl, apiKey],
  );
}

describe("a hostile web page", () => {
  it("gets nothing from a mock when its name is rebound to this computer", async () => {
    await using mock = await createMockServer();
    const page = await (await sharedChromium()).newPage();
    const { port } = new URL(mock.baseUrl);
    await page.goto(`http://rebound.example:${port}/`);
    expect(await page.evaluate("location.origin")).toBe(`http://rebound.example:${port}`);
    const outcomes = await callFrom(page, "", mock.apiKey);
    for (const outcome of Object.values(outcomes)) expect(outcome).toMatch(/^403 .*FOREIGN_HOST/);
    expect((await mock.control.getHealth()).epoch).toBe(0);
    expect((await mock.control.listRequests()).data).toEqual([]);
    await page.close();
  });

  it("gets nothing from a mock across origins, by loopback name or address", async () => {
    await using mock = await createMockServer();
    await using other = await createMockServer();
    const page = await (await sharedChromium()).newPage();
    await page.goto(`${other.baseUrl}/_mock/v1/health`);
    for (const base of [mock.baseUrl, mock.baseUrl.replace("127.0.0.1", "localhost")]) {
      const { blind, ...outcomes } = await callFrom(page, base, mock.apiKey);
      for (const outcome of Object.values(outcomes)) expect(outcome).toBe("not readable");
      expect(blind).toBe("0 ");
    }
    expect((await mock.control.getHealth()).epoch).toBe(0);
    expect((await mock.control.listRequests()).data).toEqual([]);
    await page.close();
  });
});

describe("a front end of an allowed origin", () => {
  it("can call the mock from its page", async () => {
    await using frontEnd = await createMockServer({ hostsAllowed: ["front.example"] });
    const origin = `http://front.example:${new URL(frontEnd.baseUrl).port}`;
    await using mock = await createMockServer({ originsAllowed: [origin] });
    const page = await (await sharedChromium()).newPage();
    await page.goto(`${origin}/_mock/v1/health`);
    const { tokenExchange, gateway, uploads } = await callFrom(page, mock.baseUrl, mock.apiKey);
    expect(tokenExchange).toMatch(/^200 .*workspaceToken":"ey/);
    expect(gateway).toBe('200 {"data":{"__typename":"Query"}}');
    expect(uploads).toMatch(/^401 /);
    await page.close();
  });
});
