import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { UploadBody } from "../../../../sdk/uploads/upload-source.ts";
import { createUploads, type UploadOptions, type UploadProgress } from "../../../../sdk/uploads/uploads.ts";
import { advanceUntilSettled } from "../../../support/advance-until-settled.ts";
import { createFakeEngine, uploadsOptions } from "../../../support/fake-engine.ts";
import {
  createFakeTusService,
  type FakeTusServiceOptions,
  type TusFault,
} from "../../../support/fake-tus-service.ts";
import { outcomeOf } from "../../../support/outcome-of.ts";

const file = { fileName: "w2.pdf", mimeType: "application/pdf" };
const bytesOf = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 31 + 7) % 251);

function setUp(service: FakeTusServiceOptions = {}) {
  const tus = createFakeTusService(service);
  const engine = createFakeEngine();
  const uploads = createUploads(engine, { ...uploadsOptions(engine), fetch: tus.fetch });
  return {
    tus,
    engine,
    close: () => void engine.close(),
    start: (body: UploadBody, options: Partial<UploadOptions> = {}) =>
      uploads.upload(body, { ...file, chunkBytes: 10, ...options }),
    upload: (body: UploadBody, options: Partial<UploadOptions> = {}) =>
      advanceUntilSettled(engine.clock, uploads.upload(body, { ...file, chunkBytes: 10, ...options })),
    stored: () => tus.uploads.get("u-1"),
    methods: () => tus.log.map(({ method }) => method).join(" "),
  };
}

/** A fault at one request with this method, after `skip` others. */
function once(method: string, fault: TusFault, skip = 0): FakeTusServiceOptions {
  let left = skip;
  let done = false;
  return {
    fault(_, requested) {
      if (done || requested !== method || left-- > 0) return undefined;
      done = true;
      return fault;
    },
  };
}

async function* partsOf(bytes: Uint8Array, size: number) {
  for (let start = 0; start < bytes.byteLength; start += size) yield bytes.slice(start, start + size);
}

const bodies: Record<string, (bytes: Uint8Array) => UploadBody> = {
  bytes: (bytes) => bytes,
  "a Buffer": (bytes) => Buffer.from(bytes),
  "an ArrayBuffer": (bytes) => new Uint8Array(bytes).buffer,
  "a Blob": (bytes) => new Blob([new Uint8Array(bytes)]),
  "an async iterable": (bytes) => partsOf(bytes, 7),
  "a ReadableStream": (bytes) => new Blob([new Uint8Array(bytes)]).stream(),
};

describe("an upload", () => {
  for (const [kind, make] of Object.entries(bodies)) {
    test.each([0, 1, 9, 10, 11, 20, 35])(
      `of ${kind} with %i bytes arrives whole, in chunks`,
      async (length) => {
        const { upload, stored, tus } = setUp();
        const bytes = bytesOf(length);
        expect(await upload(make(bytes))).toEqual({
          uploadId: "u-1",
          uploadUrl: "https://service.test/api/uploads/u-1",
          sizeBytes: length,
        });
        expect(stored()).toMatchObject({ content: Buffer.from(bytes), length });
        expect(Math.max(...tus.log.map((request) => request.bytes))).toBe(Math.min(10, length));
      },
    );
  }

  test("names the file, its type and its purpose, in any script", async () => {
    const { upload, stored } = setUp();
    await upload(bytesOf(1), { fileName: "über, Ω.pdf", intent: "tax prep" });
    const decoded = stored()
      ?.metadata.split(",")
      .map((pair) => pair.split(" "))
      .map(([key, value]) => [key, Buffer.from(value ?? "", "base64").toString()]);
    expect(decoded).toEqual([
      ["filename", "über, Ω.pdf"],
      ["filetype", "application/pdf"],
      ["intent", "tax prep"],
    ]);
  });

  test("reports every byte that the service has confirmed", async () => {
    const seen: UploadProgress[] = [];
    await setUp().upload(bytesOf(25), { onProgress: (progress) => seen.push(progress) });
    expect(seen.map(({ sentBytes, totalBytes }) => [sentBytes, totalBytes])).toEqual([
      [0, 25],
      [10, 25],
      [20, 25],
      [25, 25],
    ]);
  });

  test("of a stream of unknown length tells the total once it has seen the end", async () => {
    const { upload, tus } = setUp();
    const totals: (number | null)[] = [];
    await upload(partsOf(bytesOf(25), 7), { onProgress: ({ totalBytes }) => totals.push(totalBytes) });
    expect(totals).toEqual([null, null, null, 25]);
    expect(tus.log[0]?.headers.get("upload-defer-length")).toBe("1");
    expect(tus.log.map(({ headers }) => headers.get("upload-length"))).toEqual([null, null, null, "25"]);
  });

  test("of a stream that fits one chunk needs no deferred length", async () => {
    const { upload, tus } = setUp();
    await upload(partsOf(bytesOf(10), 7));
    expect(tus.log[0]?.headers.get("upload-length")).toBe("10");
  });

  test("of a stream copies what the stream may overwrite", async () => {
    const { upload, stored } = setUp();
    async function* reusing() {
      const memory = new Uint8Array(4);
      for (const value of [1, 2, 3]) {
        memory.fill(value);
        yield memory;
      }
    }
    await upload(reusing());
    expect([...(stored()?.content ?? [])]).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
  });

  test("of a stream reads no further ahead than the chunk that it sends", async () => {
    const { upload } = setUp();
    let confirmed = 0;
    let ahead = 0;
    async function* watched() {
      let read = 0;
      for await (const part of partsOf(bytesOf(200), 3)) {
        read += part.byteLength;
        ahead = Math.max(ahead, read - confirmed);
        yield part;
      }
    }
    await upload(watched(), {
      onProgress: ({ sentBytes }) => {
        confirmed = sentBytes;
      },
    });
    expect(ahead).toBeLessThanOrEqual(10 + 3);
  });

  test("follows a relative Location", async () => {
    const { upload } = setUp({ location: () => "/api/uploads/u-1" });
    expect(await upload(bytesOf(3))).toMatchObject({ uploadUrl: "https://service.test/api/uploads/u-1" });
  });

  test("follows an absolute Location of the same service", async () => {
    const { upload } = setUp({ location: () => "https://service.test/api/uploads/u-1" });
    expect(await upload(bytesOf(3))).toMatchObject({ uploadId: "u-1" });
  });

  test("never carries the token to another host", async () => {
    const { upload, tus } = setUp({ location: () => "https://elsewhere.test/api/uploads/u-1" });
    await expect(upload(bytesOf(3))).rejects.toMatchObject({ code: "UPLOAD_FAILED" });
    expect(tus.log.map(({ url }) => new URL(url).host)).toEqual(["service.test"]);
  });
});

describe("after trouble the upload goes on where the service says", () => {
  const troubles: Record<string, FakeTusServiceOptions> = {
    "a connection cut before a byte": once("PATCH", { arriving: 0, answer: "cut" }),
    "a connection cut inside a chunk": once("PATCH", { arriving: 4, answer: "cut" }, 1),
    "an answer lost after the whole chunk": once("PATCH", { answer: "cut" }),
    "an answer lost after the last chunk": once("PATCH", { answer: "cut" }, 2),
    "a 500": once("PATCH", { arriving: 0, answer: 500 }),
    "a 503 after all": once("PATCH", { answer: 503 }),
    "a 409": once("PATCH", { arriving: 0, answer: 409 }),
    "a 423": once("PATCH", { arriving: 0, answer: 423 }),
    "a 429": once("PATCH", { arriving: 0, answer: 429, headers: { "retry-after": "7" } }),
    "an answer that names no offset": once("PATCH", { answer: 204 }),
    "an answer that names an impossible offset": once("PATCH", {
      answer: 204,
      headers: { "upload-offset": "999" },
    }),
    "a creation whose answer is lost": once("POST", { arriving: 0, answer: 502 }),
    "a refused token": once("PATCH", { refuseToken: true }, 1),
    "a stalled request": once("PATCH", { stall: true }, 1),
  };

  for (const [trouble, service] of Object.entries(troubles)) {
    test(`${trouble}`, async () => {
      const { upload, tus } = setUp(service);
      const { uploadId } = await upload(partsOf(bytesOf(25), 7));
      expect(tus.uploads.get(uploadId)).toMatchObject({ content: Buffer.from(bytesOf(25)), length: 25 });
    });
  }

  test("without asking for the offset, a resent chunk would be refused or doubled", async () => {
    const { tus, upload } = setUp(once("PATCH", { arriving: 4, answer: "cut" }));
    await upload(bytesOf(20));
    const headers = { "upload-offset": "0" };
    const resent = await tus.fetch("https://service.test/api/uploads/u-1", { method: "PATCH", headers });
    expect(resent.status).toBe(409);
    expect(tus.log.map(({ method }) => method).slice(0, 4)).toEqual(["POST", "PATCH", "HEAD", "PATCH"]);
  });

  test("with a fresh token for the request that was refused, and one token otherwise", async () => {
    const { upload, engine, tus } = setUp(once("PATCH", { refuseToken: true }, 1));
    await upload(bytesOf(40));
    expect(engine.tokens.invalidated).toEqual(["token-1"]);
    expect(tus.log.map(({ headers }) => headers.get("authorization")).slice(0, 4)).toEqual([
      "Bearer token-1",
      "Bearer token-1",
      "Bearer token-1",
      "Bearer token-2",
    ]);
  });

  test("after the time that the service asked for", async () => {
    const { upload, engine } = setUp(
      once("PATCH", { arriving: 0, answer: 503, headers: { "retry-after": "7" } }),
    );
    const startedAt = engine.clock.monotonic();
    await upload(bytesOf(5));
    expect(engine.clock.monotonic() - startedAt).toBeGreaterThanOrEqual(7_000);
  });

  test("whatever happens to each request, what arrives is what was sent, or the failure is one of ours", async () => {
    const fault = fc.oneof(
      { weight: 3, arbitrary: fc.constant(undefined) },
      fc.record({
        arriving: fc.integer({ min: 0, max: 10 }),
        answer: fc.constantFrom("cut" as const, 500, 503, 423, 204),
      }),
      fc.constant({ refuseToken: true }),
      fc.constant({ stall: true }),
      fc.record({ forget: fc.integer({ min: 1, max: 5 }) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 60 }),
        fc.array(fault, { maxLength: 30 }),
        fc.constantFrom(...Object.values(bodies)),
        async (length, faults, make) => {
          const { upload, tus } = setUp({ fault: (request) => faults[request] });
          const result = await outcomeOf(upload(make(bytesOf(length))));
          if (result instanceof Error) {
            expect(["UPLOAD_FAILED", "UPLOAD_LOST", "UPLOAD_REJECTED", "PERMISSION_DENIED"]).toContain(
              (result as Error & { code: string }).code,
            );
          } else {
            expect(tus.uploads.get(result.uploadId)?.content).toEqual(Buffer.from(bytesOf(length)));
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("an upload that cannot go on says so", () => {
  test("after the failures in a row that it may take, and not for ever", async () => {
    const { upload, methods } = setUp({ fault: () => ({ arriving: 0, answer: 500 }) });
    await expect(upload(bytesOf(5))).rejects.toMatchObject({
      code: "UPLOAD_FAILED",
      httpStatus: 500,
      attempts: 4,
    });
    expect(methods()).toBe("POST POST POST POST");
  });

  test("though failures between which bytes arrive do not add up", async () => {
    const { upload, tus } = setUp({
      fault: (_, method) => (method === "PATCH" ? { arriving: 1, answer: "cut" } : undefined),
    });
    await upload(bytesOf(12));
    expect(tus.log.filter(({ method }) => method === "PATCH")).toHaveLength(12);
  });

  test("when the service keeps losing bytes that it had confirmed", async () => {
    const { upload } = setUp({
      fault: (_, method) => (method === "PATCH" ? { forget: 10, answer: "cut" } : undefined),
    });
    await expect(upload(bytesOf(40))).rejects.toMatchObject({ code: "UPLOAD_FAILED" });
  });

  test("when a stream would have to be read a second time", async () => {
    const { upload } = setUp(once("PATCH", { arriving: 0, forget: 3, answer: "cut" }, 1));
    await expect(upload(partsOf(bytesOf(40), 7))).rejects.toMatchObject({ code: "UPLOAD_LOST" });
  });

  test("while bytes are simply read again", async () => {
    const { upload, stored } = setUp(once("PATCH", { arriving: 0, forget: 3, answer: "cut" }, 1));
    await upload(bytesOf(40));
    expect(stored()?.content).toEqual(Buffer.from(bytesOf(40)));
  });

  test("when the service no longer holds it", async () => {
    const { upload } = setUp(once("PATCH", { lose: true }, 1));
    await expect(upload(bytesOf(40))).rejects.toMatchObject({
      code: "UPLOAD_LOST",
      outcome: "rejected",
      httpStatus: 404,
    });
  });

  test.each([400, 413, 415, 302])("when the service refuses it with %i", async (answer) => {
    const { upload, methods } = setUp(once("POST", { answer }));
    await expect(upload(bytesOf(5))).rejects.toMatchObject({ code: "UPLOAD_REJECTED", httpStatus: answer });
    expect(methods()).toBe("POST");
  });

  test("when the token is refused again after it was renewed", async () => {
    const { upload, methods } = setUp({ fault: () => ({ refuseToken: true }) });
    await expect(upload(bytesOf(5))).rejects.toMatchObject({ code: "PERMISSION_DENIED", httpStatus: 401 });
    expect(methods()).toBe("POST POST");
  });

  test.each([
    ["shorter", 20],
    ["longer", 30],
  ])("when a stream is %s than its declared length", async (_, sizeBytes) => {
    const { upload } = setUp();
    await expect(upload(partsOf(bytesOf(25), 7), { sizeBytes })).rejects.toMatchObject({
      code: "UPLOAD_BODY_INVALID",
    });
  });

  test("when the stream breaks, with the stream's own error as the cause", async () => {
    async function* breaking() {
      yield bytesOf(15);
      throw new Error("disk gone");
    }
    const error = await outcomeOf(setUp().upload(breaking()));
    expect(error).toMatchObject({ code: "UPLOAD_BODY_INVALID", cause: { message: "disk gone" } });
  });

  test("when somebody else reads the stream already", async () => {
    const stream = new Blob(["text"]).stream();
    stream.getReader();
    await expect(setUp().upload(stream)).rejects.toMatchObject({ code: "UPLOAD_BODY_INVALID" });
  });

  test("when the stream yields text", async () => {
    async function* text() {
      yield "text" as never;
    }
    await expect(setUp().upload(text())).rejects.toMatchObject({ code: "UPLOAD_BODY_INVALID" });
  });

  test("when onProgress throws, with its error", async () => {
    const onProgress = () => {
      throw new Error("mine");
    };
    await expect(setUp().upload(bytesOf(5), { onProgress })).rejects.toThrow("mine");
  });
});

describe("an upload ends at once", () => {
  const stalled = () => setUp({ fault: (_, method) => (method === "PATCH" ? { stall: true } : undefined) });

  test("by its signal, leaving no listener and no timer", async () => {
    const { start, engine } = stalled();
    const controller = new AbortController();
    const outcome = outcomeOf(start(bytesOf(5), { signal: controller.signal }));
    await engine.clock.settle();
    controller.abort(new Error("changed my mind"));
    expect(await outcome).toMatchObject({
      code: "ABORTED",
      cause: { message: "changed my mind" },
      outcome: "unknown",
      attempts: 2,
    });
    await engine.clock.settle();
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    expect(engine.clock.pending().timers).toBe(0);
  });

  test("by a signal that was aborted before, without a request", async () => {
    const { start, tus } = setUp();
    const error = await outcomeOf(start(bytesOf(5), { signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ code: "ABORTED", outcome: "not_sent", attempts: 0 });
    expect(tus.log).toEqual([]);
  });

  test("by its deadline", async () => {
    const { upload } = stalled();
    await expect(upload(bytesOf(5), { deadlineMs: 5_000 })).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
    });
  });

  test("when the client closes", async () => {
    const { start, engine, close } = stalled();
    const outcome = outcomeOf(start(bytesOf(5)));
    await engine.clock.settle();
    close();
    expect(await outcome).toMatchObject({ code: "CLIENT_CLOSED" });
    expect(await outcomeOf(start(bytesOf(5)))).toMatchObject({ code: "CLIENT_CLOSED" });
  });

  const stalledStreams: Record<string, (onRelease: () => void) => UploadBody> = {
    "a ReadableStream": (onRelease) => new ReadableStream<Uint8Array>({ cancel: onRelease }),
    "a Node stream": (onRelease) => new Readable({ read() {}, destroy: onRelease }),
  };

  test.each(Object.entries(stalledStreams))("while %s stalls, and lets go of it", async (_, make) => {
    let released = false;
    const stream = make(() => {
      released = true;
    });
    const { start, engine } = setUp();
    const controller = new AbortController();
    const outcome = outcomeOf(start(stream, { signal: controller.signal }));
    await engine.clock.settle();
    controller.abort();
    expect(await outcome).toMatchObject({ code: "ABORTED" });
    await engine.clock.settle();
    expect(released).toBe(true);
  });
});

describe("an upload that another process began", () => {
  test.each(Object.entries(bodies))(
    "is continued from %s, without sending the confirmed part again",
    async (_, make) => {
      const { start, upload, tus, engine, stored } = setUp(once("PATCH", { stall: true }, 1));
      const controller = new AbortController();
      let uploadUrl = "";
      const first = outcomeOf(
        start(make(bytesOf(35)), {
          sizeBytes: 35,
          signal: controller.signal,
          onProgress: (progress) => {
            uploadUrl = progress.uploadUrl;
          },
        }),
      );
      await engine.clock.settle();
      controller.abort();
      await first;
      const before = tus.log.length;
      await upload(make(bytesOf(35)), { sizeBytes: 35, resumeUrl: uploadUrl });
      expect(stored()?.content).toEqual(Buffer.from(bytesOf(35)));
      expect(tus.log.slice(before).reduce((sum, { bytes }) => sum + bytes, 0)).toBe(25);
    },
  );

  test("is refused when the body is of another length", async () => {
    const { upload } = setUp();
    const { uploadUrl } = await upload(bytesOf(35));
    await expect(upload(bytesOf(34), { resumeUrl: uploadUrl })).rejects.toMatchObject({
      code: "UPLOAD_BODY_INVALID",
    });
  });
});
