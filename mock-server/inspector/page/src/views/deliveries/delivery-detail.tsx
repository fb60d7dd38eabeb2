import { hashOf } from "@workspace-tasks/page-parts/address.ts";
import { ActionButton, Actions, CopyButton } from "@workspace-tasks/page-parts/controls.tsx";
import { useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { Absent } from "@workspace-tasks/page-parts/status.tsx";
import { formatExact, shortId } from "@workspace-tasks/page-parts/text.ts";
import { Copied, Facts } from "@workspace-tasks/page-parts/values.tsx";
import { DeliveryBadge, describeNext, isDue } from "../../parts/delivery-state.tsx";
import { control } from "../../state/mock.ts";
import { deliveryMarkdown } from "../../text/delivery-markdown.ts";
import { Attempts } from "./attempts.tsx";

export function DeliveryDetail({ id }: { readonly id: string }) {
  const nowMs = useNowMs();
  const delivery = useResource(
    `delivery ${id}`,
    ["delivery", "clock", "endpoint"],
    () => control.getDelivery(id),
    (read) => (read && isDue(read, nowMs) ? Math.floor(nowMs / 1_000) : 0),
  );
  if (!delivery) return <Absent value={delivery} text="There is no delivery with this id." />;
  const { url, taskId } = delivery;
  const next = describeNext(delivery, nowMs);
  const link = new URL(hashOf("deliveries", id), location.href).href;
  return (
    <>
      <section class="panel">
        <div class="title-bar">
          <h3>{delivery.event}</h3>
          <DeliveryBadge delivery={delivery} />
          <Actions>
            <ActionButton
              label="Replay"
              onRun={() => control.replayDelivery(id)}
              shortcut="r"
              class="primary"
            />
            <CopyButton label="Copy link" text={link} />
            <CopyButton label="Copy as Markdown" text={() => deliveryMarkdown(delivery, link)} />
          </Actions>
        </div>
        <Facts
          values={{
            endpoint:
              url === null ? (
                `${shortId(delivery.endpointId)}, deleted`
              ) : (
                <a href={hashOf("endpoints", delivery.endpointId)}>{url}</a>
              ),
            client: delivery.client,
            "next attempt": next && (
              <span title={delivery.nextAttemptAt ? formatExact(delivery.nextAttemptAt) : undefined}>
                {next}, try {delivery.nextTry} of {delivery.triesMax}
              </span>
            ),
            [taskId ? "task" : "about"]: (
              <Copied value={delivery.subject} href={taskId ? hashOf("tasks", taskId) : undefined} />
            ),
          }}
        />
      </section>
      <Attempts delivery={delivery} />
    </>
  );
}
