import type { Filter } from "../address.ts";
import type { RecordedRequest } from "../api-types.ts";
import { formatDuration, formatTime, formatTimeOfDay } from "../format.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Fact, Facts } from "../parts/fact.tsx";
import { ListView } from "../parts/list-view.tsx";
import { Notice } from "../parts/notice.tsx";
import { usePages } from "../parts/pages.ts";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { type Column, column } from "../parts/windowed-rows.tsx";
import { nameOf, reasonOf, resultOf, results } from "../request-labels.ts";
import { control, useResource } from "../resource.ts";
import type { ViewProps } from "../view.ts";

const columns: readonly Column<RecordedRequest>[] = [
  column("time", ["62px", "66px"], ({ at }) => formatTimeOfDay(at), "muted"),
  column("operation", ["minmax(130px, 1.8fr)", "minmax(0, 1fr)"], nameOf),
  column("router", ["60px"], ({ router }) => router, "muted"),
  column("HTTP", ["38px"], ({ status }) => status ?? "cut"),
  column("result", ["80px", "84px"], (request) => <StatusBadge status={resultOf(request)} />),
  column("reason", ["minmax(60px, 1fr)"], reasonIfAny, "muted"),
];

function reasonIfAny(request: RecordedRequest): string {
  return resultOf(request) === "succeeded" ? "" : reasonOf(request);
}

export function RequestsView({ id, filter }: ViewProps) {
  const list = usePages("requests", ["request"], (query) => control.listRequests(query));
  return (
    <ListView
      view="requests"
      title="Requests"
      id={id}
      filter={filter}
      fields={[
        { name: "operation", label: "operation", placeholder: "operation" },
        { name: "result", label: "result", options: results },
      ]}
      list={list}
      rows={list.rows.filter((request) => matches(request, filter))}
      keyOf={({ sequence }) => String(sequence)}
      columns={columns}
      nothing="No request that matches."
      detail={(sequence) => <RequestDetail id={sequence} />}
    />
  );
}

function matches(request: RecordedRequest, { operation = "", result = "" }: Filter): boolean {
  const needle = operation.trim().toLowerCase();
  return (
    (result === "" || resultOf(request) === result) &&
    (needle === "" || nameOf(request).toLowerCase().includes(needle))
  );
}

function RequestDetail({ id }: { readonly id: string }) {
  const request = useResource(`request ${id}`, [], () => control.getRequest(id));
  if (request === undefined) return null;
  if (!request) return <div class="panel nothing">The journal does not have this request any more.</div>;
  const { query, variables, errors, rejection, faults } = request;
  return (
    <section class="panel">
      <div class="title-bar">
        <h3>{nameOf(request)}</h3>
        <StatusBadge status={resultOf(request)} />
      </div>
      {rejection && <Notice tone="bad">{rejection}</Notice>}
      {errors.map(({ message, code, path }) => (
        <Notice tone="bad" key={`${path} ${message}`}>
          {message} {code && <code>{code}</code>} {path && <span>at {path}</span>}
        </Notice>
      ))}
      {faults.length > 0 && <Notice tone="wait">Altered by a fault: {faults.join(", ")}</Notice>}
      <Facts>
        <Fact name="at">
          {formatTime(request.at)}, took {formatDuration(request.durationMs)}
        </Fact>
        <Fact name="response">
          {request.status ? `HTTP ${request.status}` : "none, the connection was cut"}
        </Fact>
        <Fact name="caller">
          {request.caller}
          {request.keyId && <span class="muted mono"> {request.keyId}</span>}
        </Fact>
        <Fact name="source-platform">{request.sourcePlatform}</Fact>
      </Facts>
      <h4>Document</h4>
      <TextBlock>{query ?? "none that is valid"}</TextBlock>
      <h4>
        Variables <span class="muted">keys and tokens are redacted</span>
      </h4>
      <TextBlock>{variables === null ? "none" : JSON.stringify(variables, null, 2)}</TextBlock>
      {query && (
        <div class="tools">
          <CopyButton label="Copy as JSON body" text={JSON.stringify({ query, variables })} />
        </div>
      )}
    </section>
  );
}
