import { describe, expect, it } from "vitest";
import {
  followRoute,
  hashOf,
  parseHash,
  type Route,
} from "../../../../../mock-server/inspector/page/src/address.ts";

describe("hashOf and parseHash", () => {
  it("keep view, id and filters", () => {
    const hash = hashOf("deliveries", "a/b %", { status: "failed", event: "" });
    expect(hash).toBe("#/deliveries/a%2Fb%20%25?status=failed");
    expect(parseHash(hash)).toEqual({ view: "deliveries", id: "a/b %", filter: { status: "failed" } });
  });

  it("fall back to the overview, and accept any text", () => {
    expect(parseHash("")).toEqual({ view: "overview", id: null, filter: {} });
    expect(parseHash("#/tasks/100%")).toEqual({ view: "tasks", id: "100%", filter: {} });
  });
});

describe("followRoute", () => {
  it("shows an address that changed while the page was loading, and each later one until it is stopped", () => {
    const target = new EventTarget();
    const location = { hash: "#/overview" };
    const source = {
      location,
      addEventListener: target.addEventListener.bind(target),
      removeEventListener: target.removeEventListener.bind(target),
    };
    const change = (hash: string) => {
      location.hash = hash;
      target.dispatchEvent(new Event("hashchange"));
    };
    const shown: Route[] = [parseHash(location.hash)];
    change("#/tasks"); // No listener yet.
    const stop = followRoute(source, (route) => shown.push(route));
    change("#/deliveries");
    stop();
    change("#/faults");
    expect(shown.map(({ view }) => view)).toEqual(["overview", "tasks", "deliveries"]);
  });
});
