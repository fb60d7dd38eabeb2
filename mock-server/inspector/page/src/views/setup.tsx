import { hashOf } from "@workspace-tasks/page-parts/address.ts";
import {
  ActionButton,
  Actions,
  CopyButton,
  LinkButton,
  Toggles,
} from "@workspace-tasks/page-parts/controls.tsx";
import { goTo } from "@workspace-tasks/page-parts/route.ts";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { Copied, Facts, TextBlock } from "@workspace-tasks/page-parts/values.tsx";
import { useState } from "preact/hooks";
import curl from "../snippets/curl.txt?raw";
import receiver from "../snippets/receiver.txt?raw";
import sdk from "../snippets/sdk.txt?raw";
import { control, transport, useClock, worldUrl } from "../state/mock.ts";
import { StatePanel } from "./state-panel.tsx";
import { WorldsPanel } from "./worlds-panel.tsx";

/** How to connect a client and a receiver, the state as a file, and the worlds of the mock. */
export function SetupView() {
  return (
    <>
      <div class="title-bar">
        <h2>Setup</h2>
      </div>
      <StartPanels />
      <div class="panels wide-panels">
        <StatePanel />
        <WorldsPanel />
      </div>
    </>
  );
}

/** What the first minute with a mock needs. */
export function StartPanels() {
  if (transport.hasAddress) return <ConnectPanels />;
  return (
    <section class="panel" aria-label="First steps">
      <MakeItHappen />
    </section>
  );
}

function ConnectPanels() {
  const seed = useResource("seed data", ["api-key", "workspace"], () => control.getSeedData());
  const [workspace] = Object.values(seed?.workspaces ?? {});
  const apiKey = Object.values(workspace?.members ?? {}).find((member) => member.apiKey)?.apiKey ?? null;
  return (
    <div class="panels half-panels">
      <section class="panel" aria-label="Connect">
        <h3>Connect</h3>
        <Facts
          values={{
            "base URL": <Copied name="the base URL" value={worldUrl} />,
            "gateway URL": <Copied name="the gateway URL" value={`${worldUrl}/gateway`} />,
            "API key": apiKey && <Copied name="the API key" value={apiKey} />,
            "partner key": seed && <Copied name="the partner key" value={seed.partnerApiKey} />,
            workspace: workspace && <Copied name="the workspace" value={workspace.id} />,
            "signing secret": <a href={hashOf("endpoints")}>Each endpoint has its own</a>,
          }}
        />
        <MakeItHappen />
      </section>
      <Snippets apiKey={apiKey} />
    </div>
  );
}

function MakeItHappen() {
  const mode = useClock()?.mode;
  const start = async () => {
    const { taskId } = await control.startTask({ taskType: "TAX_PREP", progression: "timed" });
    goTo("tasks", taskId);
  };
  return (
    <>
      <Actions>
        <ActionButton label="Start a task" onRun={start} class="primary" />
        <LinkButton label="Send an event" href={hashOf("endpoints", "send")} />
        <LinkButton label="Run a query" href={hashOf("run")} />
      </Actions>
      {mode === "real" && (
        <p class="muted">
          This mock has a real clock. Start it with <code>--clock virtual</code> to skip minutes and days at
          the press of a button.
        </p>
      )}
      {mode === "virtual" && (
        <p class="muted">
          The mock's time advances only at the press of a button above, or of the key <kbd>n</kbd>. A receiver
          in another process rejects deliveries as too old or too new, unless it takes its time from the mock.
        </p>
      )}
    </>
  );
}

/** How to call the mock, and how to receive from it. */
const snippets = { curl, SDK: sdk, Receiver: receiver };
type SnippetName = keyof typeof snippets;
const snippetNames = Object.keys(snippets) as readonly SnippetName[];

function Snippets({ apiKey }: { readonly apiKey: string | null }) {
  const [name, setName] = useState<SnippetName>("curl");
  const text = snippets[name]
    .trim()
    .replaceAll("{{baseUrl}}", worldUrl)
    .replaceAll("{{apiKey}}", apiKey ?? "wtk_…");
  return (
    <section class="panel" aria-label="Snippets">
      <div class="title-bar">
        <h3>First call</h3>
        <Toggles label="snippet" names={snippetNames} pressed={name} onPress={setName} />
        <CopyButton label="Copy" name="Copy the snippet" text={text} />
      </div>
      <TextBlock text={text} />
    </section>
  );
}
