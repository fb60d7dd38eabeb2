import { useState } from "preact/hooks";
import type { ViewProps } from "../app.tsx";
import { formatRelative, formatTime } from "../format.ts";
import type { ClockView, EndpointView, SecretView } from "../nouns.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { useNow } from "../parts/bar.tsx";
import { Mark, Secret } from "../parts/marks.tsx";
import { ask, useResource } from "../resource.ts";
import { hashOf } from "../route.ts";

export function EndpointsView({ id }: ViewProps) {
  const endpoints = useResource<{ data: EndpointView[] }>("/endpoints", ["endpoint", "workspace", "clock"]);
  const clock = useResource<ClockView>("/clock", ["clock", "endpoint"]);
  const nowMs = useNow(clock);
  const shown = endpoints?.data ?? [];
  return (
    <>
      <div class="head">
        <h2>Endpoints and secrets</h2>
      </div>
      {endpoints && shown.length === 0 && (
        <div class="panel nothing">
          No endpoint. <code>createWebhookEndpoint</code> makes one; with the SDK it is{" "}
          <code>client.webhooks.endpoints.create(…)</code>.
        </div>
      )}
      {[...shown].reverse().map((endpoint) => (
        <Endpoint key={endpoint.id} endpoint={endpoint} nowMs={nowMs} chosen={endpoint.id === id} />
      ))}
    </>
  );
}

type Props = { readonly endpoint: EndpointView; readonly nowMs: number; readonly chosen: boolean };

function Endpoint({ endpoint, nowMs, chosen }: Props) {
  const [secrets, setSecrets] = useState<readonly SecretView[] | null>(null);
  const action = useAction();
  const readSecrets = async () => {
    const answer = await ask<{ data: SecretView[] }>(
      "GET",
      `/endpoints/${encodeURIComponent(endpoint.id)}/secrets`,
    );
    setSecrets(answer.data);
  };
  return (
    <section class="panel" aria-current={chosen ? "true" : undefined}>
      <div class="head">
        <h2>{endpoint.url}</h2>
        <Mark status={endpoint.enabled ? "enabled" : "paused"} />
      </div>
      <dl class="facts">
        <dt>id</dt>
        <dd class="mono">{endpoint.id}</dd>
        <dt>workspace</dt>
        <dd>{endpoint.workspace}</dd>
        {endpoint.description && (
          <>
            <dt>description</dt>
            <dd>{endpoint.description}</dd>
          </>
        )}
        <dt>events</dt>
        <dd>{endpoint.eventTypes === null ? "all, also future ones" : endpoint.eventTypes.join(", ")}</dd>
        <dt>changed</dt>
        <dd>{formatTime(Date.parse(endpoint.updatedAt))}</dd>
        <dt>secrets</dt>
        <dd>
          {endpoint.secrets.map(({ state, expiresAt }, index) => (
            <div key={expiresAt ?? "current"}>
              <Mark status={state} />{" "}
              {expiresAt !== null && (
                <span class="muted">
                  {state === "grace" ? "verifies until then, ends" : "ended"}{" "}
                  {formatRelative(Date.parse(expiresAt), nowMs)}{" "}
                </span>
              )}
              {secrets?.[index] && <Secret label={`secret ${index + 1}`} value={secrets[index].secret} />}
            </div>
          ))}
          {secrets === null && (
            <ActionButton action={action} onRun={readSecrets} class="quiet">
              Fetch the secrets
            </ActionButton>
          )}
        </dd>
      </dl>
      {action.notice}
      <div class="tools">
        <a href={hashOf("deliveries")}>Deliveries</a>
        <a href={hashOf("signatures")}>Check a signature</a>
      </div>
    </section>
  );
}
