import { useState } from "preact/hooks";
import { ActionButton, Actions } from "../../parts/controls/action.tsx";
import { TextField } from "../../parts/controls/fields.tsx";
import { goTo } from "../../route.ts";
import { control } from "../../state/resource.ts";

/** Where receivers on this computer usually listen. */
const urlDefault = "http://127.0.0.1:3000/webhooks";

export function NewEndpoint() {
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
        <ActionButton onRun={create} class="primary">
          Create endpoint
        </ActionButton>
      </Actions>
    </section>
  );
}
