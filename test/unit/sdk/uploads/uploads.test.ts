import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import { runInNewContext } from "node:vm";
import { createVirtualClock } from "@workspace-tasks/mock-server";
import type { CreateClientOptions } from "@workspace-tasks/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { UploadBody } from "../../../../sdk/uploads/upload-source.ts";
import { createUploads, type UploadOptions, type UploadProgress } from "../../../../sdk/uploads/uploads.ts";
import { atDepth } from "../../../support/depth.ts";
import { clientOptionsOf, createFakeEngine } from "../../../support/engine-fixture.ts";
import { outcomeOf } from "../../../support/outcome-of.ts";
import { createScriptedService } from "../../../support/scripted-service.ts";
import { createFakeTusService, type FakeTusServiceOptions, type TusFault } from "./fake-tus-service.ts";

const file = { fileName: "w2.pdf", mimeType: "application/pdf" };
const bytesOf = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 31 + 7) % 251);

const invalid = { code: "UPLOAD_BODY_INVALID" };

function setUp(service: FakeTusServiceOptions = {}) {
  const tus = createFakeTusService(service);
  const engine = createFakeEngine();
  const uploads = createUploads(engine, { ...clientOptionsOf(engine), fetch: tus.fetch });
  return {
    tus,
    engine,
    close: () => void engine.close(),
    start: (body: UploadBody, options: Partial<UploadOptions> = {}) =>
      uploads.upload(body, { ...file, chunkBytes: 10, ...options }),
    upload: (body: UploadBody, options: Partial<UploadOptions> = {}) =>
      engine.clock.runUntil(uploads.upload(body, { ...file, chunkBytes: 10, ...options })),
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

const foreign = (bytes: Uint8Array): Uint8Array => runInNewContext("Uint8Array.from(bytes)", { bytes });

const foreignBlob = (bytes: Uint8Array) => ({
  size: bytes.byteLength,
  slice: (start: number, end: number) => foreignBlob(bytes.slice(start, end)),
  arrayBuffer: async () => foreign(bytes).buffer,
});

const bodies: Record<string, (bytes: Uint8Array) => UploadBody> = {
  bytes: (bytes) => bytes,
  "a Buffer": (bytes) => Buffer.from(bytes),
  "shared memory": (bytes) => {
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
    shared.set(bytes);
    return shared;
  },
  "an ArrayBuffer": (bytes) => new Uint8Array(bytes).buffer,
  "a Blob": (bytes) => new Blob([new Uint8Array(bytes)]),
  "an async iterable": (bytes) => partsOf(bytes, 7),
  "a ReadableStream": (bytes) => new Blob([new Uint8Array(bytes)]).stream(),
  "bytes of another realm": (bytes) => foreign(bytes),
  "an ArrayBuffer of another realm": (bytes) => foreign(bytes).buffer as ArrayBuffer,
  "a Blob of a DOM environment": (bytes) => ({ ...foreignBlob(bytes) }) as unknown as Blob,
  "a stream of parts of another realm": (bytes) => Readable.from([foreign(bytes)]),
};

describe("an upload", () => {
  for (const [kind, make] of Object.entries(bodies)) {
    it.each([1, 9, 10, 11, 20, 35])(
      `an upload of ${kind} with %i bytes arrives complete, in chunks`,
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

  it("an upload sends file name, type and intent in any script", async () => {
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

  it("an upload reports every confirmed byte", async () => {
    const seen: string[] = [];
    const onProgress = (progress: UploadProgress) =>
      seen.push(`${progress.sentBytes}/${progress.totalBytes}`);
    await setUp().upload(bytesOf(25), { onProgress });
    expect(seen).toEqual(["0/25", "10/25", "20/25", "25/25"]);
  });

  it("an upload of a stream sends its length with the last chunk", async () => {
    const { upload, tus } = setUp();
    const totals: (number | null)[] = [];
    await upload(partsOf(bytesOf(25), 7), { onProgress: ({ totalBytes }) => totals.push(totalBytes) });
    expect(totals).toEqual([null, null, null, 25]);
    expect(tus.log[0]?.headers.get("upload-defer-length")).toBe("1");
    expect(tus.log.map(({ headers }) => headers.get("upload-length"))).toEqual([null, null, null, "25"]);
  });

  it("an upload copies the parts of a stream, which may be overwritten", async () => {
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

  it("an upload reads a stream no further than one chunk ahead", async () => {
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

  it.each([
    "/api/uploads/u-1",
    "https://service.test/api/uploads/u-1",
    // Of a service that does not know of the proxy in front of it, which ends TLS.
    "http://service.test/api/uploads/u-1",
    "http://service.test:443/api/uploads/u-1",
  ])("an upload follows the Location %s", async (location) => {
    const { upload } = setUp({ location: () => location });
    expect(await upload(bytesOf(3))).toMatchObject({
      uploadUrl: "https://service.test/api/uploads/u-1",
    });
  });

  it("an upload never sends the token to another host", async () => {
    for (const place of ["https://elsewhere.test", "http://elsewhere.test", "http://service.test:8080"]) {
      const { upload, tus } = setUp({ location: () => `${place}/api/uploads/u-1` });
      await expect(upload(bytesOf(3))).rejects.toMatchObject({ code: "UPLOAD_FAILED" });
      expect(tus.log.map(({ url }) => new URL(url).host)).toEqual(["service.test"]);
    }
  });
});

describe("an upload after a failure", () => {
  const failures: Record<string, FakeTusServiceOptions> = {
    "a connection cut before a byte": once("PATCH", { arriving: 0, response: "cut" }),
    "a connection cut inside a chunk": once("PATCH", { arriving: 4, response: "cut" }, 1),
    "a response lost after the whole chunk": once("PATCH", { response: "cut" }),
    "a response lost after the last chunk": once("PATCH", { response: "cut" }, 2),
    "a 500": once("PATCH", { arriving: 0, response: 500 }),
    "a 503 after all": once("PATCH", { response: 503 }),
    "a 409": once("PATCH", { arriving: 0, response: 409 }),
    "a 423": once("PATCH", { arriving: 0, response: 423 }),
    "a 429": once("PATCH", { arriving: 0, response: 429, headers: { "retry-after": "7" } }),
    "a response without an offset": once("PATCH", { response: 204 }),
    "a response with an impossible offset": once("PATCH", {
      response: 204,
      headers: { "upload-offset": "999" },
    }),
    "a creation whose response is lost": once("POST", { arriving: 0, response: 502 }),
    "a rejected token": once("PATCH", { rejectToken: true }, 1),
    "a stalled request": once("PATCH", { stall: true }, 1),
  };

  for (const [failure, service] of Object.entries(failures)) {
    it(`an upload continues at the confirmed offset after ${failure}`, async () => {
      const { upload, tus } = setUp(service);
      const { uploadId } = await upload(partsOf(bytesOf(25), 7));
      expect(tus.uploads.get(uploadId)).toMatchObject({ content: Buffer.from(bytesOf(25)), length: 25 });
    });
  }

  it("an upload gets a fresh token when one is rejected, and uses one token otherwise", async () => {
    const { upload, engine, tus } = setUp(once("PATCH", { rejectToken: true }, 1));
    await upload(bytesOf(40));
    expect(engine.tokens.invalidated).toEqual(["token-1"]);
    const tokens = tus.log.map(({ headers }) => headers.get("authorization")).slice(0, 4);
    expect(tokens).toEqual([1, 1, 1, 2].map((token) => `Bearer token-${token}`));
  });

  it("an upload waits as long as Retry-After says", async () => {
    const { upload, engine } = setUp(
      once("PATCH", { arriving: 0, response: 503, headers: { "retry-after": "7" } }),
    );
    const startedAt = engine.clock.monotonic();
    await upload(bytesOf(5));
    expect(engine.clock.monotonic() - startedAt).toBeGreaterThanOrEqual(7_000);
  });

  it("an upload fails at once when Retry-After asks to wait for a day, and says when to resume", async () => {
    const { upload, engine } = setUp(
      once("PATCH", { arriving: 0, response: 503, headers: { "retry-after": "86400" } }),
    );
    const startedAt = engine.clock.monotonic();
    await expect(upload(bytesOf(5))).rejects.toMatchObject({
      code: "UPLOAD_FAILED",
      httpStatus: 503,
      retryAfterMs: 86_400_000,
    });
    expect(engine.clock.monotonic() - startedAt).toBeLessThan(60_000);
  });

  it("an upload arrives complete or fails with an SDK error, whatever happens to each request", async () => {
    const fault = fc.oneof(
      { weight: 3, arbitrary: fc.constant(undefined) },
      fc.record({
        arriving: fc.integer({ min: 0, max: 10 }),
        response: fc.constantFrom("cut" as const, 500, 503, 423, 204),
      }),
      fc.constant({ rejectToken: true }),
      fc.constant({ stall: true }),
      fc.record({ forget: fc.integer({ min: 1, max: 5 }) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 60 }),
        fc.array(fault, { maxLength: 30 }),
        fc.constantFrom(...Object.values(bodies)),
        async (length, faults, make) => {
          const { upload, tus } = setUp({ fault: (request) => faults[request] });
          const result = await outcomeOf(upload(make(bytesOf(length))));
          if (result instanceof Error) {
            expect(["UPLOAD_FAILED", "UPLOAD_LOST", "UPLOAD_REJECTED", "TOKEN_REJECTED"]).toContain(
              (result as Error & { code: string }).code,
            );
          } else {
            expect(tus.uploads.get(result.uploadId)?.content).toEqual(Buffer.from(bytesOf(length)));
          }
        },
      ),
      { numRuns: atDepth(100, 1_000) },
    );
  });
});

describe("an upload that cannot continue", () => {
  it("an upload fails after maxRetries failures in a row", async () => {
    const { upload, methods } = setUp({ fault: () => ({ arriving: 0, response: 500 }) });
    await expect(upload(bytesOf(5))).rejects.toMatchObject({
      code: "UPLOAD_FAILED",
      message: "uploads.upload: could not create the upload (failures in a row: 4, the last: HTTP 500)",
      httpStatus: 500,
      attempts: 4,
    });
    const cut = setUp({ fault: () => ({ arriving: 0, response: "cut" }) });
    await expect(cut.upload(bytesOf(5))).rejects.toMatchObject({
      code: "UPLOAD_FAILED",
      message: expect.stringContaining("(failures in a row: 4, the last: NETWORK_FAILED"),
    });
    expect(methods()).toBe("POST POST POST POST");
  });

  it("an upload counts only failures without confirmed bytes in between", async () => {
    const { upload, tus } = setUp({
      fault: (_, method) => (method === "PATCH" ? { arriving: 1, response: "cut" } : undefined),
    });
    await upload(bytesOf(12));
    expect(tus.log.filter(({ method }) => method === "PATCH")).toHaveLength(12);
  });

  it.each([400, 413, 415, 302])("an upload fails when the service rejects it with %i", async (status) => {
    const { upload, methods } = setUp(once("POST", { response: status }));
    await expect(upload(bytesOf(5))).rejects.toMatchObject({ code: "UPLOAD_REJECTED", httpStatus: status });
    expect(methods()).toBe("POST");
  });

  const atEachChunk = (fault: TusFault): FakeTusServiceOptions => ({
    fault: (_, method) => (method === "PATCH" ? fault : undefined),
  });
  const lockedStream = () => {
    const stream = new Blob(["text"]).stream();
    stream.getReader();
    return stream;
  };
  async function* emptyParts() {
    for (let parts = 0; parts < 1_000_000; parts += 1) yield new Uint8Array(0);
    yield bytesOf(5);
  }
  async function* texts() {
    yield "text" as never;
  }
  const closedBody = {
    [Symbol.asyncIterator]() {
      throw new Error("not open");
    },
  };
  const lost = { code: "UPLOAD_LOST" };
  const gone = { ...lost, outcome: "rejected", httpStatus: 404 };
  const reset = once("PATCH", { arriving: 0, forget: 3, response: "cut" }, 1);
  const losing = atEachChunk({ forget: 10, response: "cut" });

  it.each<[string, UploadBody, object, FakeTusServiceOptions?, Partial<UploadOptions>?]>([
    ["the service keeps losing confirmed bytes", bytesOf(40), { code: "UPLOAD_FAILED" }, losing],
    ["a stream would have to be read again", partsOf(bytesOf(40), 7), lost, reset],
    ["the service has no such upload any more", bytesOf(40), gone, once("PATCH", { lose: true }, 1)],
    ["a stream is shorter than its declared length", partsOf(bytesOf(25), 7), invalid, {}, { sizeBytes: 30 }],
    ["a stream is longer than its declared length", partsOf(bytesOf(25), 7), invalid, {}, { sizeBytes: 20 }],
    ["its stream has another reader", lockedStream(), invalid],
    ["its stream yields strings", texts(), invalid],
    ["its body cannot be iterated over", closedBody, { ...invalid, cause: { message: "not open" } }],
    ["its stream yields nothing but empty parts, without a pause", emptyParts(), invalid],
  ])("an upload fails when %s", async (_, body, expected, service, options) => {
    await expect(setUp(service).upload(body, options)).rejects.toMatchObject(expected);
  });

  it("an upload fails when a fresh token is rejected too", async () => {
    const { upload, methods } = setUp({ fault: () => ({ rejectToken: true }) });
    await expect(upload(bytesOf(5))).rejects.toMatchObject({ code: "TOKEN_REJECTED", httpStatus: 401 });
    expect(methods()).toBe("POST POST");
  });

  it.each(Object.entries(bodies))(
    "an upload of %s without a byte fails before a request",
    async (_, make) => {
      const { upload, methods } = setUp();
      await expect(upload(make(new Uint8Array(0)))).rejects.toMatchObject({
        code: "UPLOAD_BODY_INVALID",
        outcome: "not_sent",
      });
      expect(methods()).toBe("");
    },
  );

  const withPassword = "https://user:password@service.test/api/uploads/u-1";

  const locations = ["/api/uploads/50%", "/api/uploads/", "/api/uploads/?id=abc", "/api/uploads", "/", ""];
  it.each([...locations, withPassword])(
    "an upload fails before its first chunk when the service creates it at %j",
    async (location) => {
      const { upload, methods } = setUp({ location: () => location });
      await expect(upload(bytesOf(5))).rejects.toMatchObject({ code: "UPLOAD_FAILED" });
      expect(methods()).toBe("POST");
    },
  );

  it.each(["https://service.test/api/uploads/", "https://service.test/api/uploads/50%", "u-1", withPassword])(
    "an upload is not continued at %s",
    async (resumeUrl) => {
      const { upload, methods } = setUp();
      await expect(upload(bytesOf(5), { resumeUrl })).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
      expect(methods()).toBe("");
    },
  );

  it("an upload fails at once when the option fetch returns no response", async () => {
    const engine = createFakeEngine();
    let requests = 0;
    const fetch = async () => {
      requests += 1;
      return undefined as never;
    };
    const { upload } = createUploads(engine, { ...clientOptionsOf(engine), fetch });
    await expect(upload(bytesOf(5), file)).rejects.toMatchObject({
      code: "RESPONSE_INVALID",
      outcome: "unknown",
    });
    expect(requests).toBe(1);
  });
});

describe("onProgress of an upload", () => {
  it("a chunk is sent once the promise of onProgress has resolved", async () => {
    const { start, engine, methods } = setUp();
    const resolve: (() => void)[] = [];
    const onProgress = () => new Promise<void>((done) => resolve.push(done));
    const uploading = start(bytesOf(15), { onProgress });
    await engine.clock.advance(10_000);
    expect(methods()).toBe("POST");
    resolve.shift()?.();
    await engine.clock.advance(10_000);
    expect(methods()).toBe("POST PATCH");
    resolve.shift()?.();
    await engine.clock.advance(10_000);
    resolve.shift()?.();
    expect(await uploading).toMatchObject({ sizeBytes: 15 });
  });

  const throwing = () => {
    throw new Error("the database is gone");
  };
  it.each([
    ["throws", throwing],
    ["rejects", async () => throwing()],
  ])(
    "an upload fails with a typed error when onProgress %s, without another request",
    async (_, onProgress) => {
      const { upload, methods } = setUp();
      await expect(upload(bytesOf(15), { onProgress })).rejects.toMatchObject({
        code: "ON_PROGRESS_FAILED",
        outcome: "rejected",
        cause: { message: "the database is gone" },
      });
      expect(methods()).toBe("POST");
    },
  );

  it("a promise of onProgress that rejects after the end of its upload is handled", async () => {
    const { upload, engine } = setUp();
    let reject = (_: Error) => {};
    const onProgress = () =>
      new Promise((_, fail) => {
        reject = fail;
      });
    await expect(upload(bytesOf(5), { onProgress, deadlineMs: 5_000 })).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
    });
    reject(new Error("late"));
    await engine.clock.settle();
    expect(engine.clock.pending().timers).toBe(0);
  });
});

describe("the time limits of an upload", () => {
  async function* stalledStream() {
    yield bytesOf(5);
    await new Promise(() => {});
  }
  const withClient = (options: Partial<CreateClientOptions>, service: FakeTusServiceOptions = {}) => {
    const clock = createVirtualClock();
    const tus = createFakeTusService(service);
    const { client } = createScriptedService([({ url, init }) => tus.fetch(url, init)], {
      baseUrl: "https://service.test",
      clock,
      ...options,
    });
    return { clock, uploads: client.uploads, log: tus.log };
  };
  const stalledRequests = { fault: () => ({ stall: true }) };

  it.each([
    ["the deadlineMs of the client", { deadlineMs: 60_000 }, {}, 60_000],
    ["its own deadlineMs", { deadlineMs: 60_000 }, { deadlineMs: 5_000 }, 5_000],
    ["an hour by default", {}, {}, 3_600_000],
  ])("an upload of a stream that stalls ends by %s", async (_, client, own, expectedMs) => {
    const { clock, uploads } = withClient(client);
    const upload = uploads.upload(stalledStream(), { ...file, ...own });
    await expect(clock.runUntil(upload)).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(clock.monotonic()).toBe(expectedMs);
  });

  it.each([
    ["the timeoutMs of the client", { timeoutMs: 2_000 }, {}, 2_000],
    ["its own timeoutMs", { timeoutMs: 2_000 }, { timeoutMs: 7_000 }, 7_000],
    ["120 s by default", {}, {}, 120_000],
  ])("a request of an upload ends by %s", async (_, client, own, expectedMs) => {
    const { clock, uploads, log } = withClient({ maxRetries: 0, ...client }, stalledRequests);
    const upload = uploads.upload(bytesOf(5), { ...file, ...own });
    await expect(clock.runUntil(upload)).rejects.toMatchObject({
      code: "UPLOAD_FAILED",
      cause: { code: "REQUEST_TIMEOUT" },
    });
    expect(clock.monotonic()).toBe(expectedMs);
    expect(log).toHaveLength(1);
  });
});

describe("the end of an upload", () => {
  const stalled = () => setUp({ fault: (_, method) => (method === "PATCH" ? { stall: true } : undefined) });

  it("an aborted upload fails at once and leaves no listener and no timer", async () => {
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

  it("an upload with an aborted signal fails without a request", async () => {
    const { start, tus } = setUp();
    const error = await outcomeOf(start(bytesOf(5), { signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ code: "ABORTED", outcome: "not_sent", attempts: 0 });
    expect(tus.log).toEqual([]);
  });

  it("an upload fails when the client is closed", async () => {
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

  it.each(Object.entries(stalledStreams))(
    "an aborted upload of %s that stalls cancels it",
    async (_, make) => {
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
    },
  );
});

describe("an upload that another process started", () => {
  it.each(Object.entries(bodies))(
    "an upload continues from %s without sending the confirmed part again",
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

  it("an upload continues behind bytes that the process before it was still sending", async () => {
    let isResumed = false;
    const { upload, tus, stored } = setUp({
      fault(_, method) {
        // While the second process sends its first chunk, the connection of the first one delivers 25 bytes.
        const late = tus.uploads.get("u-1");
        if (isResumed && method === "PATCH" && late?.content.byteLength === 0)
          late.content = Buffer.from(bytesOf(25));
        return undefined;
      },
    });
    const abort = new AbortController();
    let resumeUrl = "";
    const first = upload(bytesOf(35), {
      signal: abort.signal,
      onProgress({ uploadUrl }) {
        resumeUrl = uploadUrl;
        abort.abort();
      },
    });
    await expect(first).rejects.toMatchObject({ code: "ABORTED" });
    isResumed = true;
    expect(await upload(bytesOf(35), { resumeUrl })).toMatchObject({ uploadId: "u-1" });
    expect(stored()?.content).toEqual(Buffer.from(bytesOf(35)));
  });

  it("an upload is not continued with a body of another length", async () => {
    const { upload } = setUp();
    const { uploadUrl } = await upload(bytesOf(35));
    await expect(upload(bytesOf(34), { resumeUrl: uploadUrl })).rejects.toMatchObject(invalid);
  });

  it.each([13, 15, 40])("an upload of 14 bytes is not continued with a stream of %i", async (length) => {
    const { upload, tus } = setUp(once("PATCH", { response: 400 }));
    let resumeUrl = "";
    const onProgress = ({ uploadUrl }: UploadProgress) => {
      resumeUrl = uploadUrl;
    };
    await expect(upload(bytesOf(14), { onProgress })).rejects.toMatchObject({ code: "UPLOAD_REJECTED" });
    await expect(upload(partsOf(bytesOf(length), 7), { resumeUrl })).rejects.toMatchObject(invalid);
    expect(tus.log.length).toBeLessThan(6);
  });
});
