import { type Draft, query, type TokenName } from "../rules/probe.ts";
import { withPermission } from "../rules/rejection.ts";
import { type Rule, rule } from "../rules/rule.ts";
import { unknownId } from "./lists.ts";
import { documentsOfUnknown } from "./partner-operations.ts";

const path = "/api/uploads";

const send = (method: string, token: TokenName, at = path): Draft => ({
  ...query("", { token, permission: method === "POST" ? "write" : "read" }),
  request: { method, path: at, contentType: null, body: null },
  ...(method === "OPTIONS" ? {} : { headers: { "tus-resumable": "1.0.0" } }),
});

const head = (token: TokenName) => send("HEAD", token, `${path}/${unknownId}`);
/** Without its length no upload can result from it, with any key. */
const create = (token: TokenName) => send("POST", token);

/** The interface names the endpoint, and nothing of it. */
const statusRule = (name: string, title: string, draft: Draft): Rule =>
  rule(`uploads.${name}`, title, draft, ["A-28"], ({ status }) => ({ status }));

export const uploadRules: readonly Rule[] = [
  statusRule("options", "uploads are taken at /api/uploads", send("OPTIONS", "none")),
  statusRule("unknown", "an unknown upload is a 404", head("reader")),
  statusRule("head-read-only", "a read-only key may ask for an upload", head("readOnly")),
  statusRule("head-no-token", "an upload cannot be asked for without a token", head("none")),
  withPermission(
    documentsOfUnknown,
    statusRule("no-length", "an upload without a length is a 400", create("admin")),
  ),
  statusRule("create-read-only", "a read-only key may create no upload", create("readOnly")),
  statusRule("create-no-token", "an upload cannot be created without a token", create("none")),
];
