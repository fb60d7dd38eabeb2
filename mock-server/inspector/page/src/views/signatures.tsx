import type { DeliveryAttempt } from "@workspace-tasks/mock-server/control";
import { Button, Notice, TextField } from "@workspace-tasks/page-parts/controls.tsx";
import { ListPanel } from "@workspace-tasks/page-parts/lists.tsx";
import { goTo } from "@workspace-tasks/page-parts/route.ts";
import { useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { countBytes, formatHex } from "@workspace-tasks/page-parts/text.ts";
import { Absent, TextBlock } from "@workspace-tasks/page-parts/values.tsx";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Difference } from "../difference.tsx";
import { control, useKept, type ViewProps } from "../mock.ts";
import { StatusBadge } from "../parts.tsx";
import {
  type Diagnosis,
  diagnose,
  matchSecrets,
  readPastedRequest,
  type Secret,
  type SentAttempt,
  type SignatureInput,
} from "../signature.ts";
import { formatBody } from "../text.ts";

const toleranceSeconds = 300;

/** `whole` is the text that the other fields were read from, if they were. */
const emptyFields = { whole: "", id: "", timestamp: "", signature: "", body: "", secret: "" };
type Fields = typeof emptyFields;

/** Explains why a pasted request, or an attempt of the mock, verifies or does not. */
export function SignaturesView({ id }: ViewProps) {
  const nowMs = useNowMs();
  const [fields, setFields] = useKept("signature fields", emptyFields);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    setProblem(null);
    const fail = () => setProblem("The mock has no such attempt; it may have been reset since.");
    if (id) readAttempt(id).then(setFields, fail);
  }, [id]);
  const clear = () => {
    setFields(emptyFields);
    goTo("signatures");
  };
  const nothingToCheck = fields.id === "" && fields.body === "" && fields.signature === "";
  const delivery = useSentDelivery(fields.id.trim());
  const needsSecrets = !nothingToCheck && fields.secret === "";
  const fetched = useEndpointSecrets(needsSecrets ? delivery : undefined);
  const { attempts: sent, endpointId } = delivery ?? notSent;
  const secrets = useMemo<readonly Secret[]>(() => {
    const { secret } = fields;
    return secret === "" ? (fetched ?? []) : [{ label: "the pasted secret", secret, state: "current" }];
  }, [fetched, fields.secret]);
  // Without all of them the diagnosis would be another one.
  const isKnown = nowMs > 0 && delivery && (fetched || !needsSecrets);
  const nowSeconds = Math.floor(nowMs / 1_000);
  const realNowSeconds = Math.floor(Date.now() / 1_000);
  const input: SignatureInput = { ...fields, secrets, sent, nowSeconds, realNowSeconds, toleranceSeconds };
  const match = useMemo(() => matchSecrets(input), [fields, secrets, sent]);
  const diagnosis = useMemo(() => diagnose(input, match), [match, nowSeconds]);
  return (
    <>
      <div class="title-bar">
        <h2>Signatures</h2>
        <Button label="Clear" onClick={clear} />
      </div>
      {problem && (
        <Notice tone="bad" isAlert>
          {problem}
        </Notice>
      )}
      <div class="split signature-check">
        <SignatureForm fields={fields} isEndpointKnown={endpointId !== null} onChange={setFields} />
        <div class="detail" aria-live="polite">
          {nothingToCheck ? (
            <div class="panel nothing">
              Paste headers and body of a delivery, or open an attempt in Deliveries.
            </div>
          ) : !isKnown ? (
            <Absent />
          ) : (
            <Verdict
              diagnosis={diagnosis}
              body={fields.body}
              sent={sent.find(({ timestamp }) => timestamp === fields.timestamp.trim())}
            />
          )}
        </div>
      </div>
    </>
  );
}

interface FormProps {
  readonly fields: Fields;
  /** Whether the mock has the delivery, and so knows its endpoint. */
  readonly isEndpointKnown: boolean;
  readonly onChange: (fields: Fields) => void;
}

function SignatureForm({ fields, isEndpointKnown, onChange }: FormProps) {
  const field = (name: keyof Fields) => ({
    value: fields[name],
    onInput: (value: string) => onChange({ ...fields, [name]: value }),
  });
  return (
    <section class="panel" aria-label="Received request">
      <TextField
        label="Paste a whole request: raw HTTP, a curl command, or headers as an object"
        placeholder="webhook-id: …"
        rows={2}
        value={fields.whole}
        onInput={(whole) => onChange({ ...fields, whole, ...readPastedRequest(whole) })}
      />
      <TextField class="mono" label="webhook-id" {...field("id")} />
      <TextField class="mono" label="webhook-timestamp" {...field("timestamp")} />
      <TextField class="mono" label="webhook-signature" {...field("signature")} />
      <TextField label="Body, exactly as received" rows={9} {...field("body")} />
      <TextField
        class="mono"
        label={`Secret (empty: those of ${isEndpointKnown ? "its endpoint" : "this mock"} are tried)`}
        type="password"
        {...field("secret")}
      />
    </section>
  );
}

/** A delivery as the mock has it. */
interface SentDelivery {
  /** `null`: the mock does not have the delivery. */
  readonly endpointId: string | null;
  readonly attempts: readonly SentAttempt[];
}

const notSent: SentDelivery = { endpointId: null, attempts: [] };

/** The delivery with this id; `undefined` until it has been read. */
function useSentDelivery(deliveryId: string): SentDelivery | undefined {
  const read = async (): Promise<SentDelivery> => {
    // A search, because an unknown id is no error here.
    const { data } = await control.listDeliveries({ text: deliveryId, limit: 10 });
    if (!data.some(({ id }) => id === deliveryId)) return notSent;
    const { endpointId, attempts } = await control.getDelivery(deliveryId);
    return { endpointId, attempts: attempts.map((each) => ({ ...sentOf(each), faults: each.faults })) };
  };
  const key = deliveryId === "" || deliveryId.length > 500 ? null : `sent ${deliveryId}`;
  const delivery = useResource(key, ["delivery"], read);
  return key === null || delivery === null ? notSent : delivery;
}

/**
 * The secrets of the delivery's endpoint, or of all when the mock does not have the delivery; they are never shown.
 *
 * @param delivery `undefined`: no secret is needed, or not known yet of which endpoint
 */
function useEndpointSecrets(delivery: SentDelivery | undefined): readonly Secret[] | undefined {
  const endpointId = delivery?.endpointId ?? null;
  const key = delivery ? `secrets of ${endpointId ?? "every endpoint"}` : null;
  const read = async (): Promise<readonly Secret[]> => {
    const { data } = await control.listEndpoints();
    const asked = data.filter(({ id }) => endpointId === null || id === endpointId);
    const endpoints = await Promise.all(asked.map(({ id }) => control.getEndpoint(id)));
    return endpoints.flatMap(({ url, secrets }) =>
      secrets.map(({ secret, state }, index) => ({ label: `secret ${index + 1} of ${url}`, secret, state })),
    );
  };
  const secrets = useResource(key, ["endpoint", "clock"], read);
  return secrets ?? undefined;
}

/**
 * @param id `<delivery>/<number of the attempt>`
 * @throws Error when the mock does not have it
 */
async function readAttempt(id: string): Promise<Fields> {
  const [deliveryId = "", number] = id.split("/");
  const { attempts } = await control.getDelivery(deliveryId);
  const attempt = attempts.find((one) => String(one.number) === number);
  if (!attempt) throw new Error(`no attempt ${id}`);
  return { ...emptyFields, id: attempt.requestHeaders["webhook-id"] ?? "", ...sentOf(attempt) };
}

const sentOf = ({ requestHeaders, requestBody }: DeliveryAttempt) => ({
  timestamp: requestHeaders["webhook-timestamp"] ?? "",
  signature: requestHeaders["webhook-signature"] ?? "",
  body: requestBody,
});

interface VerdictProps {
  readonly diagnosis: Diagnosis;
  readonly body: string;
  /** The attempt that was signed at the same time, if the mock has it. */
  readonly sent: SentAttempt | undefined;
}

export function Verdict({ diagnosis, body, sent }: VerdictProps) {
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
