import { describe, expect, it } from "vitest";
import {
  hashOfAttempt,
  pack,
  unpack,
} from "../../../../../../mock-server/inspector/page/src/signature/shared-attempt.ts";

const attempt = {
  event: "task.failed",
  url: null,
  startedAt: "2026-01-15T12:00:00.000Z",
  status: 500,
  error: "status 500",
  requestHeaders: { "webhook-id": "msg_1" },
  requestBody: '{"name":"Zoë 税"}\n',
  responseHeaders: {},
  responseBody: "no",
};

describe("the link to an attempt", () => {
  it("holds its exact bytes in characters that every address can have", async () => {
    const link = await pack(attempt);
    expect(link).toMatch(/^[\w-]+$/);
    expect(await unpack(link)).toEqual(attempt);
  });

  it("is rejected when no chat or mail program would take it", async () => {
    const random = Array.from({ length: 20_000 }, (_, index) => Math.sin(index)).join();
    const long = { ...attempt, requestBody: random } as never;
    await expect(hashOfAttempt({ event: "task.failed", url: null } as never, long)).rejects.toThrow(
      "The body is too long for a link: export the state in Setup",
    );
  });

  it("is nothing when it was cut, or when its content is something else", async () => {
    const link = await pack(attempt);
    expect(await unpack(link.slice(0, 20))).toBeNull();
    expect(await unpack("%%")).toBeNull();
    expect(await unpack(await pack({ ...attempt, status: "500" } as never))).toBeNull();
    expect(await unpack(await pack({ ...attempt, requestHeaders: { a: 1 } } as never))).toBeNull();
  });
});
