import { createMockServer, type MockServer, type SettingsChanges } from "@workspace-tasks/mock-server";
import { createVirtualClock, type VirtualClock } from "../../mock-server/time/virtual-clock.ts";
import { type KeyName, keyNames } from "../../mock-server/tools/compare/ask/service.ts";
import { type CompareOptions, compareService } from "../../mock-server/tools/compare/compare-service.ts";
import { isDifference } from "../../mock-server/tools/compare/evaluate.ts";
import { prepareMock } from "../../mock-server/tools/compare/mock-side.ts";
import type { CompareReport } from "../../mock-server/tools/compare/report.ts";

export type Send = (url: string, init: RequestInit) => Promise<Response>;

/** A mock that plays the real service, with records that a real one would have. */
export interface ComparedService extends AsyncDisposable {
  readonly mock: MockServer;
  readonly clock: VirtualClock;
  readonly keys: Readonly<Partial<Record<KeyName, string>>>;
}

/** @param settings of the mock */
export async function startComparedService(
  settings: SettingsChanges = {},
  seed = 7,
): Promise<ComparedService> {
  const clock = createVirtualClock();
  const mock = await createMockServer({ listen: false, clock, seed, settings, deliverOnly: "loopback" });
  return { mock, clock, keys: await prepareMock(mock), [Symbol.asyncDispose]: () => mock.close() };
}

/** Between the comparison and the service. */
export type Around = (send: Send) => Send;

type Optional = "settings" | "captured" | "onFinding" | "onStart" | "onWait" | "signal";

export interface CompareInput extends Partial<Pick<CompareOptions, Optional>> {
  readonly writes?: boolean;
  readonly keys?: readonly KeyName[];
  readonly around?: Around;
}

/** Compares the service with the table, in this process. Default: reads only, with every key. */
export function compare(service: ComparedService, input: CompareInput = {}): Promise<CompareReport> {
  const { mock, clock, keys } = service;
  const { writes = false, around = (send) => send, keys: names = keyNames, ...others } = input;
  return compareService({
    signal: new AbortController().signal,
    ...others,
    access: {
      baseUrl: mock.baseUrl,
      gatewayUrl: mock.gatewayUrl,
      keys: Object.fromEntries(names.flatMap((name) => (keys[name] ? [[name, keys[name]]] : []))),
    },
    fetch: around((url, init) => mock.fetch(url, init)),
    clock,
    writes,
    runId: "test",
  });
}

export const idsOf = ({ rules }: CompareReport, verdict: string) =>
  rules.filter((rule) => rule.verdict === verdict).map(({ id }) => id);

export const refutedIn = (report: CompareReport) => idsOf(report, "refuted");

/** Rules that are refuted, and rules that differ from an assumption. */
export const differencesIn = ({ rules }: CompareReport) => rules.filter(isDifference).map(({ id }) => id);

export const reasonOf = ({ rules }: CompareReport, rule: string) =>
  rules.find(({ id }) => id === rule)?.received;
