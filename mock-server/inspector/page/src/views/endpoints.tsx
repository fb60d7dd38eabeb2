import { useEffect, useRef, useState } from "preact/hooks";
import { hashOf } from "../address.ts";
import type { ViewProps } from "../app.tsx";
import { formatRelative, formatTime } from "../format.ts";
import type { EndpointView, SecretView } from "../nouns.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { Mark } from "../parts/mark.tsx";
import { Secret } from "../parts/secret.tsx";
import { ask, useResource } from "../resource.ts";

export function EndpointsView({ id, nowMs }: ViewProps) {
  const endpoints = useResource<{ data: EndpointView[] }>("/endpoints", ["endpoint", "workspace", "clock"]);
  const shown = endpoints?.data ?? [];
  return (
    <>
      <div class="head">
        <h2>Endpoints and secrets</h2>
      </div>
      {endpoints && shown.length === 0 && (
        <div class="panel nothing">
          No endpoint. <code>createWebhookEndpoint</code> makes one.
        </div>
      )}
      <div class="grid wider">
        {[...shown].reverse().map((endpoint) => (
          <Endpoint key={endpoint.id} endpoint={endpoint} nowMs={nowMs} chosen={endpoint.id === id} />
        ))}
      </div>
    </>
  );
}

type Props = { readonly endpoint: EndpointView; readonly nowMs: number; readonly chosen: boolean };

function Endpoint({ endpoint, nowMs, chosen }: Props) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    if (chosen) panel.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <section ref={panel} class="panel" aria-current={chosen ? "true" : undefined}>
      <div class="head">
        <h3>{endpoint.url}</h3>
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
      </dl>
      <Secrets endpoint={endpoint} nowMs={nowMs} />
      <div class="tools">
        <a class="button" href={hashOf("deliveries", null, { endpointId: endpoint.id })}>
          Its deliveries
        </a>
        <a class="button" href={hashOf("signatures")}>
          Check a signature
        </a>
      </div>
    </section>
  );
}

/** The secrets are not in the page until somebody asks for them; a rotation takes them away again. */
function Secrets({ endpoint, nowMs }: Pick<Props, "endpoint" | "nowMs">) {
  const [fetched, setFetched] = useState<{ updatedAt: string; secrets: readonly SecretView[] } | null>(null);
  const action = useAction();
  const secrets = fetched?.updatedAt === endpoint.updatedAt ? fetched.secrets : null;
  const fetchSecrets = async () => {
    const path = `/endpoints/${encodeURIComponent(endpoint.id)}/secrets`;
    const { data } = await ask<{ data: SecretView[] }>("GET", path);
    setFetched({ updatedAt: endpoint.updatedAt, secrets: data });
  };
  return (
    <>
      <div class="head">
        <h4>Secrets</h4>
        {secrets === null ? (
          <ActionButton action={action} onRun={fetchSecrets}>
            Fetch the secrets
          </ActionButton>
        ) : (
          <button type="button" onClick={() => setFetched(null)}>
            Forget the secrets
          </button>
        )}
      </div>
      <ul class="lines">
        {endpoint.secrets.map(({ state, expiresAt }, index) => (
          <li key={`${index} ${expiresAt}`}>
            <Mark status={state} />
            {expiresAt !== null && (
              <span class="muted">
                {state === "grace" ? "verifies still, ends" : "ended"}{" "}
                {formatRelative(Date.parse(expiresAt), nowMs)}
              </span>
            )}
            {secrets?.[index] && <Secret label={`secret ${index + 1}`} value={secrets[index].secret} />}
          </li>
        ))}
      </ul>
      {action.notice}
    </>
  );
}
