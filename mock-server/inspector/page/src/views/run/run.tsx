import { operationDocuments } from "@workspace-tasks/mock-server/control";
import { ActionButton, Actions, Notice, Select, TextField } from "@workspace-tasks/page-parts/controls.tsx";
import { goTo } from "@workspace-tasks/page-parts/route.ts";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { shortId } from "@workspace-tasks/page-parts/text.ts";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ViewProps } from "../../app/views.ts";
import { CodeEditor } from "../../parts/code-editor.tsx";
import { useKept } from "../../parts/use-kept.ts";
import { nameOfKey, type Router, routerOptions } from "../../run/request-keys.ts";
import { type RunResponse, runQuery } from "../../run/run-query.ts";
import { sampleVariables, schema } from "../../run/sample-variables.ts";
import { control } from "../../state/mock.ts";
import { RunResult } from "./run-result.tsx";
import { SchemaDocs } from "./schema-docs.tsx";

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
