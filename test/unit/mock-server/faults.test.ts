import { describe, expect, it } from "vitest";
import { type PlainResponse, serveWithFaults } from "../../../mock-server/faults.ts";

describe("serveWithFaults", () => {
  const serve = async (faults: Parameters<typeof serveWithFaults>[0]) => {
    const happened: string[] = [];
    const ports = {
      wait: async (delayMs: number) => {
        happened.push(`waited ${delayMs}`);
      },
      expireToken: () => happened.push("token expired"),
      burnQuota: (requests: number | null) => happened.push(`burned ${requests ?? "all"}`),
    };
    const run = async (): Promise<PlainResponse> => {
      happened.push("ran");
      return { status: 200, headers: {}, body: "0123456789" };
    };
    return { answer: await serveWithFaults(faults, ports, run), happened };
  };

  it("runs the operation after `expire-token` and `burn-quota` have taken effect", async () => {
    const { happened } = await serve([{ kind: "burn-quota", requests: 3 }, { kind: "expire-token" }]);
    expect(happened).toEqual(["burned 3", "token expired", "ran"]);
  });

  it("truncates a response by at least its last byte", async () => {
    const abortOf = async (bytes?: number) => (await serve([{ kind: "truncate", bytes }])).answer.abort;
    expect(await abortOf()).toEqual({ kind: "cut", afterBytes: 5 });
    expect(await abortOf(3)).toEqual({ kind: "cut", afterBytes: 3 });
    expect(await abortOf(99)).toEqual({ kind: "cut", afterBytes: 9 });
  });
});
