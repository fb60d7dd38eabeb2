import { useState } from "preact/hooks";
import type { ViewProps } from "../app.tsx";
import { formatDuration, formatTime } from "../format.ts";
import type { RequestView } from "../nouns.ts";
import { CopyButton, Mark } from "../parts/marks.tsx";
import { OlderButton } from "../parts/older-button.tsx";
import { usePages } from "../parts/pages.ts";
import { WindowedRows } from "../parts/windowed-rows.tsx";
import { goTo } from "../route.ts";

const nameOf = ({ operationName, operations }: RequestView) =>
  operationName ?? (operations.join(", ") || "(no valid document)");
const refused = (request: RequestView) => request.refusal !== null || request.errors.length > 0;

export function RequestsView({ id }: ViewProps) {
  const [filter, setFilter] = useState("");
  const [onlyRefused, setOnlyRefused] = useState(false);
  const list = usePages<RequestView>("/request-log", ({ sequence }) => String(sequence), ["request"]);
  const needle = filter.trim().toLowerCase();
  const rows = list.rows.filter(
    (request) =>
      (!onlyRefused || refused(request)) && (needle === "" || nameOf(request).toLowerCase().includes(needle)),
  );
  const chosen = list.rows.find(({ sequence }) => String(sequence) === id);
  return (
    <>
      <div class="head">
        <h2>Requests</h2>
        <div class="tools">
          <input
            data-filter
            aria-label="operation"
            placeholder="operation"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
          <button type="button" aria-pressed={onlyRefused} onClick={() => setOnlyRefused(!onlyRefused)}>
            {onlyRefused ? "all" : "refused only"}
          </button>
        </div>
      </div>
      <div class="split">
        <WindowedRows
          label="GraphQL requests, newest first"
          rows={rows}
          keyOf={({ sequence }) => String(sequence)}
          columns="74px minmax(120px, 1.4fr) 76px 84px 60px"
          header={
            <>
              <span>time</span>
              <span>operation</span>
              <span>router</span>
              <span>result</span>
              <span>status</span>
            </>
          }
          draw={(request) => (
            <>
              <span class="muted">{formatTime(Date.parse(request.at)).slice(11)}</span>
              <span>{nameOf(request)}</span>
              <span class="muted">{request.router}</span>
              <span>
                <Mark status={refused(request) ? "refused" : "answered"} />
              </span>
              <span>{request.status ?? "cut"}</span>
            </>
          )}
          selected={id}
          onSelect={(key) => goTo("requests", key)}
          nothing={list.loading ? "Loading …" : "No request that matches."}
          footer={<OlderButton list={list} />}
        />
        <div class="detail">{chosen && <RequestDetail request={chosen} />}</div>
      </div>
    </>
  );
}

function RequestDetail({ request }: { readonly request: RequestView }) {
  const { query, variables, errors, refusal, faults } = request;
  return (
    <section class="panel">
      <div class="head">
        <h2>{nameOf(request)}</h2>
        <Mark status={refused(request) ? "refused" : "answered"} />
      </div>
      {refusal && <p class="notice bad">Refused: {refusal}</p>}
      {errors.map(({ message, code, path }) => (
        <p class="notice bad" key={`${path} ${message}`}>
          {message} {code && <code>{code}</code>} {path && <span>at {path}</span>}
        </p>
      ))}
      {faults.length > 0 && <p class="notice">faults: {faults.join(", ")}</p>}
      <dl class="facts">
        <dt>caller</dt>
        <dd>
          {request.caller}
          {request.keyId && <span class="mono"> {request.keyId}</span>}
        </dd>
        {request.sourcePlatform && (
          <>
            <dt>source-platform</dt>
            <dd>{request.sourcePlatform}</dd>
          </>
        )}
        <dt>took</dt>
        <dd>{formatDuration(request.durationMs)}</dd>
      </dl>
      <h3>Document</h3>
      <pre>{query ?? "none that could be read"}</pre>
      <h3>Variables</h3>
      <pre>{JSON.stringify(variables, null, 2) ?? "none"}</pre>
      {query && (
        <div class="tools">
          <CopyButton label="Copy as JSON body" text={JSON.stringify({ query, variables })} />
        </div>
      )}
    </section>
  );
}
