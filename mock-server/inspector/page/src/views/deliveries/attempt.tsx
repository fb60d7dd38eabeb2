import { useState } from "preact/hooks";
import { hashOf } from "../../address.ts";
import type { DeliveryAttempt, DeliveryDetail } from "../../api-types.ts";
import { LinkButton } from "../../parts/controls/button.tsx";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { Notice, StatusBadge } from "../../parts/status/status.tsx";
import { BodyText, Response } from "../../parts/values/body-text.tsx";
import { Headers } from "../../parts/values/text-block.tsx";
import { firstWords, formatDuration, formatTimeNear, toCurl, withDuration } from "../../text/format.ts";
import "./attempt.css";

interface Props {
  readonly attempt: DeliveryAttempt;
  readonly before: DeliveryAttempt | undefined;
  /** Only the last attempt is open at first. */
  readonly last: boolean;
  readonly delivery: Pick<DeliveryDetail, "id" | "url">;
  readonly nowMs: number;
}

export function Attempt({ attempt, before, last, delivery, nowMs }: Props) {
  const [toggled, setToggled] = useState<boolean | null>(null);
  const open = toggled ?? last;
  const startedAtMs = Date.parse(attempt.startedAt);
  const waitedMs = before ? startedAtMs - Date.parse(before.startedAt) : 0;
  return (
    <li class={attempt.error === null ? "tone-good" : "tone-bad"}>
      <button type="button" class="attempt-title" aria-expanded={open} onClick={() => setToggled(!open)}>
        <b>Attempt {attempt.number}</b>
        {attempt.kind !== "scheduled" && <StatusBadge status={attempt.kind} />}
        <StatusBadge status={attempt.error === null ? "succeeded" : "rejected"} />
        <span>{attempt.status ?? "no response"}</span>
        <span class="at-end muted mono">
          {before && `+${formatDuration(waitedMs)} · `}
          {formatTimeNear(startedAtMs, nowMs)}
        </span>
      </button>
      {open && <AttemptDetail attempt={attempt} delivery={delivery} />}
    </li>
  );
}

type DetailProps = Pick<Props, "attempt" | "delivery">;

/** The response comes first where it is the reason of a failure. */
function AttemptDetail({ attempt, delivery: { id, url } }: DetailProps) {
  const { requestHeaders, requestBody, status, error, faults } = attempt;
  const response = (
    <Response
      key="response"
      summary={status === null ? "none" : withDuration(status, " in", attempt.durationMs)}
      headers={attempt.responseHeaders}
      body={attempt.responseBody}
      isTruncated={attempt.responseTruncated}
    />
  );
  return (
    <div class="attempt">
      {error && <Rejection attempt={attempt} />}
      {faults.length > 0 && <Notice tone="wait">Altered by a fault: {faults.join(", ")}</Notice>}
      <div class="tools">
        <LinkButton label="Check the signature" href={hashOf("signatures", `${id}/${attempt.number}`)} />
        {url && (
          <CopyButton
            label="Copy as curl"
            text={toCurl({ url, headers: requestHeaders, body: requestBody })}
          />
        )}
      </div>
      {error && response}
      <h4>Request</h4>
      <Headers headers={requestHeaders} />
      <BodyText label="Body" text={requestBody} />
      {!error && response}
    </div>
  );
}

/** Why it was rejected, in the receiver's own words. */
function Rejection({ attempt: { error, responseBody } }: { readonly attempt: DeliveryAttempt }) {
  const words = firstWords(responseBody);
  return (
    <Notice tone="bad">
      <strong>{error}</strong>
      {words && <span class="mono">{words}</span>}
    </Notice>
  );
}
