import { useEffect, useRef, useState } from "preact/hooks";
import { hashOf } from "../address.ts";
import type { EndpointDetail, EndpointSummary } from "../api-types.ts";
import { ActionButton, Actions } from "../parts/controls/action.tsx";
import { Button, LinkButton } from "../parts/controls/button.tsx";
import { TextField } from "../parts/controls/fields.tsx";
import { StatusBadge } from "../parts/status/status.tsx";
import { Absent } from "../parts/status/waiting.tsx";
import { Copied, Facts } from "../parts/values/facts.tsx";
import { goTo } from "../route.ts";
import { control, useResource } from "../state/resource.ts";
import { formatRelative, formatTime } from "../text/format.ts";
import type { ViewProps } from "../view.ts";
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
      {!endpoints && <Absent />}
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

/** Where receivers on this computer usually listen. */
const urlDefault = "http://127.0.0.1:3000/webhooks";

function NewEndpoint() {
  const [url, setUrl] = useState(urlDefault);
  const [events, setEvents] = useState("");
  const create = async () => {
    const eventTypes = events.split(/[\s,]+/).filter((name) => name !== "");
    const { id } = await control.createEndpoint({
      url: url.trim(),
      ...(eventTypes.length > 0 && { eventTypes }),
    });
    goTo("endpoints", id);
  };
  return (
    <section class="panel" aria-label="New endpoint">
      <h3>New endpoint</h3>
      <TextField label="URL of the receiver" type="url" value={url} onInput={setUrl} />
      <TextField
        label="Events, empty for all of them"
        placeholder="task.completed, task.failed"
        value={events}
        onInput={setEvents}
      />
      <Actions>
        <ActionButton label="Create endpoint" onRun={create} class="primary" />
      </Actions>
    </section>
  );
}

interface Props {
  readonly endpoint: EndpointSummary;
  readonly nowMs: number;
  readonly isSelected: boolean;
}

function Endpoint({ endpoint, nowMs, isSelected }: Props) {
  const panel = useRef<HTMLElement>(null);
  const { url, id, enabled } = endpoint;
  useEffect(() => {
    if (isSelected) panel.current?.scrollIntoView({ block: "nearest" });
  }, [isSelected]);
  return (
    <section ref={panel} class="panel" aria-label={url} aria-current={isSelected ? "true" : undefined}>
      <div class="title-bar">
        <h3 class="clamped" title={url}>
          {url}
        </h3>
        <StatusBadge status={enabled ? "enabled" : "paused"} />
      </div>
      <Facts
        values={{
          id: <Copied value={id} />,
          workspace: endpoint.workspace,
          description: endpoint.description,
          events: endpoint.eventTypes?.join(", ") ?? "all, including future ones",
          changed: formatTime(endpoint.updatedAt),
        }}
      />
      <Secrets endpoint={endpoint} nowMs={nowMs} />
      <Actions>
        <ActionButton
          label={enabled ? "Pause" : "Resume"}
          onRun={() => control.updateEndpoint(id, { enabled: !enabled })}
        />
        <ActionButton label="Rotate secret" onRun={() => control.rotateEndpointSecret(id)} />
        <ActionButton
          label="Delete"
          asksFirst
          onRun={() => control.deleteEndpoint(id)}
          name={`Delete ${url}`}
        />
        <LinkButton label="Its deliveries" href={hashOf("deliveries", null, { endpointId: id })} />
      </Actions>
    </section>
  );
}

/** The secrets are in the page only after a press of the button, and until the next rotation. */
function Secrets({ endpoint, nowMs }: Pick<Props, "endpoint" | "nowMs">) {
  const [fetched, setFetched] = useState<EndpointDetail | null>(null);
  const secrets = fetched?.updatedAt === endpoint.updatedAt ? fetched.secrets : null;
  const fetchSecrets = () => control.getEndpoint(endpoint.id).then(setFetched);
  return (
    <>
      <div class="title-bar">
        <h4>Secrets</h4>
        <Actions>
          {secrets === null ? (
            <ActionButton label="Show the secrets" onRun={fetchSecrets} />
          ) : (
            <Button label="Hide the secrets" onClick={() => setFetched(null)} />
          )}
        </Actions>
      </div>
      <ul class="items">
        {endpoint.secrets.map(({ state, expiresAt }, index) => (
          <li key={`${index} ${expiresAt}`}>
            <StatusBadge status={state} />
            {expiresAt !== null && (
              <span class="muted">
                {state === "grace" ? "still valid, ends" : "ended"}{" "}
                {formatRelative(Date.parse(expiresAt), nowMs)}
              </span>
            )}
            {secrets?.[index] && <Copied name={`secret ${index + 1}`} value={secrets[index].secret} />}
          </li>
        ))}
      </ul>
    </>
  );
}
