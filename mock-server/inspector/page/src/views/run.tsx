import { operationDocuments, type RecordedRequest, schemaText } from "@workspace-tasks/mock-server/control";
import {
  ActionButton,
  Actions,
  CopyButton,
  LinkButton,
  Notice,
  Select,
  TextField,
} from "@workspace-tasks/page-parts/controls.tsx";
import { goTo, hashOf } from "@workspace-tasks/page-parts/route.ts";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { formatDuration, shortId } from "@workspace-tasks/page-parts/text.ts";
import { BodyText, Headers, TextBlock } from "@workspace-tasks/page-parts/values.tsx";
import * as graphql from "graphql";
import { useEffect, useRef, useState } from "preact/hooks";
import { CodeEditor } from "../code-editor.tsx";
import {
  control,
  graphqlRequest,
  nameOfKey,
  newToken,
  type Router,
  routerOptions,
  transport,
  useKept,
  type ViewProps,
} from "../mock.ts";
import { StatusBadge } from "../parts.tsx";
import { canBeSent, parseJson, toCurl } from "../text.ts";

interface Draft {
  readonly router: Router;
  readonly query: string;
  /** JSON. */
  readonly variables: string;
  /** `null`: of a document that was opened from a request, or edited by hand. */
  readonly operation: string | null;
  /** The request of the journal that it was opened from: what was edited since stays. */
  readonly openedFrom?: string;
  /** Another one for each document that replaces the one in the editor. */
  readonly number: number;
}

let drafts = 0;

function draftOf(operation: keyof typeof operationDocuments): Draft {
  const { router, text } = operationDocuments[operation];
  const variables = sampleVariables(text);
  return {
    router,
    query: text,
    variables: Object.keys(variables).length === 0 ? "" : JSON.stringify(variables, null, 2),
    operation,
    number: ++drafts,
  };
}

/** Runs a GraphQL operation against the mock as one of its keys. */
export function RunView({ id }: ViewProps) {
  const [draft, setDraft] = useKept("run draft", () => draftOf("Me"));
  const [keyId, setKeyId] = useKept<string | null>("run key", null);
  const [problem, setProblem] = useState<string | null>(null);
  const [response, setResponse] = useKept<RunResponse | null>("run response", null);
  const result = useRef<HTMLDivElement>(null);
  useEffect(() => {
    setProblem(null);
    if (!id || draft.openedFrom === id) return;
    openRequest(id).then(
      (opened) => {
        setDraft(opened.draft);
        setKeyId(opened.keyId ?? "");
        setProblem(opened.problem);
      },
      () => setProblem(`The journal does not have the request ${id} any more.`),
    );
  }, [id]);
  const run = async () => setResponse(await runQuery({ ...draft, keyId }));
  const responseAtOpening = useRef(response);
  useEffect(() => {
    // On a narrow screen the response is below the document, out of sight.
    const { top = 0 } = result.current?.getBoundingClientRect() ?? {};
    if (response !== responseAtOpening.current && top > innerHeight - 300) result.current?.scrollIntoView();
  }, [response]);
  const choose = (name: string) => {
    if (name === "") return;
    setDraft(draftOf(name as keyof typeof operationDocuments));
    if (id) goTo("run");
  };
  return (
    <>
      <div class="title-bar">
        <h2>Run</h2>
        <Actions>
          <Select
            isFilter
            label="operation"
            value={draft.operation ?? ""}
            every="an operation of the SDK …"
            options={Object.keys(operationDocuments).sort()}
            onSelect={choose}
          />
          <Select
            label="key"
            value={keyId ?? ownKey}
            options={useKeyOptions(draft.router)}
            onSelect={(chosen) => setKeyId(chosen === ownKey ? null : chosen)}
          />
          <Select
            label="router"
            value={draft.router}
            options={routerOptions}
            onSelect={(router) => setDraft({ ...draft, router: router as Router })}
          />
          <ActionButton label="Run" onRun={run} shortcut="Mod-Enter" class="primary" />
        </Actions>
      </div>
      {problem && <Notice tone="wait">{problem}</Notice>}
      <div class="split run">
        <section class="panel" aria-label="Request">
          <h3>Document</h3>
          <CodeEditor
            key={draft.number}
            label="Document"
            text={draft.query}
            schema={schema}
            onChange={(query) => setDraft((before) => ({ ...before, query, operation: null }))}
          />
          <TextField
            label="Variables, as JSON"
            placeholder="{}"
            rows={5}
            value={draft.variables}
            onInput={(variables) => setDraft({ ...draft, variables })}
          />
          <SchemaDocs schema={schema} />
        </section>
        <div ref={result} class="run-result">
          <RunResult response={response} />
        </div>
      </div>
    </>
  );
}

const ownKey = "own";

/** Who a request can be made as. */
function useKeyOptions(router: Router) {
  const topics = ["api-key", "partner-key", "membership"];
  const keys = useResource("api keys", topics, () => control.listApiKeys())?.data ?? [];
  const partners = useResource("partner keys", topics, () => control.listPartnerKeys())?.data ?? [];
  return [
    { value: ownKey, text: router === "gateway" ? "the mock's partner key" : "the mock's API key" },
    { value: "", text: "no token" },
    ...keys.map((key) => ({ value: key.id, text: nameOfKey(key) })),
    ...partners.map(({ id }) => ({ value: id, text: `partner, ${shortId(id)}` })),
  ];
}

/** @param id the `sequence` of a request in the journal */
async function openRequest(id: string) {
  const { query, variables, router, keyId } = await control.getRequest(id);
  const text = JSON.stringify(variables ?? {}, null, 2);
  const isRedacted = `${query}${text}`.includes("[redacted]");
  return {
    draft: {
      router,
      query: query ?? "",
      variables: variables === null ? "" : text,
      operation: null,
      openedFrom: id,
      number: ++drafts,
    },
    keyId,
    problem: isRedacted ? "Secrets in it are redacted: replace [redacted] before you run it." : null,
  };
}

interface ResultProps {
  readonly response: RunResponse | null;
}

/** The whole response of the last run. */
export function RunResult({ response }: ResultProps) {
  if (!response) {
    return (
      <section class="panel" aria-label="Response">
        <h3>Response</h3>
        <p class="muted">
          Press Run, or <kbd>Ctrl</kbd>
          <kbd>Enter</kbd> in the document or its variables.
        </p>
      </section>
    );
  }
  const { status, headers, body, durationMs, sent, recorded } = response;
  return (
    <section class="panel" aria-label="Response">
      <div class="title-bar">
        <h3>
          Response <span class="muted">in {formatDuration(durationMs)}</span>
        </h3>
        <StatusBadge status={`HTTP ${status}`} tone={toneOf(status, body)} />
        {transport.hasAddress && <CopyButton label="Copy as curl" text={toCurl(sent)} />}
        <LinkButton label="In the journal" href={hashOf("requests", recorded && String(recorded.sequence))} />
      </div>
      {recorded?.rejection && <Notice tone="bad">{recorded.rejection}</Notice>}
      <Headers headers={headers} />
      <BodyText label="Response body" text={body} />
    </section>
  );
}

const toneOf = (status: number, body: string) =>
  status >= 400 ? "bad" : body.includes('"errors":[') ? "wait" : "good";

/** The operations of the service's schema, or its types that contain a text. */
export function SchemaDocs({ schema }: { readonly schema: graphql.GraphQLSchema }) {
  const [text, setText] = useState("");
  const needle = text.trim().toLowerCase();
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => !graphql.isIntrospectionType(type) && !graphql.isSpecifiedScalarType(type),
  );
  const found =
    needle === ""
      ? types.filter(({ name }) => name === "Query" || name === "Mutation").map(graphql.printType)
      : types.map(graphql.printType).filter((type) => type.toLowerCase().includes(needle));
  return (
    <details class="schema-docs">
      <summary>Schema</summary>
      <input
        type="search"
        aria-label="search the schema"
        placeholder="type or field, such as createClient"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <TextBlock text={found.join("\n\n") || "No type contains it."} />
    </details>
  );
}

export interface RunRequest {
  readonly router: Router;
  readonly query: string;
  /** JSON, or empty. */
  readonly variables: string;
  /** The id of an API key or partner key; empty: no token; `null`: the mock's own API key. */
  readonly keyId: string | null;
}

export interface RunResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The duration is in the computer's time. */
  readonly durationMs: number;
  /** The request as it was sent, for a shell. */
  readonly sent: ReturnType<typeof graphqlRequest>;
  /** The request in the mock's journal, which says more about a rejection than its response. */
  readonly recorded: RecordedRequest | null;
}

/** Sends an operation as a client does, with a new token of the key. */
export async function runQuery(request: RunRequest): Promise<RunResponse> {
  const { router, query, variables, keyId } = request;
  const values = variables.trim() && parseJson("the variables are", variables);
  const token = keyId === "" ? null : await newToken(router, keyId);
  const sent = graphqlRequest(router, token, query, values);
  const { url, headers, body } = sent;
  const startedMs = performance.now();
  const response = await transport.fetch(url, { method: "POST", headers, body }).catch(() => {
    throw new Error("the connection was cut before a response; an active fault can do that");
  });
  const text = await response.text().catch(() => {
    throw new Error(`HTTP ${response.status}, then the connection was cut; an active fault can do that`);
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: text,
    durationMs: performance.now() - startedMs,
    sent,
    recorded: await findRecorded(query),
  };
}

/** The newest request, if it is this one: others may have been made meanwhile. */
async function findRecorded(query: string): Promise<RecordedRequest | null> {
  const [newest] = (await control.listRequests({ order: "desc", limit: 1 })).data;
  return newest && canBeSent(newest.query, query) ? newest : null;
}

export const schema = graphql.buildSchema(schemaText);

/** Variables of a document to start from. */
export function sampleVariables(text: string): Readonly<Record<string, unknown>> {
  const { definitions } = graphql.parse(text);
  const operations = definitions.filter((each) => each.kind === graphql.Kind.OPERATION_DEFINITION);
  const samples = operations.flatMap(({ variableDefinitions = [] }) =>
    variableDefinitions.map(({ variable: { name }, type }) => {
      const inputType = graphql.typeFromAST(schema, type as never) as unknown as graphql.GraphQLInputType;
      return [name.value, sampleValue(name.value, inputType)];
    }),
  );
  return Object.fromEntries(samples);
}

/** An input object has its required fields, a variable that is one all of them; what may be absent is `null`. */
function sampleValue(name: string, type: graphql.GraphQLInputType, isVariable = true): unknown {
  const nullable = graphql.getNullableType(type);
  const isOptional = nullable === type;
  if (isOptional && !isVariable) return null;
  if (graphql.isListType(nullable)) return [];
  if (graphql.isEnumType(nullable)) return nullable.getValues()[0]?.name ?? null;
  if (graphql.isInputObjectType(nullable)) {
    const fields = Object.values(nullable.getFields()).filter(
      (field) => isVariable || graphql.isRequiredInputField(field),
    );
    return Object.fromEntries(
      fields.map((field) => [field.name, sampleValue(field.name, field.type, false)]),
    );
  }
  if (isOptional) return null;
  if (nullable.name === "Int" || nullable.name === "Float") return 1;
  if (nullable.name === "Boolean") return true;
  return name === "url" ? "http://127.0.0.1:3000/webhooks" : "";
}
