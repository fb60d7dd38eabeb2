import { useState } from "preact/hooks";
import type { DeliverySummary } from "../../api-types.ts";
import { ActionButton, Actions } from "../../parts/controls/action.tsx";
import { Button } from "../../parts/controls/button.tsx";
import { Notice } from "../../parts/status/status.tsx";
import { control } from "../../state/resource.ts";
import { currentState, useLive } from "../../state/store.ts";
import { plural } from "../../text/format.ts";
import type { DeliveryQuery } from "../histograms.tsx";

interface Props {
  readonly query: DeliveryQuery;
  readonly rows: readonly DeliverySummary[];
  /** Whether there are older rows than `rows`. */
  readonly hasMore: boolean;
}

/** As many as the mock replays at once. */
const replayedMax = 10_000;

/** A bulk replay: what it started, and the count of replays before it. */
interface Started {
  readonly started: number;
  readonly skipped: number;
  readonly before: ReturnType<typeof currentState>["replays"];
}

/** Replays what the filter matches, as far as it was rejected, whether or not the row is loaded. */
export function ReplayRejected({ query, rows, hasMore }: Props) {
  const [run, setRun] = useState<Started | null>(null);
  const count = rows.filter(({ rejected }) => rejected).length;
  const about = `${count}${hasMore ? "+" : ""}`;
  const replay = async () => {
    const before = currentState().replays;
    const result = await control.replayDeliveries({ ...query, rejected: true, limit: replayedMax });
    setRun({ ...result, before });
  };
  return (
    <Actions>
      <ActionButton
        label={`Replay rejected (${about})`}
        question={`Send ${about} again?`}
        class="steady"
        disabled={count === 0}
        onRun={replay}
      />
      {run && <Progress run={run} onClose={() => setRun(null)} />}
    </Actions>
  );
}

function Progress({ run, onClose }: { readonly run: Started; readonly onClose: () => void }) {
  const { accepted, failed } = useLive(({ replays }) => replays);
  const now = { accepted: accepted - run.before.accepted, failed: failed - run.before.failed };
  const ended = Math.min(run.started, now.accepted + now.failed);
  const isDone = ended === run.started;
  return (
    <Notice tone={!isDone ? "run" : now.failed > 0 ? "wait" : "good"} isAlert={isDone}>
      {isDone ? "Replayed " : `${ended} of `}
      {plural(run.started, "delivery", "deliveries")}: {now.accepted} accepted, {now.failed} not.
      {run.skipped > 0 && ` ${run.skipped} skipped: the endpoint is paused or deleted.`}{" "}
      <Button label="✕" name="✕, dismiss" class="quiet" onClick={onClose} />
    </Notice>
  );
}
