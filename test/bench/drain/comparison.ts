import type { Table } from "../benchmark.ts";
import { spread } from "../format.ts";
import { medianIn, type Rounds, spreadIn } from "../statistics.ts";
import { type Store, storeNames } from "./backlog-stores.ts";
import type { Drained } from "./drain.ts";

export type Drains = Rounds<keyof Drained>;

/** The fastest first. */
const byWallTime = (names: readonly string[], drains: Drains) =>
  names.toSorted((a, b) => medianIn(drains, a, "wallUs") - medianIn(drains, b, "wallUs"));

export function comparison(store: Store, what: string, drains: Drains): Table {
  const fields = [
    ["perSecond", "events/s"],
    ["cpuUs", "µs"],
    ...(store === "postgres"
      ? ([
          ["serverCpuUs", "server µs"],
          ["commits", "commits"],
        ] as const)
      : []),
    ["bytesWritten", "bytes written"],
  ] as const;
  const cells = (name: string) => fields.map(([field]) => spread(spreadIn(drains, name, field)));
  return {
    columns: [`${storeNames[store]}, ${what}`, ...fields.map(([, column]) => column)],
    rows: byWallTime([...drains.keys()].map(String), drains).map((name) => [
      name.replace(/^kit-[a-z]+/, "this kit"),
      ...cells(name),
    ]),
  };
}
