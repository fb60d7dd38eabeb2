import { describe, expect, it } from "vitest";
import { responseExcerpt } from "../../../../../receiver-kit/audit/target/response-excerpt.ts";

const secret = "c2VjcmV0LW9mLXRoZS1ydW4";
const redact = (text: string) => text.replaceAll(secret, "…");

function excerpt(body: string | Buffer, headers: Readonly<Record<string, string>> = {}, status = 500) {
  const response = { status, headers: new Map(Object.entries(headers)), body: Buffer.from(body) };
  return responseExcerpt({ kind: "response", ...response, durationMs: 1 }, redact);
}

describe("responseExcerpt", () => {
  it.each([
    ["text", "relation does not exist\n", "relation does not exist"],
    [
      "JSON with a stack",
      '{"error":"x is undefined","stack":"TypeError\\n    at f (/srv/app.js:1:2)"}',
      '{"error":"x is undefined","stack":"TypeError',
    ],
    [
      "the page of Express",
      "<!DOCTYPE html><html><head><title>Error</title></head><body><pre>Error: no such table: &quot;rows&quot;<br> &nbsp; &nbsp;at f (/srv/app.js:1:2)</pre></body></html>",
      'Error: no such table: "rows"',
    ],
    [
      "the traceback of Python",
      'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in f\n    rows[0]\nIndexError: list index out of range',
      "Traceback (most recent call last): IndexError: list index out of range",
    ],
    ["a word that drives a terminal", "a\u001b[31mred\u202e", "a [31mred"],
  ])("the excerpt of a response shows %s as one line, without code", (_, body, expected) => {
    expect(excerpt(body)).toBe(expected);
  });

  it.each([
    [`expected the secret ${secret}`, "expected the secret …"],
    ["connect postgres://app:hunter2@db.internal/tasks", "connect postgres://…@db.internal/tasks"],
    ['DB_PASSWORD=hunter2 and {"apiKey": "hunter2"}', 'DB_PASSWORD=… and {"apiKey": "…"}'],
    ["authorization: Bearer hunter2.hunter2", "authorization: … …"],
    ["got whsec_aDuqxT2f, wtk_hunter2", "got …, …"],
    ["expected v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=", "expected v1,…"],
    ["digest 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b", "digest …"],
    ["task 01a204df-379b-7000-8000-084c938e2331 of dist/handlers/webhook-handler", undefined],
  ])("the excerpt of %j has no secret, and keeps ids and paths", (body, expected = body) => {
    expect(excerpt(body)).toBe(expected);
  });

  it("the excerpt of a long response is limited, and is redacted before it is cut", () => {
    expect(excerpt("x y ".repeat(5_000))).toHaveLength(301);
    expect(excerpt(`${"x ".repeat(145)}${secret}`)).not.toContain(secret.slice(0, 5));
  });

  it("there is no excerpt of a success, an empty body, and bytes that are no text", () => {
    expect(excerpt("created", {}, 201)).toBeUndefined();
    expect(excerpt(" \n")).toBeUndefined();
    expect(excerpt(Buffer.from([0xff, 0xfe, 0x41]))).toBeUndefined();
    expect(excerpt("text", { "content-encoding": "gzip" })).toBeUndefined();
    expect(responseExcerpt({ kind: "timeout", durationMs: 1 }, redact)).toBeUndefined();
  });

  it("the excerpt of a body that is made to slow it down is limited, too", () => {
    for (const part of ["<", "token", "a-", "//", "\\n at ", "<script", "&amp;"])
      expect(excerpt(part.repeat(65_536 / part.length))?.length ?? 0).toBeLessThanOrEqual(301);
  });
});
