import { useEffect, useRef, useState } from "preact/hooks";
import { hashOf } from "../../address.ts";
import type { EndpointDetail, EndpointSummary } from "../../api-types.ts";
import { type Action, ActionButton, ConfirmButton, useAction } from "../../parts/controls/action.tsx";
import { Secret } from "../../parts/controls/secret.tsx";
import { Items } from "../../parts/lists/items.tsx";
import { StatusBadge } from "../../parts/status/status-badge.tsx";
import { Waiting } from "../../parts/status/waiting.tsx";
import { Fact, Facts } from "../../parts/values/fact.tsx";
import { Id } from "../../parts/values/id.tsx";
import { control, useResource } from "../../state/resource.ts";
import { formatRelative, formatTime } from "../../text/format.ts";
import type { ViewProps } from "../../view.ts";
import { NewEndpoint } from "./new-endpoint.tsx";
import { SendEvent } from "./send-event.tsx";

export function EndpointsView({ id, nowMs }: ViewProps) {
  const topics = ["endpoint", "workspace", "clock"];
  const endpoints = useResource("endpoints", topics, () => control.listEndpoints());
  const shown = endpoints?.data ?? [];
  return (
    <>
      <div class="title-bar">
        <h2>Endpoints and events</h2>
      </div>
      <div class="panels wide-panels">
        <NewEndpoint />
        <SendEvent endpoints={shown} />
      </div>
      {!endpoints && (
        <div class="nothing">
          <Waiting />
        </div>
      )}
      {endpoints && shown.length === 0 && <div class="panel nothing">No endpoint yet. Create one above.</div>}
      {id && endpoints && !shown.some((endpoint) => endpoint.id === id) && (
        <div class="panel nothing">There is no endpoint with the id {id}; it may have been deleted.</div>
      )}
      <div class="panels half-panels">
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
  const action = useAction();
  useEffect(() => {
    if (isSelected) panel.current?.scrollIntoView({ block: "nearest" });
  }, [isSelected]);
  return (
    <section
      ref={panel}
      class="panel"
      aria-label={endpoint.url}
      aria-current={isSelected ? "true" : undefined}
    >
      <div class="title-bar">
        <h3 class="clamped" title={endpoint.url}>
          {endpoint.url}
        </h3>
        <StatusBadge status={endpoint.enabled ? "enabled" : "paused"} />
      </div>
      <Facts>
        <Fact name="id">
          <Id id={endpoint.id} />
        </Fact>
        <Fact name="workspace">{endpoint.workspace}</Fact>
        <Fact name="description">{endpoint.description}</Fact>
        <Fact name="events">{endpoint.eventTypes?.join(", ") ?? "all, including future ones"}</Fact>
        <Fact name="changed">{formatTime(endpoint.updatedAt)}</Fact>
      </Facts>
      <Secrets endpoint={endpoint} nowMs={nowMs} />
      <Actions endpoint={endpoint} action={action} />
      {action.notice}
    </section>
  );
}

function Actions({ endpoint, action }: Pick<Props, "endpoint"> & { readonly action: Action }) {
  const { id, enabled } = endpoint;
  const sendTest = async () => {
    const { data } = await control.listCatalog();
    const event = data.find(({ name }) => name === (endpoint.eventTypes?.[0] ?? "task.completed")) ?? data[0];
    if (!event) return;
    const { eventId } = await control.sendEvent({ name: event.name, payload: event.example, endpointId: id });
    location.hash = hashOf("deliveries", null, { text: eventId });
  };
  return (
    <div class="tools">
      <ActionButton action={action} onRun={sendTest} disabled={!enabled}>
        Send test event
      </ActionButton>
      <ActionButton action={action} onRun={() => control.updateEndpoint(id, { enabled: !enabled })}>
        {enabled ? "Pause" : "Resume"}
      </ActionButton>
      <ActionButton action={action} onRun={() => control.rotateEndpointSecret(id)}>
        Rotate secret
      </ActionButton>
      <ConfirmButton
        action={action}
        onRun={() => control.deleteEndpoint(id)}
        label={`Delete ${endpoint.url}`}
      >
        Delete
      </ConfirmButton>
      <a class="button" href={hashOf("deliveries", null, { endpointId: id })}>
        Its deliveries
      </a>
    </div>
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
