import { describe, expect, it } from "vitest";
import { takeResponse } from "../../../../../mock-server/tools/check-receiver/target/connection.ts";

/** Reads the text as pieces of `size` bytes and the end of the connection; returns status and body of each response. */
function read(text: string, size = text.length) {
  const bytes = Buffer.from(text, "latin1");
  const responses: [status: number, body: string][] = [];
  let buffered = Buffer.alloc(0);
  const take = (isClosed: boolean) => {
    for (let taken = takeResponse(buffered, isClosed); taken; taken = takeResponse(buffered, isClosed)) {
      responses.push([taken.content.status, taken.content.body.toString()]);
      buffered = Buffer.from(taken.rest);
    }
  };
  for (let at = 0; at < bytes.length; at += size) {
    buffered = Buffer.concat([buffered, bytes.subarray(at, at + size)]);
    take(false);
  }
  take(true);
  return responses;
}

const counted = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const chunked =
  "HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n";
const empty = "HTTP/1.1 204 No Content\r\n\r\n";
const interim = "HTTP/1.1 100 Continue\r\n\r\n";
const untilClose = "HTTP/1.0 500 Oops\r\n\r\nhello";

describe("takeResponse", () => {
  it.each([1, 2, 7, 1000])("takeResponse reads consecutive responses in pieces of %i bytes", (size) => {
    expect(read(counted + chunked + interim + empty + untilClose, size)).toEqual([
      [200, "hello"],
      [400, "hello"],
      [204, ""],
      [500, "hello"],
    ]);
  });

  it("takeResponse returns nothing for a truncated response", () => {
    expect(read(counted.slice(0, -1))).toEqual([]);
    expect(read(chunked.slice(0, -2))).toEqual([]);
    expect(read("HTTP/1.1 200 OK\r\nConte")).toEqual([]);
  });

  it("takeResponse keeps only the first 64 KB of a body", () => {
    const text = `HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n${"x".repeat(100_000)}`;
    const response = takeResponse(Buffer.from(text), false)?.content;
    expect(response?.body.length).toBe(64 * 1024);
  });

  it.each([
    ["another protocol", "SSH-2.0-example\r\n"],
    ["a status line without a status", "HTTP/1.1 OK\r\n\r\n"],
    ["a chunk without a size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
    ["a head without an end", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(300_000)}`],
  ])("takeResponse throws on %s", (_, text) => {
    expect(() => read(text)).toThrow();
  });
});
