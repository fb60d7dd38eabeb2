import { useEffect, useRef, useState } from "preact/hooks";
import { hashOf } from "../address.ts";
import type { EndpointDetail, EndpointSummary } from "../api-types.ts";
import { formatRelative, formatTime } from "../format.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { Fact, Facts } from "../parts/fact.tsx";
import { Items } from "../parts/items.tsx";
import { Secret } from "../parts/secret.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { control, useResource } from "../resource.ts";
import type { ViewProps } from "../view.ts";

export function EndpointsView({ id, nowMs }: ViewProps) {
  const topics = ["endpoint", "workspace", "clock"];
  const endpoints = useResource("endpoints", topics, () => control.listEndpoints());
  const shown = endpoints?.data ?? [];
  return (
    <>
      <div class="title-bar">
        <h2>Endpoints and secrets</h2>
      </div>
      {endpoints && shown.length === 0 && (
        <div class="panel nothing">
          No endpoint. Create one with <code>createWebhookEndpoint</code>.
        </div>
      )}
      <div class="panels wide-panels">
        {[...shown].reverse().map((endpoint) => (
          <Endpoint key={endpoint.id} endpoint={endpoint} nowMs={nowMs} isSelected={endpoint.id === id} />
        ))}
      </div>
    </>
  );
}

interface Props {
  readonly endpoint: EndpointSummary;
  readonly nowMs: number;
  readonly isSelected: boolean;
}

function Endpoint({ endpoint, nowMs, isSelected }: Props) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isSelected) panel.current?.scrollIntoView({ block: "nearest" });
  }, [isSelected]);
  return (
    <section ref={panel} class="panel" aria-current={isSelected ? "true" : undefined}>
      <div class="title-bar">
        <h3>{endpoint.url}</h3>
        <StatusBadge status={endpoint.enabled ? "enabled" : "paused"} />
      </div>
      <Facts>
        <Fact name="id" mono>
          {endpoint.id}
        </Fact>
        <Fact name="workspace">{endpoint.workspace}</Fact>
        <Fact name="description">{endpoint.description}</Fact>
        <Fact name="events">{endpoint.eventTypes?.join(", ") ?? "all, including future ones"}</Fact>
        <Fact name="changed">{formatTime(endpoint.updatedAt)}</Fact>
      </Facts>
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

/** The secrets are in the page only after a press of the button, and until the next rotation. */
function Secrets({ endpoint, nowMs }: Pick<Props, "endpoint" | "nowMs">) {
  const [fetched, setFetched] = useState<EndpointDetail | null>(null);
  const action = useAction();
  const secrets = fetched?.updatedAt === endpoint.updatedAt ? fetched.secrets : null;
  const fetchSecrets = () => control.getEndpoint(endpoint.id).then(setFetched);
  return (
    <>
      <div class="title-bar">
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
      <Items>
        {endpoint.secrets.map(({ state, expiresAt }, index) => (
          <li key={`${index} ${expiresAt}`}>
            <StatusBadge status={state} />
            {expiresAt !== null && (
              <span class="muted">
                {state === "grace" ? "still valid, ends" : "ended"}{" "}
                {formatRelative(Date.parse(expiresAt), nowMs)}
              </span>
            )}
            {secrets?.[index] && <Secret label={`secret ${index + 1}`} value={secrets[index].secret} />}
          </li>
        ))}
      </Items>
      {action.notice}
    </>
  );
}
