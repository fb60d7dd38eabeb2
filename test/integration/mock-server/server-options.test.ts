import { createMockServer, isMockServerError, type MockServerOptions } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";

const start = (options: object) => createMockServer({ listen: false, ...options } as MockServerOptions);

describe("createMockServer", () => {
  it.each([
    [{ clok: "virtual" }, "createMockServer: unknown option clok; did you mean clock?"],
    [{ clock: "virtul" }, 'clock: expected "real", "virtual" or a clock, got "virtul"'],
    [{ port: "4010" }, 'port: expected a whole number from 0 to 65535, got "4010"'],
    [{ seed: Number.NaN }, "seed: expected a number, got NaN"],
    [{ receivers: {} }, "receivers: expected a Map of functions, got an object"],
    [
      { faults: { deliveries: [{ instructions: [{ kind: "dely" }] }] } },
      "faults.deliveries.0.instructions.0",
    ],
    [
      { faults: { api: [{}, { operation: "createClien" }] } },
      "faults.api.1.operation: unknown operation createClien; did you mean createClient?",
    ],
  ])("rejects the options %j", async (options, message) => {
    const error = await start(options).catch((reason: unknown) => reason);
    expect(isMockServerError(error, "CONFIGURATION_INVALID")).toBe(true);
    expect((error as Error).message).toContain(message);
  });

  it("accepts faults for the endpoints and keys of its seed data, which a reset restores", async () => {
    // Ids contain the time of the clock.
    const settings = {
      seedData: { workspaces: [{ name: "Acme", endpoints: [{ url: "https://receiver.example/" }] }] },
    };
    await using first = await start({ clock: "virtual", settings });
    const [{ id: endpointId = "" } = {}] = (await first.control.listEndpoints()).data;
    const [{ id: keyId = "" } = {}] = (await first.control.listApiKeys()).data;
    const faults = { deliveries: [{ endpointId }], api: [{ keyId }] };
    await using second = await start({ clock: "virtual", settings, faults });
    await second.control.reset();
    expect((await second.control.getFaults()).plan).toMatchObject(faults);
  });
});
