import type { EndpointDetail, EndpointSummary } from "@workspace-tasks/mock-server/control";
import {
  ActionButton,
  Actions,
  Button,
  LinkButton,
  Notice,
  SelectField,
  TextField,
} from "@workspace-tasks/page-parts/controls.tsx";
import { type Column, column, ListPanel, ListView } from "@workspace-tasks/page-parts/lists.tsx";
import { goTo, hashOf } from "@workspace-tasks/page-parts/route.ts";
import { useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { formatRelative, formatTime, formatTimeNear } from "@workspace-tasks/page-parts/text.ts";
import { Absent, Copied, Facts } from "@workspace-tasks/page-parts/values.tsx";
import { useState } from "preact/hooks";
import { control, type ViewProps } from "../mock.ts";
import {
  byUrgency,
  DeliveryBadge,
  describeHealth,
  EndpointName,
  type Health,
  HealthStrip,
  ReplayRejected,
  StatusBadge,
  stateOfEndpoint,
  successRate,
} from "../parts.tsx";
import { labelOfEndpoint, parseJson } from "../text.ts";

interface Row {
  readonly endpoint: EndpointSummary;
  readonly health: Health | undefined;
}

const columnsOf = (nowMs: number): readonly Column<Row>[] => [
  column(
    "endpoint",
    ["minmax(200px, 1.4fr)", "minmax(110px, 1fr)", "minmax(0, 1fr)"],
    ({ endpoint: { url, description, workspace, eventTypes } }) => [
      <EndpointName url={url} />,
      [description || workspace, eventTypes?.join(", ")].filter(Boolean).join(" · "),
    ],
    { value: ({ endpoint }) => endpoint.url },
  ),
  column(
    "state",
    ["minmax(180px, 1.2fr)", "minmax(120px, 1.4fr)", "132px"],
    ({ endpoint, health }) => [
      <StatusBadge status={stateOfEndpoint(endpoint.enabled, health)} />,
      describeHealth(health, nowMs),
    ],
    { value: ({ endpoint, health }) => stateOfEndpoint(endpoint.enabled, health) },
  ),
  column("last 20", ["104px", "104px", null], ({ health }) => <HealthStrip recent={health?.recent ?? []} />),
  column("accepted", ["76px", "76px", null], ({ health }) => successRate(health), {
    value: ({ health }) => (health ? health.succeeded / Math.max(1, health.attempts) : 0),
  }),
  column("attempts", ["70px", null, null], ({ health }) => health?.attempts ?? 0, { class: "muted" }),
];

export function EndpointsView({ id, filter, overview }: ViewProps) {
  const nowMs = useNowMs();
  const topics = ["endpoint", "workspace", "clock"];
  const read = useResource("endpoints", topics, () => control.listEndpoints());
  const endpoints = read?.data ?? [];
  const rows = byUrgency(endpoints.toReversed(), overview?.health ?? []);
  const detail = (selected: string) => {
    if (selected === "new") return <NewEndpoint />;
    if (selected === "send") return <SendEvent endpoints={endpoints} />;
    const row = rows.find(({ endpoint }) => endpoint.id === selected);
    if (row) return <Endpoint key={selected} {...row} />;
    const text = `There is no endpoint with the id ${selected}; it may have been deleted.`;
    return <Absent value={read && null} text={text} />;
  };
  return (
    <ListView
      view="endpoints"
      id={id}
      filter={filter}
      fields={[]}
      actions={
        <div class="tools">
          <LinkButton label="New endpoint" href={hashOf("endpoints", "new", filter)} />
          <LinkButton label="Send an event" href={hashOf("endpoints", "send", filter)} />
        </div>
      }
      list={{ rows, loading: read === undefined }}
      keyOf={({ endpoint }) => endpoint.id}
      columns={columnsOf(nowMs)}
      nothing={
        <>
          No endpoint yet. <a href={hashOf("endpoints", "new")}>Create one</a>
        </>
      }
      detail={detail}
    />
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

function Endpoint({ endpoint, health }: Row) {
  const nowMs = useNowMs();
  const { url, id, enabled } = endpoint;
  return (
    <section class="panel" aria-label={url}>
      <div class="title-bar">
        <h3 title={url}>{labelOfEndpoint(url)}</h3>
        <StatusBadge status={stateOfEndpoint(enabled, health)} />
      </div>
      <Facts
        values={{
          URL: <Copied value={url} />,
          health: (
            <>
              <HealthStrip recent={health?.recent ?? []} /> {describeHealth(health, nowMs)}
            </>
          ),
          id: <Copied value={id} />,
          workspace: endpoint.workspace,
          description: endpoint.description,
          events: endpoint.eventTypes?.join(", ") ?? "all, including future ones",
          changed: formatTime(endpoint.updatedAt),
        }}
      />
      <LastDeliveries id={id} failingSince={health?.failingSince ?? null} />
      <Secrets endpoint={endpoint} />
      <Actions>
        <ActionButton
          label={enabled ? "Pause" : "Resume"}
          onRun={() => control.updateEndpoint(id, { enabled: !enabled })}
        />
        <ActionButton label="Rotate secret" onRun={() => control.rotateEndpointSecret(id)} />
        <ActionButton
          label="Delete"
          asksFirst
          onRun={() => control.deleteEndpoint(id).then(() => goTo("endpoints"))}
          name={`Delete ${url}`}
          class="toned tone-bad"
        />
      </Actions>
    </section>
  );
}

const deliveriesListed = 8;

/** How it responded to the last ones, and a replay of what it has rejected since it fails. */
function LastDeliveries({ id, failingSince }: { readonly id: string; readonly failingSince: string | null }) {
  const nowMs = useNowMs();
  const log = useResource(`deliveries of ${id}`, ["delivery", "clock"], () =>
    control.listDeliveries({ endpointId: id, order: "desc", limit: deliveriesListed }),
  );
  return (
    <>
      <ListPanel
        title="Its last deliveries"
        nothing={log && "No delivery yet."}
        class="two-line-items"
        footer={<a href={hashOf("deliveries", null, { endpointId: id })}>All its deliveries</a>}
      >
        {log?.data.map((delivery) => (
          <li key={delivery.id}>
            <div>
              <a href={hashOf("deliveries", delivery.id)}>{delivery.event}</a>
              <span class="muted one-line">{delivery.client}</span>
              <span class="at-end">
                <DeliveryBadge delivery={delivery} />
              </span>
            </div>
            <div>
              <span class={delivery.lastError === null ? "muted" : "toned tone-bad"}>
                {delivery.lastError ?? delivery.lastStatus ?? "no attempt yet"}
              </span>
              <span class="at-end muted">{formatTimeNear(delivery.createdAt, nowMs)}</span>
            </div>
          </li>
        ))}
      </ListPanel>
      {failingSince !== null && (
        <ReplayRejected
          query={{ endpointId: id }}
          label={`Replay what it has rejected since ${formatTimeNear(failingSince, nowMs)}`}
        />
      )}
    </>
  );
}

/** The secrets are in the page only after a press of the button, and until the next rotation. */
function Secrets({ endpoint }: Pick<Row, "endpoint">) {
  const nowMs = useNowMs();
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

/** Any event of the catalog with a payload that can be edited. */
export function SendEvent({ endpoints }: { readonly endpoints: readonly EndpointSummary[] }) {
  const catalog = useResource("catalog", ["catalog"], () => control.listCatalog())?.data ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const [edited, setEdited] = useState<string | null>(null);
  const [endpointId, setEndpointId] = useState("");
  const [sent, setSent] = useState<string | null>(null);
  const event = catalog.find(({ name }) => name === chosen) ?? catalog[0];
  const payload = edited ?? (event ? JSON.stringify(event.example, null, 2) : "");
  const send = async () => {
    if (!event) return;
    const { eventId } = await control.sendEvent({
      name: event.name,
      payload: parsePayload(payload),
      ...(endpointId && { endpointId }),
    });
    setSent(eventId);
  };
  return (
    <section class="panel" aria-label="Send an event">
      <h3>Send an event</h3>
      <div class="tools fill">
        <SelectField
          label="Event to send"
          value={event?.name ?? ""}
          options={catalog.map(({ name }) => name)}
          onSelect={(name) => {
            setChosen(name);
            setEdited(null);
          }}
        />
        <SelectField
          label="To"
          value={endpointId}
          every="every endpoint that subscribes"
          options={endpoints.map(({ id, url }) => ({ value: id, text: url }))}
          onSelect={setEndpointId}
        />
      </div>
      <TextField
        label="Payload; the mock adds id, event, version, occurredAt and workspaceId"
        rows={5}
        value={payload}
        onInput={setEdited}
      />
      <Actions>
        <ActionButton label="Send event" onRun={send} class="primary" disabled={!event} />
        {edited !== null && <Button label="Restore the example" onClick={() => setEdited(null)} />}
      </Actions>
      {sent && (
        <Notice tone={endpoints.length === 0 ? "wait" : "good"}>
          {endpoints.length === 0 ? "Sent, but there is no endpoint. " : "Sent. "}
          <a href={hashOf("deliveries", null, { text: sent })}>Its deliveries</a>
        </Notice>
      )}
    </section>
  );
}

function parsePayload(text: string): Record<string, unknown> {
  const value = parseJson("the payload is", text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new Error("the payload must be a JSON object");
}
