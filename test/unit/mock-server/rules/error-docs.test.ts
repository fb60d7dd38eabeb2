// docs/mock-errors.md lists every error of an operation. The sources of all rules are read for them, so that neither
// can change alone.

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createMockServer, mockServerErrorCodes } from "workspace-tasks/mock-server";

const folder = "mock-server/rules";
const rules = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
  path.endsWith(".ts"),
);

/** Errors that only control API callers receive. */
const controlOnly = [
  "API key expiry must be 30, 60, 90 or 365 days",
  "User is not a member of the workspace",
  "API key not found",
  "Partner not found",
  "Membership not found",
  "Task not found",
  'delivery "…" not found',
  'event name must look like "noun.verb", got "…"',
  'event "…" is already in the catalog',
  'stage "…" is already RUNNING',
  "a task that is … cannot become …",
  "the stages of a task that is … do not change",
  "the delivery's endpoint is …",
];

const patterns = [
  /new ServiceError\(\s*"([A-Z_]+)",\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g,
  /throw (badInput|conflict|notFound)\(\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g,
  /\b(?:reachable|found)\([^"`]*()(?:"([^"]+)"|`([^`]+)`)/g,
];

const factories: Readonly<Record<string, string>> = {
  badInput: "BAD_USER_INPUT",
  conflict: "CONFLICT",
  notFound: "NOT_FOUND",
};

function errorsIn(text: string): { code: string; message: string }[] {
  return patterns
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .map(([, code = "", plain, template = ""]) => ({
      code: factories[code] ?? (code || "NOT_FOUND"),
      message: plain ?? template.replace(/\$\{[^}]*\}/g, "…"),
    }));
}

const found = rules.flatMap((name) => errorsIn(readFileSync(`${folder}/${name}`, "utf8")));
const page = readFileSync("docs/mock-errors.md", "utf8");
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split("\n", 1)[0] ?? "", section]),
);
const listed = [...sections].flatMap(([code, section]) =>
  [...section.matchAll(/^\| `(.+?)` \|/gm)].map(([, message]) => `${code} ${message}`),
);

/** Rows of the tables that have a status. */
const withStatus = (heading: string) =>
  [...(sections.get(heading) ?? "").matchAll(/^\| (\d+) \| `(.+?)` \|/gm)].map(
    ([, status, message]) => `${status} ${message}`,
  );

async function badRequests(): Promise<string[]> {
  await using mock = await createMockServer({ listen: false, settings: { bounds: { bodyBytesMax: 2_000 } } });
  const json = { "content-type": "application/json" };
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json) => ({
    method: "POST",
    headers,
    body,
  });
  const requests: RequestInit[] = [
    { method: "PUT" },
    post("{}", { ...json, accept: "text/html" }),
    post(" ".repeat(2_001)),
    post("{}", { "content-type": "text/plain" }),
    post(new Uint8Array([0xff])),
    post(`{"a":${"[".repeat(500)}`),
    post(""),
    post("{"),
    ...["[]", "7", "null"].map((body) => post(body)),
    ...[{}, { query: 1 }].map((body) => post(JSON.stringify(body))),
    ...["variables", "operationName", "extensions"].map((name) =>
      post(JSON.stringify({ query: "{", [name]: 7 })),
    ),
  ];
  const produced: string[] = [];
  for (const init of requests) {
    const response = await mock.fetch("/graphql", init);
    const { errors } = JSON.parse(await response.text());
    expect(errors[0].extensions.code).toBe("BAD_REQUEST");
    produced.push(`${response.status} ${errors[0].message.replace("2000", "…")}`);
  }
  return produced;
}

describe("docs/mock-errors.md", () => {
  it("lists every response to a request that is not GraphQL over HTTP, and no other", async () => {
    // Worlds with one key are tested with the worlds.
    const ambiguous = "400 several worlds have this key; address one by its path, /w/{name}/graphql";
    const produced = new Set([...(await badRequests()), ambiguous]);
    expect(withStatus("BAD_REQUEST").toSorted()).toEqual([...produced].toSorted());
  });

  it("lists every rejection of an upload, and no other", () => {
    const texts = ["mock-server/tus", "mock-server/rules/uploads"].flatMap((path) =>
      readdirSync(path).map((name) => readFileSync(`${path}/${name}`, "utf8")),
    );
    const thrown = texts.flatMap((text) =>
      [...text.matchAll(/new UploadError\((\d+), (?:"([^"]+)"|`([^`]+)`)/g)].map(
        ([, status, plain, template = ""]) => `${status} ${plain ?? template.replace(/\$\{[^}]*\}/g, "…")}`,
      ),
    );
    expect(withStatus("Uploads").toSorted()).toEqual([...new Set(thrown)].toSorted());
  });

  it("lists every ServiceError of the rules under its code, and no other", () => {
    const expected = new Set(
      found
        .filter(({ message }) => !controlOnly.includes(message))
        .map(({ code, message }) => `${code} ${message}`),
    );
    // The rate limit is checked before the rules.
    expected.add("RATE_LIMITED Too many requests");
    expect(listed.toSorted()).toEqual([...expected].toSorted());
  });

  it("has a heading for every code of a MockServerError", () => {
    const headings = [...page.matchAll(/^##+ (.+)$/gm)].flatMap(([, heading = ""]) => heading.split(", "));
    expect(mockServerErrorCodes.filter((code) => !headings.includes(code))).toEqual([]);
  });

  it("is compared with the messages in the sources", () => {
    const source = `throw new ServiceError(\n "CONFLICT",\n \`a \${b} c\`); reachable(world, x, "d not found")`;
    expect(errorsIn(source)).toEqual([
      { code: "CONFLICT", message: "a … c" },
      { code: "NOT_FOUND", message: "d not found" },
    ]);
    expect(found.length).toBeGreaterThan(40);
  });
});
