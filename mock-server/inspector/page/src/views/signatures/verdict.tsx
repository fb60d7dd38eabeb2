import { Notice } from "@workspace-tasks/page-parts/controls.tsx";
import { ListPanel } from "@workspace-tasks/page-parts/lists.tsx";
import { countBytes, formatHex } from "@workspace-tasks/page-parts/text.ts";
import { TextBlock } from "@workspace-tasks/page-parts/values.tsx";
import { StatusBadge } from "../../parts/delivery-state.tsx";
import { Difference } from "../../parts/difference.tsx";
import type { SentAttempt } from "../../signature/sent-attempt.ts";
import type { Diagnosis } from "../../signature/signature.ts";
import { formatBody } from "../../text/http-text.ts";

interface Props {
  readonly diagnosis: Diagnosis;
  readonly body: string;
  /** The attempt that was signed at the same time, if the mock has it. */
  readonly sent: SentAttempt | undefined;
}

export function Verdict({ diagnosis, body, sent }: Props) {
  const signed = `${diagnosis.signedPrefix}${body}`;
  return (
    <>
      <section class="panel">
        <h3>Diagnosis</h3>
        {diagnosis.valid &&
          (diagnosis.findings.length === 0 ? (
            <Notice tone="good">The signature is valid.</Notice>
          ) : (
            <Notice tone="wait">
              The signature is right, but its time is far from this computer's clock.
            </Notice>
          ))}
        {diagnosis.findings.map(({ code, title, advice }) => (
          <Notice tone={code === "TIMESTAMP_VIRTUAL" ? "wait" : "bad"} key={code} code={code}>
            <strong>{title}</strong>
            <div>{advice}</div>
          </Notice>
        ))}
      </section>
      {sent && sent.body !== body && <SentAndReceived sent={sent.body} received={body} />}
      <section class="panel">
        <h3>
          What is signed{" "}
          <span class="muted">
            {diagnosis.signedPrefix.length + diagnosis.bodyBytes} bytes, {diagnosis.bodyBytes} of them the
            body
          </span>
        </h3>
        <TextBlock prefix={diagnosis.signedPrefix} text={body} />
        <details>
          <summary>Byte by byte</summary>
          <TextBlock hex text={formatHex(signed)} />
        </details>
      </section>
      <ListPanel title="Secrets tried">
        {diagnosis.checks.map(({ label, state, fits }) => (
          <li key={label}>
            <StatusBadge status={state} /> <span>{label}</span>
            <span class={`at-end ${fits ? "toned tone-good" : "muted"}`}>
              {fits ? "fits" : "does not fit"}
            </span>
          </li>
        ))}
      </ListPanel>
    </>
  );
}

/** JSON is compared by its values: two ways to write the same ones have no line in common. */
function SentAndReceived({ sent, received }: { readonly sent: string; readonly received: string }) {
  const [from, to] = [formatBody(sent), formatBody(received)];
  return (
    <section class="panel">
      <h3>
        Sent and received <span class="muted">- the mock sent, + you received</span>
      </h3>
      {from === to ? (
        <p>
          The same values, written in another way: {countBytes(sent)} bytes were sent, {countBytes(received)}{" "}
          received.
        </p>
      ) : (
        <Difference label="Sent and received body" from={from} to={to} />
      )}
    </section>
  );
}
