import type { EndpointSummary } from "@workspace-tasks/mock-server/control";
import { hashOf } from "@workspace-tasks/page-parts/address.ts";
import {
  ActionButton,
  Actions,
  Button,
  Notice,
  SelectField,
  TextField,
} from "@workspace-tasks/page-parts/controls.tsx";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { useState } from "preact/hooks";
import { control } from "../state/mock.ts";
import { parseJson } from "../text/http-text.ts";

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
