// The table of rules, asked of the mock over HTTP. `workspace-tasks compare` asks a service the same.
import { beforeAll, expect, it } from "vitest";
import { agrees, expectedOf } from "../../../mock-server/tools/compare/ask/rule.ts";
import { Service } from "../../../mock-server/tools/compare/ask/service.ts";
import { askRules, type Finding } from "../../../mock-server/tools/compare/findings.ts";
import { prepareMock } from "../../../mock-server/tools/compare/mock-side.ts";
import { rules } from "../../../mock-server/tools/compare/rules/table.ts";
import { captureDeliveries } from "../../support/capture-deliveries.ts";
import { useService } from "./harness.ts";

const harness = useService();
let findings: ReadonlyMap<string, Finding>;

beforeAll(async () => {
  const { mock, baseUrl, gatewayUrl } = harness;
  const service = new Service({
    access: { baseUrl, gatewayUrl, keys: await prepareMock(mock) },
    fetch,
    clock: mock.clock,
    writes: true,
    rateLimit: { requests: 120, windowMs: 60_000 },
    runId: "conformance",
    captured: await captureDeliveries(),
    signal: new AbortController().signal,
  });
  findings = new Map((await askRules(service)).findings.map((finding) => [finding.rule, finding]));
});

const titled = rules.map((rule) => [`${rule.from.join(" ")} ${rule.id}: ${rule.says}`, rule] as const);

it.each(titled)("%s", (_, rule) => {
  const { fact, unknown } = findings.get(rule.id) ?? { unknown: "not asked" };
  expect(unknown).toBeUndefined();
  const expected = expectedOf(rule);
  if (!agrees(rule, expected, fact ?? null)) expect(fact).toEqual(expected);
});
