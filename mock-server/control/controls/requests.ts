import { found } from "../../rules/service-error.ts";
import type { JournalEntry } from "../../state/journal-entry.ts";
import { isoTime } from "../../time/iso-time.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { RecordedRequest, requestRoutes } from "../contract/requests.ts";
import type { ControlsOf } from "../contract/route.ts";
import { listPage } from "./list-page.ts";

export function createRequestControls(worlds: WorldHolder): ControlsOf<typeof requestRoutes> {
  return {
    listRequests: (query = {}) =>
      listPage(worlds.current.journal.entries(), query, {
        positionOf: ({ sequence }) => sequence,
        view: viewRequest,
      }),
    getRequest(sequence) {
      const entry = found(
        worlds.current.journal.entries().find((entry) => String(entry.sequence) === sequence),
        `the journal has no request ${sequence}`,
      );
      return viewRequest(entry);
    },
  };
}

const viewRequest = ({ atMs, ...entry }: JournalEntry): RecordedRequest => ({
  ...entry,
  at: isoTime(atMs),
  operations: [...entry.operations],
  errors: [...entry.errors],
  faults: [...entry.faults],
});
