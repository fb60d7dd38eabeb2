import type { DeliverySummary } from "@workspace-tasks/mock-server/control";
import { ActionButton, Actions, Notice, useTemporary } from "@workspace-tasks/page-parts/controls.tsx";
import { plural } from "@workspace-tasks/page-parts/text.ts";
import { control } from "../../state/mock.ts";
import type { DeliveryQuery } from "../histograms.tsx";

interface Props {
  readonly query: DeliveryQuery;
  readonly rows: readonly DeliverySummary[];
  /** Whether there are older rows than `rows`. */
  readonly hasMore: boolean;
}

/** As many as the mock replays at once. */
const replayedMax = 10_000;

/** Replays what the filter matches, as far as it was rejected, whether or not the row is on this page. */
export function ReplayRejected({ query, rows, hasMore }: Props) {
  const [run, setRun] = useTemporary<{ readonly started: number; readonly skipped: number }>(6_000);
  const count = rows.filter(({ rejected }) => rejected).length;
  const about = `${count}${hasMore ? "+" : ""}`;
  const replay = async () =>
    setRun(await control.replayDeliveries({ ...query, rejected: true, limit: replayedMax }));
  return (
    <Actions>
      <ActionButton
        label={`Replay rejected (${about})`}
        asksFirst
        class="steady"
        disabled={count === 0}
        onRun={replay}
      />
      {run && (
        <Notice tone={run.skipped > 0 ? "wait" : "good"} isAlert>
          {plural(run.started, "replay")} started; the list shows the responses.
          {run.skipped > 0 && ` ${run.skipped} skipped: the endpoint is paused or deleted.`}
        </Notice>
      )}
    </Actions>
  );
}
