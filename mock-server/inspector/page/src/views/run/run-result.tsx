import { hashOf } from "@workspace-tasks/page-parts/address.ts";
import { CopyButton, LinkButton, Notice } from "@workspace-tasks/page-parts/controls.tsx";
import { formatDuration } from "@workspace-tasks/page-parts/text.ts";
import { BodyText, Headers } from "@workspace-tasks/page-parts/values.tsx";
import { StatusBadge } from "../../parts/delivery-state.tsx";
import type { RunResponse } from "../../run/run-query.ts";
import { transport } from "../../state/mock.ts";
import { toCurl } from "../../text/http-text.ts";

interface Props {
  readonly response: RunResponse | null;
}

/** The whole response of the last run. */
export function RunResult({ response }: Props) {
  if (!response) {
    return (
      <section class="panel" aria-label="Response">
        <h3>Response</h3>
        <p class="muted">
          Press Run, or <kbd>Ctrl</kbd>
          <kbd>Enter</kbd> in the document or its variables.
        </p>
      </section>
    );
  }
  const { status, headers, body, durationMs, sent, recorded } = response;
  return (
    <section class="panel" aria-label="Response">
      <div class="title-bar">
        <h3>
          Response <span class="muted">in {formatDuration(durationMs)}</span>
        </h3>
        <StatusBadge status={`HTTP ${status}`} tone={toneOf(status, body)} />
        {transport.hasAddress && <CopyButton label="Copy as curl" text={toCurl(sent)} />}
        <LinkButton label="In the journal" href={hashOf("requests", recorded && String(recorded.sequence))} />
      </div>
      {recorded?.rejection && <Notice tone="bad">{recorded.rejection}</Notice>}
      <Headers headers={headers} />
      <BodyText label="Response body" text={body} />
    </section>
  );
}

const toneOf = (status: number, body: string) =>
  status >= 400 ? "bad" : body.includes('"errors":[') ? "wait" : "good";
