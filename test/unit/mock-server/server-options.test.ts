import { describe, expect, it } from "vitest";
import { createMockServer, isMockServerError, type MockServerOptions } from "workspace-tasks/mock-server";

const start = (options: object) => createMockServer({ listen: false, ...options } as MockServerOptions);

describe("createMockServer", () => {
  it.each([
    [{ clok: "virtual" }, "createMockServer: unknown option clok; did you mean clock?"],
    [{ verbose: true }, "createMockServer: unknown option verbose; expected one of listen, port, "],
    [{ clock: "virtul" }, 'clock: expected "real", "virtual" or a clock, got "virtul"'],
    [{ clock: { now: Date.now } }, 'clock: expected "real", "virtual" or a clock, got an object'],
    [{ port: "4010" }, 'port: expected a whole number from 0 to 65535, got "4010"'],
    [{ host: "" }, 'host: expected a host name, got ""'],
    [{ seed: Number.NaN }, "seed: expected a number, got NaN"],
    [{ receivers: {} }, "receivers: expected a Map of functions, got an object"],
    [{ trustedCertificates: "pem" }, 'trustedCertificates: expected an array of strings, got "pem"'],
    [{ checkConnection: true }, "checkConnection: expected a function, got true"],
    [
      { faults: { deliveries: [{ instructions: [{ kind: "dely" }] }] } },
      "faults.deliveries.0.instructions.0",
    ],
    [
      { faults: { api: [{}, { operation: "createClien" }] } },
      "faults.api.1.operation: unknown operation createClien; did you mean createClient?",
    ],
    [
      { faults: { deliveries: [{ event: "task.complete" }] } },
      "faults.deliveries.0.event: unknown event task.complete; did you mean task.completed?",
    ],
    [
      { faults: { deliveries: [{ endpointId: "later" }] } },
      "endpointId: unknown endpoint later; the world has no endpoint: add a rule once its endpoint exists, with addFaults",
    ],
    [{ faults: { api: [{ keyId: "key" }] } }, "faults.api.0.keyId: unknown key key; listApiKeys and "],
    [{ settings: { rateLimits: {} } }, "settings: unknown field rateLimits; did you mean rateLimit?"],
    [{ settings: { tasks: { plans: { BINDER: { mode: "timd" } } } } }, "settings.tasks.plans.BINDER.mode"],
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
