import { useEffect, useMemo, useState } from "preact/hooks";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { Select } from "../../parts/controls/select.tsx";
import { useKept } from "../../parts/controls/use-kept.ts";
import { Notice } from "../../parts/status/notice.tsx";
import { WaitingPanel } from "../../parts/status/waiting.tsx";
import { BodyText } from "../../parts/values/body-text.tsx";
import { Headers } from "../../parts/values/headers.tsx";
import { Response } from "../../parts/values/response.tsx";
import { goTo } from "../../route.ts";
import type { SentAttempt } from "../../signature/sent-attempt.ts";
import { type SharedAttempt, unpack } from "../../signature/shared-attempt.ts";
import { diagnose, matchSecrets, type Secret, type SignatureInput } from "../../signature/signature.ts";
import { control, useResource } from "../../state/resource.ts";
import { formatTimeNear, toCurl } from "../../text/format.ts";
import type { ViewProps } from "../../view.ts";
import { emptyFields, type Fields, SignatureForm } from "./signature-form.tsx";
import { Verdict } from "./verdict.tsx";
import "./signatures.css";

const toleranceSeconds = 300;

/** Explains why a pasted request, or an attempt of the mock, verifies or does not. */
export function SignaturesView({ id, filter, nowMs }: ViewProps) {
  const [fields, setFields] = useKept("signature fields", emptyFields);
  const [problem, setProblem] = useState<string | null>(null);
  const [shared, setShared] = useState<SharedAttempt | null>(null);
  const link = filter["shared"];
  useEffect(() => {
    setProblem(null);
    setShared(null);
    const show = (attempt: Partial<Fields>) => setFields({ ...emptyFields, ...attempt });
    const fail = () => setProblem("The mock has no such attempt; it may have been reset since.");
    if (id) readAttempt(id).then((attempt) => (attempt ? show(attempt) : fail()), fail);
    if (!link) return;
    void unpack(link).then((opened) => {
      setShared(opened);
      if (opened) show(fieldsOf(opened));
      else setProblem("The link is not complete: it was cut or changed on its way.");
    });
  }, [id, link]);
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
        <div class="tools">
          <AttemptChoice selected={id} nowMs={nowMs} />
          <button type="button" onClick={clear}>
            Clear
          </button>
        </div>
      </div>
      {problem && (
        <Notice tone="bad" isAlert>
          {problem}
        </Notice>
      )}
      {shared && <Shared attempt={shared} />}
      <div class="split signature-check">
        <SignatureForm fields={fields} isEndpointKnown={endpointId !== null} onChange={setFields} />
        <div class="detail" aria-live="polite">
          {nothingToCheck ? (
            <div class="panel nothing">
              Paste headers and body of a delivery, or select an attempt of the mock.
            </div>
          ) : !isKnown ? (
            <WaitingPanel />
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

/** What a colleague has sent as a link. */
function Shared({ attempt }: { readonly attempt: SharedAttempt }) {
  const { event, url, status, error, requestHeaders, requestBody, responseHeaders, responseBody } = attempt;
  return (
    <section class="panel" aria-label="Shared attempt">
      <div class="title-bar">
        <h3>
          {event} <span class="muted">from a link</span>
        </h3>
        {url && <CopyButton label="Copy as curl" text={toCurl(url, requestHeaders, requestBody)} />}
      </div>
      <Notice tone={error === null ? "good" : "bad"}>
        {url ?? "A deleted endpoint"} responded {status ?? "nothing"}
        {error && `: ${error}`}
      </Notice>
      <details>
        <summary>Headers and bytes</summary>
        <Headers headers={requestHeaders} />
        <BodyText label="Body" text={requestBody} />
        <Response summary={`${status ?? "none"}`} headers={responseHeaders} body={responseBody} />
      </details>
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
    const sent = attempts.map(({ requestHeaders, requestBody, faults }) => ({
      timestamp: requestHeaders["webhook-timestamp"] ?? "",
      signature: requestHeaders["webhook-signature"] ?? "",
      body: requestBody,
      faults,
    }));
    return { endpointId, attempts: sent };
  };
  const key = deliveryId === "" || deliveryId.length > 500 ? null : `sent ${deliveryId}`;
  const delivery = useResource(key, ["delivery"], read);
  return key === null || delivery === null ? notSent : delivery;
}

const attemptsOffered = 50;

function AttemptChoice({ selected, nowMs }: { readonly selected: string | null; readonly nowMs: number }) {
  const log = useResource("newest deliveries", ["delivery"], () =>
    control.listDeliveries({ order: "desc", limit: attemptsOffered }),
  );
  const attempted = (log?.data ?? []).filter(({ attemptCount }) => attemptCount > 0);
  const options = attempted.map(({ id, event, attemptCount, createdAt }) => ({
    value: `${id}/${attemptCount}`,
    text: `${formatTimeNear(createdAt, nowMs)} ${event}, attempt ${attemptCount}`,
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

/** @param id `<delivery>/<number of the attempt>` */
async function readAttempt(id: string): Promise<Partial<Fields> | undefined> {
  const [deliveryId = "", number] = id.split("/");
  const { attempts } = await control.getDelivery(deliveryId);
  const attempt = attempts.find((one) => String(one.number) === number);
  return attempt && fieldsOf(attempt);
}

function fieldsOf({
  requestHeaders,
  requestBody,
}: Pick<SharedAttempt, "requestHeaders" | "requestBody">): Partial<Fields> {
  const header = (name: string) => requestHeaders[name] ?? "";
  return {
    id: header("webhook-id"),
    timestamp: header("webhook-timestamp"),
    signature: header("webhook-signature"),
    body: requestBody,
  };
}
