import { useEffect, useState } from "preact/hooks";
import type { ViewProps } from "../app.tsx";
import type { ClockView, DeliveryView, EndpointView, SecretView } from "../nouns.ts";
import { useNow } from "../parts/bar.tsx";
import { Mark } from "../parts/marks.tsx";
import { ask, useResource } from "../resource.ts";
import { type Diagnosis, diagnose, type Secret } from "../signature.ts";

const toleranceSeconds = 300;
const empty = { id: "", timestamp: "", signature: "", body: "", secret: "" };

/** Paste what arrived, or come from an attempt: why does it verify, or why not? */
export function SignaturesView({ id }: ViewProps) {
  const [fields, setFields] = useState(empty);
  const [known, setKnown] = useState<readonly Secret[]>([]);
  const [diagnosis, setDiagnosis] = useState<Diagnosis | null>(null);
  const clock = useResource<ClockView>("/clock", ["clock"]);
  const nowMs = useNow(clock);

  useEffect(() => void readKnownSecrets().then(setKnown), []);
  useEffect(() => {
    if (id) void readAttempt(id).then((attempt) => attempt && setFields({ ...empty, ...attempt }));
  }, [id]);

  const nothingToCheck = fields.id === "" && fields.body === "" && fields.signature === "";
  useEffect(() => {
    let stale = false;
    const { secret, ...parts } = fields;
    const secrets: Secret[] =
      secret === "" ? [...known] : [{ label: "the pasted secret", secret, state: "current" }];
    void diagnose({ ...parts, secrets, nowSeconds: Math.floor(nowMs / 1000), toleranceSeconds }).then(
      (found) => {
        if (!stale) setDiagnosis(found);
      },
    );
    return () => {
      stale = true;
    };
  }, [fields, known, Math.floor(nowMs / 1000)]);

  const set = (name: keyof typeof empty) => (value: string) => setFields({ ...fields, [name]: value });
  return (
    <>
      <div class="head">
        <h2>Signatures</h2>
        <button type="button" onClick={() => setFields(empty)}>
          Clear
        </button>
      </div>
      <div class="split">
        <section class="panel">
          <Field label="webhook-id" value={fields.id} onInput={set("id")} />
          <Field label="webhook-timestamp" value={fields.timestamp} onInput={set("timestamp")} />
          <Field label="webhook-signature" value={fields.signature} onInput={set("signature")} />
          <label>
            body, exactly as it arrived
            <textarea
              rows={10}
              spellcheck={false}
              value={fields.body}
              onInput={(event) => set("body")(event.currentTarget.value)}
            />
          </label>
          <Field
            label={`secret (empty: the ${known.length} that this mock knows are tried)`}
            value={fields.secret}
            onInput={set("secret")}
            covered
          />
        </section>
        <div class="detail" aria-live="polite">
          {nothingToCheck ? (
            <div class="panel nothing">
              Paste headers and body of a delivery, or choose “Check the signature” at an attempt.
            </div>
          ) : (
            diagnosis && <Verdict diagnosis={diagnosis} body={fields.body} />
          )}
        </div>
      </div>
    </>
  );
}

type FieldProps = {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly covered?: boolean;
};

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
  return (
    <>
      <section class="panel">
        <h3>Diagnosis</h3>
        {diagnosis.valid && <p class="notice good">The signature is right.</p>}
        {diagnosis.findings.map(({ code, title, advice }) => (
          <div class="notice bad" key={code} data-code={code}>
            <strong>{title}</strong>
            <div>{advice}</div>
          </div>
        ))}
      </section>
      <section class="panel">
        <h3>
          What is signed: {diagnosis.signedPrefix.length + diagnosis.bodyBytes} bytes, {diagnosis.bodyBytes}{" "}
          of them the body
        </h3>
        <pre>
          <mark>{diagnosis.signedPrefix}</mark>
          {body}
        </pre>
        <details>
          <summary>Byte by byte</summary>
          <pre>{hexLines(`${diagnosis.signedPrefix}${body}`)}</pre>
        </details>
      </section>
      <section class="panel">
        <h3>Secrets tried</h3>
        {diagnosis.trials.map(({ label, state, fits }) => (
          <div key={label}>
            <Mark status={state} /> {label}: {fits ? "fits" : "does not fit"}
          </div>
        ))}
      </section>
    </>
  );
}

const bytesPerLine = 16;
const bytesShownMax = 4_096;

function hexLines(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const lines: string[] = [];
  for (let start = 0; start < Math.min(bytes.length, bytesShownMax); start += bytesPerLine) {
    const line = [...bytes.slice(start, start + bytesPerLine)];
    const hex = line.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const printable = line
      .map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·"))
      .join("");
    lines.push(`${start.toString(16).padStart(4, "0")}  ${hex.padEnd(bytesPerLine * 3)} ${printable}`);
  }
  if (bytes.length > bytesShownMax) lines.push(`… ${bytes.length - bytesShownMax} bytes more`);
  return lines.join("\n");
}

async function readKnownSecrets(): Promise<Secret[]> {
  const { data } = await ask<{ data: EndpointView[] }>("GET", "/endpoints");
  const lists = await Promise.all(
    data.map(async ({ id, url }) => {
      const answer = await ask<{ data: SecretView[] }>("GET", `/endpoints/${encodeURIComponent(id)}/secrets`);
      return answer.data.map(({ secret, state }, index) => ({
        label: `secret ${index + 1} of ${url}`,
        secret,
        state,
      }));
    }),
  );
  return lists.flat();
}

/** `<delivery>/<number of the attempt>`, as the link at an attempt says. */
async function readAttempt(id: string): Promise<Partial<typeof empty> | undefined> {
  const [deliveryId = "", number] = id.split("/");
  const delivery = await ask<DeliveryView>("GET", `/deliveries/${encodeURIComponent(deliveryId)}`);
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
