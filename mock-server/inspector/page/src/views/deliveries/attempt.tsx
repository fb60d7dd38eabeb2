import type { DeliveryAttempt, DeliveryDetail } from "@workspace-tasks/mock-server/control";
import { hashOf } from "@workspace-tasks/page-parts/address.ts";
import { CopyButton, LinkButton, Notice } from "@workspace-tasks/page-parts/controls.tsx";
import { lazyView } from "@workspace-tasks/page-parts/status.tsx";
import {
  BodyText,
  Headers,
  type HttpHeaders,
  linesOf,
  Truncated,
} from "@workspace-tasks/page-parts/values.tsx";
import { transport } from "../../state/mock.ts";
import { firstWords, toCurl, withDuration } from "../../text/http-text.ts";

// Its library is large, and only a repeated attempt needs it: the view itself opens without a request.
const Difference = lazyView(() => import("../../parts/difference.tsx").then((module) => module.Difference));

interface Props {
  readonly attempt: DeliveryAttempt;
  readonly delivery: Pick<DeliveryDetail, "id" | "url" | "attempts">;
}

/** Why it failed and its response; then its headers, and how they differ from the attempt before. */
export function Attempt({ attempt, delivery: { id, url, attempts } }: Props) {
  const { number, requestHeaders, requestBody, responseHeaders, responseBody, status, error, faults } =
    attempt;
  const before = attempts.find((each) => each.number === number - 1);
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
        {url && transport.hasAddress && (
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
      {before && before.requestBody !== requestBody && (
        <Notice tone="wait">Its body differs from that of attempt {before.number}.</Notice>
      )}
      {!isShown && <BodyText label="Response body" text={responseBody} />}
      {attempt.responseTruncated && <Truncated />}
      <h4>Headers {before && <span class="muted">compared with attempt {before.number}</span>}</h4>
      <AttemptHeaders label="Request headers" before={before?.requestHeaders} headers={requestHeaders} />
      {status !== null && (
        <AttemptHeaders label="Response headers" before={before?.responseHeaders} headers={responseHeaders} />
      )}
    </>
  );
}

interface HeadersProps {
  readonly label: string;
  /** Of the attempt before. */
  readonly before: HttpHeaders | undefined;
  readonly headers: HttpHeaders;
}

/** Headers, or how they differ from those before. */
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
