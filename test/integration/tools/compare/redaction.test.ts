import { describe, expect, it } from "vitest";
import type { Observation } from "../../../../mock-server/tools/compare/observe/observation.ts";
import { redactCode, redactMessage } from "../../../../mock-server/tools/compare/observe/redact-message.ts";
import { observationLine } from "../../../../mock-server/tools/compare/record.ts";
import { renderJsonReport } from "../../../../mock-server/tools/compare/report/json-report.ts";
import { renderJunitReport } from "../../../../mock-server/tools/compare/report/junit-report.ts";
import { renderTextReport } from "../../../../mock-server/tools/compare/report/text-report.ts";
import { type Change, changing } from "../../../support/changed-responses.ts";
import { type ComparedService, compare, startComparedService } from "../../../support/compared-service.ts";

/** Names, addresses, ids and texts of every record, and every secret. */
async function textsStoredBy({ mock }: ComparedService): Promise<readonly string[]> {
  const { state } = await mock.control.getSnapshot();
  const texts = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === "string") texts.add(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  collect(state);
  // The service's own words, which a report is about.
  return [...texts].filter(
    (text) => text.length > 3 && /[^a-zA-Z_.-]/.test(text) && !/^F\d+\w?$|^l\d$/.test(text),
  );
}

/** The record and every report of a run with writes. */
async function outputsOf(service: ComparedService, change: Change): Promise<readonly string[]> {
  const observations: Observation[] = [];
  const report = await compare(service, {
    permissions: ["read", "write"],
    around: changing(change),
    onObservation: (each) => observations.push(each),
  });
  const reports = [renderTextReport, renderJsonReport, renderJunitReport].map((render) => render(report));
  return [observations.map(observationLine).join(""), ...reports, JSON.stringify(report.settings)];
}

describe("records and reports of compare", () => {
  it("hold nothing that the service stores or issues, in whichever place it shows it", async () => {
    await using service = await startComparedService();
    const outputs = await outputsOf(service, ({ json, headers }) => {
      headers["x-request-id"] = "Miller-7345";
      headers["retry-after"] = "for Miller";
      json.data &&= { ...json.data, "Miller & Sons": "ssn 123-45-6789" };
      for (const error of json.errors ?? []) {
        error.message = `Miller & Sons: ${error.message}; client Miller 4711 of ada@acme.example at 12 Elm Street, SSN 123-45-6789, file "elm of miller"`;
        error.extensions = { code: "Miller", detail: "Miller" };
        error.path = ["Miller", 3];
      }
    });
    const planted = ["Miller", "miller", "4711", "ada@", "acme", "Elm", "Street", "6789", "SSN"];
    const secrets = [...Object.values(service.keys), ...planted, ...(await textsStoredBy(service))];
    for (const output of outputs) {
      expect(secrets.filter((secret) => output.includes(secret))).toEqual([]);
      // A run sends one id of its own, of zeros.
      expect(output).not.toMatch(/eyJ[\w-]{8,}|whsec_\w+|(?!0{8})[0-9a-f]{8}-[0-9a-f]{4}-7/);
    }
  });

  it("hold no key that looks like a word of the service", async () => {
    await using service = await startComparedService();
    const keys = {
      ...service.keys,
      expired: "wt-expired.key",
      revoked: "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
    };
    const outputs = await outputsOf({ ...service, keys }, ({ json }) => {
      const { workspace } = json.data?.me ?? {};
      if (workspace) workspace.status = keys.expired;
      for (const client of workspace?.clients ?? []) client.status = keys.revoked;
      for (const task of workspace?.tasks ?? []) task.type = keys.expired;
      for (const error of json.errors ?? []) error.message = `Invalid ${keys.expired}`;
    });
    expect(outputs[0]).toContain("…");
    expect(Object.values(keys).filter((key) => outputs.join("").includes(key))).toEqual([]);
  });

  it.each([
    ["Limit must be between 1 and 100", "Limit must be between 1 and 100"],
    ["expected a maximum of 50 items", "expected a maximum of 50 items"],
    ["The cursor is invalid", "The cursor is invalid"],
    ['Cannot query field "novuHash" on type "Query.me"', 'Cannot query field "novuHash" on type "Query.me"'],
    ["Client of 4711 is closed", "Client of … is closed"],
    ["account belongs to 123456", "account belongs to …"],
    ["Client Grace Page not found", "Client … not found"],
    ["Miller was not found", "… was not found"],
    ["no client 'ada miller' or \"ada\"", "no client '…' or \"…\""],
    ["one\u2028two\u001b[31m", "one two…[…"],
  ])("hold of the message %j the part %j", (message, expected) => {
    expect(redactMessage(message)).toBe(expected);
  });

  it.each([
    ["INVALID_CURSOR", "INVALID_CURSOR"],
    ["Miller", "…"],
    ["CLIENT_4711", "…"],
    [7, "…"],
  ])("hold of the code %j the part %j", (code, expected) => {
    expect(redactCode(code)).toBe(expected);
  });
});
