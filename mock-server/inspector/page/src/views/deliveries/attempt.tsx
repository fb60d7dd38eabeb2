import type { DeliveryAttempt, DeliveryDetail } from "@workspace-tasks/mock-server/control";
import { useState } from "preact/hooks";
import { hashOf } from "../../address.ts";
import { LinkButton } from "../../parts/controls/button.tsx";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { Select } from "../../parts/controls/fields.tsx";
import { Notice } from "../../parts/status/status.tsx";
import { BodyText, Truncated } from "../../parts/values/body-text.tsx";
import { Difference } from "../../parts/values/difference.tsx";
import { Headers, type HttpHeaders, linesOf } from "../../parts/values/text-block.tsx";
import { firstWords, toCurl, withDuration } from "../../text/format.ts";

interface Props {
  readonly attempt: DeliveryAttempt;
  readonly delivery: Pick<DeliveryDetail, "id" | "url" | "attempts">;
}

/** Why it failed and its response; then its headers, and how they differ from another attempt. */
export function Attempt({ attempt, delivery: { id, url, attempts } }: Props) {
  const { number, requestHeaders, requestBody, responseHeaders, responseBody, status, error, faults } =
    attempt;
  const others = attempts.filter((each) => each !== attempt).map((each) => String(each.number));
  const [compared, setCompared] = useState(String(number - 1));
  const other = attempts.find((each) => String(each.number) === compared && each !== attempt);
  const words = firstWords(responseBody);
  // What fits into the line below the error is not printed again.
  const isShown = error === null ? responseBody === "" : words === responseBody.trim();
  return (
    <>
      <div class="title-bar">
        <h4>
          Attempt {number}{" "}
          <span class="muted">{withDuration(status ?? "no response", " in", attempt.durationMs)}</span>
        </h4>
        <LinkButton label="Check the signature" href={hashOf("signatures", `${id}/${number}`)} />
        {url && (
          <CopyButton
            label="Copy as curl"
            text={toCurl({ url, headers: requestHeaders, body: requestBody })}
          />
        )}
      </div>
      {error && (
        <Notice tone="bad">
          <strong>{error}</strong>
          <span class="mono">{words}</span>
        </Notice>
      )}
      {faults.length > 0 && <Notice tone="wait">Altered by a fault: {faults.join(", ")}</Notice>}
      {other && other.requestBody !== requestBody && (
        <Notice tone="wait">Its body differs from that of attempt {other.number}.</Notice>
      )}
      {!isShown && <BodyText label="Response body" text={responseBody} />}
      {attempt.responseTruncated && <Truncated />}
      <div class="title-bar">
        <h4>Headers</h4>
        {others.length > 0 && (
          <Select
            label="compared with attempt"
            every="compared with none"
            options={others.map((value) => ({ value, text: `compared with attempt ${value}` }))}
            value={other ? compared : ""}
            onSelect={setCompared}
          />
        )}
      </div>
      <AttemptHeaders label="Request headers" before={other?.requestHeaders} headers={requestHeaders} />
      {status !== null && (
        <AttemptHeaders label="Response headers" before={other?.responseHeaders} headers={responseHeaders} />
      )}
    </>
  );
}

interface HeadersProps {
  readonly label: string;
  /** Of the attempt that it is compared with. */
  readonly before: HttpHeaders | undefined;
  readonly headers: HttpHeaders;
}

/** Headers, or how they differ from others. */
function AttemptHeaders({ label, before, headers }: HeadersProps) {
  const [from, to] = [before && linesOf(before), linesOf(headers)];
  if (from !== undefined && from !== to)
    return <Difference label={label} from={from} to={to} context={Object.keys(headers).length} />;
  return (
    <section aria-label={label}>
      <Headers headers={headers} />
    </section>
  );
}
