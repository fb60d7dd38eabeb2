import { ActionButton, Actions, Notice, useTemporary } from "@workspace-tasks/page-parts/controls.tsx";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { plural } from "@workspace-tasks/page-parts/text.ts";
import { control } from "../../state/mock.ts";
import type { DeliveryQuery } from "../histograms.tsx";

interface Props {
  readonly query: DeliveryQuery;
  /** What the button replays. */
  readonly label?: string;
}

/** As many as the mock replays at once. */
const replayedMax = 10_000;

/** Replays what the filter matches, as far as it was rejected, whether or not the row is on this page. */
export function ReplayRejected({ query, label = "Replay rejected" }: Props) {
  const [run, setRun] = useTemporary<{ readonly started: number; readonly skipped: number }>(6_000);
  const rejected = { ...query, rejected: true };
  const read = () => control.countDeliveries(rejected);
  const counts = useResource(`rejected ${JSON.stringify(query)}`, ["delivery", "clock"], read);
  const sum = (of: Readonly<Record<string, number>>) => Object.values(of).reduce((a, b) => a + b, 0);
  const count = counts?.bars.reduce((total, bar) => total + sum(bar.counts), 0) ?? 0;
  const replay = async () => setRun(await control.replayDeliveries({ ...rejected, limit: replayedMax }));
  return (
    <Actions>
      <ActionButton
        label={`${label} (${count})`}
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
