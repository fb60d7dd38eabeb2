import { useEffect, useState } from "preact/hooks";
import { formatHex, formatTimeOfDay } from "../format.ts";
import { ListPanel } from "../parts/list-panel.tsx";
import { Notice } from "../parts/notice.tsx";
import { Select } from "../parts/select.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { readPastedRequest } from "../pasted-request.ts";
import { control, useResource } from "../resource.ts";
import { goTo } from "../route.ts";
import { type Diagnosis, diagnose, type Secret } from "../signature.ts";
import type { ViewProps } from "../view.ts";
import "./signatures.css";

const toleranceSeconds = 300;
/** `whole` is the text that the other fields were read from, if they were. */
const empty = { whole: "", id: "", timestamp: "", signature: "", body: "", secret: "" };
type Fields = typeof empty;

/** Explains why a pasted request, or an attempt of the mock, verifies or does not. */
export function SignaturesView({ id, nowMs }: ViewProps) {
  const [fields, setFields] = useState(empty);
  useEffect(() => {
    if (id) void readAttempt(id).then((attempt) => attempt && setFields({ ...empty, ...attempt }));
  }, [id]);
  const clear = () => {
    setFields(empty);
    goTo("signatures");
  };
  const secrets = useEndpointSecrets();
  const diagnosis = useDiagnosis(fields, secrets, Math.floor(nowMs / 1000));
  const nothingToCheck = fields.id === "" && fields.body === "" && fields.signature === "";
  return (
    <>
      <div class="title-bar">
        <h2>Signatures</h2>
        <div class="tools">
          <AttemptChoice selected={id} />
          <button type="button" onClick={clear}>
            Clear
          </button>
        </div>
      </div>
      <div class="split signature-check">
        <Form fields={fields} endpointSecrets={secrets.length} onChange={setFields} />
        <div class="detail" aria-live="polite">
          {nothingToCheck ? (
            <div class="panel nothing">
              Paste headers and body of a delivery, or select an attempt of the mock.
            </div>
          ) : (
            diagnosis && <Verdict diagnosis={diagnosis} body={fields.body} />
          )}
        </div>
      </div>
    </>
  );
}

function useDiagnosis(
  fields: Fields,
  endpointSecrets: readonly Secret[],
  nowSeconds: number,
): Diagnosis | null {
  const [diagnosis, setDiagnosis] = useState<Diagnosis | null>(null);
  const deliveryId = fields.id.trim();
  const sent = useResource(deliveryId === "" ? null : `delivery ${deliveryId}`, ["delivery"], () =>
    control.getDelivery(deliveryId),
  );
  useEffect(() => {
    let stale = false;
    const { secret, whole: _, ...parts } = fields;
    const secrets: Secret[] =
      secret === "" ? [...endpointSecrets] : [{ label: "the pasted secret", secret, state: "current" }];
    const attempts = (sent?.attempts ?? []).map(({ requestHeaders, requestBody, faults }) => ({
      timestamp: requestHeaders["webhook-timestamp"] ?? "",
      signature: requestHeaders["webhook-signature"] ?? "",
      body: requestBody,
      faults,
    }));
    const realNowSeconds = Math.floor(Date.now() / 1_000);
    const input = { ...parts, secrets, nowSeconds, realNowSeconds, toleranceSeconds, sent: attempts };
    void diagnose(input).then((found) => {
      if (!stale) setDiagnosis(found);
    });
    return () => {
      stale = true;
    };
  }, [fields, endpointSecrets, nowSeconds, sent]);
  return diagnosis;
}

const attemptsOffered = 50;

function AttemptChoice({ selected }: { readonly selected: string | null }) {
  const log = useResource("newest deliveries", ["delivery"], () =>
    control.listDeliveries({ order: "desc", limit: attemptsOffered }),
  );
  const attempted = (log?.data ?? []).filter(({ attemptCount }) => attemptCount > 0);
  const options = attempted.map(({ id, event, attemptCount, createdAt }) => ({
    value: `${id}/${attemptCount}`,
    text: `${formatTimeOfDay(createdAt)} ${event}, attempt ${attemptCount}`,
  }));
  const isListed = options.some(({ value }) => value === selected);
  const nameOf = (id: string) => `the attempt ${id.replace(/^.*(.{8})\//, "…$1, number ")}`;
  return (
    <Select
      isFilter
      label="attempt to check"
      value={selected ?? ""}
      every="pick an attempt …"
      options={selected && !isListed ? [{ value: selected, text: nameOf(selected) }, ...options] : options}
      onSelect={(value) => goTo("signatures", value)}
    />
  );
}

interface FormProps {
  readonly fields: Fields;
  readonly endpointSecrets: number;
  readonly onChange: (fields: Fields) => void;
}

function Form({ fields, endpointSecrets, onChange }: FormProps) {
  const set = (name: keyof Fields) => (value: string) => onChange({ ...fields, [name]: value });
  return (
    <section class="panel" aria-label="Received request">
      <label>
        Paste a whole request: raw HTTP, a curl command, or headers as an object
        <textarea
          rows={2}
          spellcheck={false}
          value={fields.whole}
          placeholder="webhook-id: …"
          onInput={({ currentTarget: { value } }) =>
            onChange({ ...fields, whole: value, ...readPastedRequest(value) })
          }
        />
      </label>
      <Field label="webhook-id" value={fields.id} onInput={set("id")} />
      <Field label="webhook-timestamp" value={fields.timestamp} onInput={set("timestamp")} />
      <Field label="webhook-signature" value={fields.signature} onInput={set("signature")} />
      <label>
        Body, exactly as received
        <textarea
          rows={9}
          spellcheck={false}
          value={fields.body}
          onInput={(event) => set("body")(event.currentTarget.value)}
        />
      </label>
      <Field
        label={`Secret (empty: the ${endpointSecrets} of this mock are tried)`}
        value={fields.secret}
        onInput={set("secret")}
        covered
      />
    </section>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly covered?: boolean;
}

function Field({ label, value, onInput, covered = false }: FieldProps) {
  return (
    <label>
      {label}
      <input
        class="mono"
        type={covered ? "password" : "text"}
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

function Verdict({ diagnosis, body }: { readonly diagnosis: Diagnosis; readonly body: string }) {
  const signed = `${diagnosis.signedPrefix}${body}`;
  return (
    <>
      <section class="panel">
        <h3>Diagnosis</h3>
        {diagnosis.valid && <Notice tone="good">The signature is valid.</Notice>}
        {diagnosis.findings.map(({ code, title, advice }) => (
          <Notice tone="bad" key={code} code={code}>
            <strong>{title}</strong>
            <div>{advice}</div>
          </Notice>
        ))}
      </section>
      <section class="panel">
        <h3>
          What is signed{" "}
          <span class="muted">
            {diagnosis.signedPrefix.length + diagnosis.bodyBytes} bytes, {diagnosis.bodyBytes} of them the
            body
          </span>
        </h3>
        <TextBlock>
          <mark class="tone-wait">{diagnosis.signedPrefix}</mark>
          {body}
        </TextBlock>
        <details>
          <summary>Byte by byte</summary>
          <TextBlock hex>{formatHex(signed)}</TextBlock>
        </details>
      </section>
      <ListPanel title="Secrets tried">
        {diagnosis.checks.map(({ label, state, fits }) => (
          <li key={label}>
            <StatusBadge status={state} /> <span>{label}</span>
            <span class={`at-end ${fits ? "fits toned tone-good" : "muted"}`}>
              {fits ? "fits" : "does not fit"}
            </span>
          </li>
        ))}
      </ListPanel>
    </>
  );
}

const noSecrets: readonly Secret[] = [];

/** The secrets of all endpoints; they are never shown. */
function useEndpointSecrets(): readonly Secret[] {
  return useResource("endpoint secrets", ["endpoint", "clock"], readEndpointSecrets) ?? noSecrets;
}

async function readEndpointSecrets(): Promise<readonly Secret[]> {
  const { data } = await control.listEndpoints();
  const endpoints = await Promise.all(data.map(({ id }) => control.getEndpoint(id)));
  return endpoints.flatMap(({ url, secrets }) =>
    secrets.map(({ secret, state }, index) => ({ label: `secret ${index + 1} of ${url}`, secret, state })),
  );
}

/** @param id `<delivery>/<number of the attempt>` */
async function readAttempt(id: string): Promise<Partial<Fields> | undefined> {
  const [deliveryId = "", number] = id.split("/");
  const delivery = await control.getDelivery(deliveryId);
  const attempt = delivery.attempts.find((one) => String(one.number) === number);
  if (!attempt) return undefined;
  const header = (name: string) => attempt.requestHeaders[name] ?? "";
  return {
    id: header("webhook-id"),
    timestamp: header("webhook-timestamp"),
    signature: header("webhook-signature"),
    body: attempt.requestBody,
  };
}
