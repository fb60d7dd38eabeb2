import type { Filter } from "../address.ts";
import type { ViewProps } from "../app.tsx";
import { formatDuration, formatTime } from "../format.ts";
import type { Page, RequestView } from "../nouns.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Mark } from "../parts/mark.tsx";
import { OlderButton } from "../parts/older-button.tsx";
import { usePages } from "../parts/pages.ts";
import { Split } from "../parts/split.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { WindowedRows } from "../parts/windowed-rows.tsx";
import { useResource } from "../resource.ts";
import { goTo } from "../route.ts";

export const nameOf = ({ operationName, operations }: RequestView) =>
  operationName ?? (operations.join(", ") || "(no valid document)");

export const isRefused = ({ rejection, errors, status }: RequestView) =>
  rejection !== null || errors.length > 0 || (status !== null && status >= 400);

/** What the caller was told, or what happened to the answer. */
export function reasonOf({ errors, rejection, faults, status }: RequestView): string {
  return errors[0]?.message ?? rejection ?? (faults.length > 0 ? `fault: ${faults.join(", ")}` : `${status}`);
}

const resultOf = (request: RequestView) =>
  request.faults.length > 0 ? "faulty" : isRefused(request) ? "refused" : "answered";

export function RequestsView({ id, filter }: ViewProps) {
  const list = usePages<RequestView>("/request-log", {}, ["request"]);
  const rows = list.rows.filter((request) => fits(request, filter));
  const change = (changes: Filter) => goTo("requests", id, { ...filter, ...changes });
  return (
    <>
      <div class="head">
        <h2>Requests</h2>
        <div class="tools">
          <input
            data-filter
            type="search"
            aria-label="operation"
            placeholder="operation"
            value={filter["operation"] ?? ""}
            onInput={(event) => change({ operation: event.currentTarget.value })}
          />
          <select
            aria-label="result"
            value={filter["result"] ?? ""}
            onChange={(event) => change({ result: event.currentTarget.value })}
          >
            <option value="">every result</option>
            <option>answered</option>
            <option>refused</option>
            <option>faulty</option>
          </select>
        </div>
      </div>
      <Split
        of="requests"
        onClose={() => goTo("requests", null, filter)}
        list={
          <WindowedRows
            label="GraphQL requests, newest first"
            rows={rows}
            keyOf={({ sequence }) => String(sequence)}
            columns="62px minmax(130px, 1.8fr) 60px 38px 80px minmax(60px, 1fr)"
            narrowColumns="66px minmax(0, 1fr) 84px"
            header={
              <>
                <span>time</span>
                <span>operation</span>
                <span class="wide">router</span>
                <span class="wide">HTTP</span>
                <span>result</span>
                <span class="wide">reason</span>
              </>
            }
            draw={(request) => (
              <>
                <span class="muted">{formatTime(Date.parse(request.at)).slice(11)}</span>
                <span>{nameOf(request)}</span>
                <span class="muted wide">{request.router}</span>
                <span class="wide">{request.status ?? "cut"}</span>
                <span>
                  <Mark status={resultOf(request)} />
                </span>
                <span class="muted wide">{resultOf(request) === "answered" ? "" : reasonOf(request)}</span>
              </>
            )}
            selected={id}
            onSelect={(key) => goTo("requests", key, filter)}
            nothing={list.loading ? "Loading …" : "No request that matches."}
            footer={<OlderButton list={list} />}
          />
        }
        detail={id ? <RequestDetail id={id} /> : null}
      />
    </>
  );
}

function fits(request: RequestView, { operation = "", result = "" }: Filter): boolean {
  const needle = operation.trim().toLowerCase();
  return (
    (result === "" || resultOf(request) === result) &&
    (needle === "" || nameOf(request).toLowerCase().includes(needle))
  );
}

/** Asks for its request by itself: on a busy mock the list has long gone on. */
function RequestDetail({ id }: { readonly id: string }) {
  const page = useResource<Page<RequestView>>(`/request-log?limit=1&before=${Number(id) + 1}`, []);
  if (page === undefined) return null;
  const request = page?.data.find(({ sequence }) => String(sequence) === id);
  if (!request) return <div class="panel nothing">The journal has no such request any more.</div>;
  const { query, variables, errors, rejection, faults } = request;
  return (
    <section class="panel">
      <div class="head">
        <h3>{nameOf(request)}</h3>
        <Mark status={resultOf(request)} />
      </div>
      {rejection && <p class="notice bad">{rejection}</p>}
      {errors.map(({ message, code, path }) => (
        <p class="notice bad" key={`${path} ${message}`}>
          {message} {code && <code>{code}</code>} {path && <span>at {path}</span>}
        </p>
      ))}
      {faults.length > 0 && <p class="notice wait">Altered by a fault: {faults.join(", ")}</p>}
      <dl class="facts">
        <dt>at</dt>
        <dd>
          {formatTime(Date.parse(request.at))}, took {formatDuration(request.durationMs)}
        </dd>
        <dt>answer</dt>
        <dd>{request.status === null ? "none, the connection was cut" : `HTTP ${request.status}`}</dd>
        <dt>caller</dt>
        <dd>
          {request.caller}
          {request.keyId && <span class="muted mono"> {request.keyId}</span>}
        </dd>
        {request.sourcePlatform && (
          <>
            <dt>source-platform</dt>
            <dd>{request.sourcePlatform}</dd>
          </>
        )}
      </dl>
      <h4>Document</h4>
      <TextBlock>{query ?? "none that could be read"}</TextBlock>
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
