import { useState } from "preact/hooks";
import { ActionButton, useAction } from "../../parts/controls/action.tsx";
import { goTo } from "../../route.ts";
import { control } from "../../state/resource.ts";

/** Where receivers on this computer usually listen. */
const urlDefault = "http://127.0.0.1:3000/webhooks";

export function NewEndpoint() {
  const [url, setUrl] = useState(urlDefault);
  const [events, setEvents] = useState("");
  const action = useAction();
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
      <label>
        URL of the receiver
        <input
          type="url"
          value={url}
          spellcheck={false}
          onInput={(event) => setUrl(event.currentTarget.value)}
        />
      </label>
      <label>
        Events, empty for all of them
        <input
          value={events}
          placeholder="task.completed, task.failed"
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setEvents(event.currentTarget.value)}
        />
      </label>
      <div class="tools">
        <ActionButton action={action} onRun={create} class="primary">
          Create endpoint
        </ActionButton>
      </div>
      {action.notice}
    </section>
  );
}
