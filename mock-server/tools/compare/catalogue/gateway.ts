import { call, type Draft, type KeyName, query, shared, type TokenName } from "../rules/probe.ts";
import { outcomeOf } from "../rules/read-response.ts";
import { rejections } from "../rules/rejection.ts";
import { type Rule, rule } from "../rules/rule.ts";
import { kindOfToken, lifetime, whoAmI, works } from "./tokens.ts";

const login = (name: KeyName | "wrong"): Draft =>
  call("LoginPartner", ({ key }) => ({ token: key(name) }), {
    permission: "read",
    token: "none",
    needs: name === "wrong" ? [] : [name],
  });

const partnerLogin = shared("login.default", login("partner"));
const accessToken = "loginViaPersonalApiToken.accessToken";

const me = (token: TokenName, headers = {}): Draft => query(whoAmI, { router: "gateway", token, headers });

const meOfPartner = call("Me", {}, { router: "gateway", token: "partner" });
const withSourcePlatform = me("reader", { "source-platform": "workspace-tasks" });

export const gatewayRules: readonly Rule[] = [
  rule("partner.login", "the partner's login returns a JWT", partnerLogin, ["A-19"], (response) => ({
    outcome: outcomeOf(response),
    kind: kindOfToken(response, accessToken),
  })),
  lifetime("partner.lifetime", "a partner's token lives 180 s", partnerLogin, ["A-19"], accessToken),
  ...rejections([
    ["partner.wrong-key", "the login with a wrong key is rejected", login("wrong"), "A-3"],
    ["partner.workspace-key", "the login with a workspace's key is rejected", login("admin"), "A-3", "A-19"],
    ["gateway.no-token", "the gateway rejects me without a token", me("none"), "A-4"],
  ]),
  works(
    "gateway.workspace-token",
    "the gateway takes a workspaceToken, and me is on both routers",
    me("reader"),
    ["A-19", "A-21", "A-1"],
  ),
  works("gateway.source-platform", "the header source-platform is accepted", withSourcePlatform, ["A-1"]),
  works("gateway.partner-token", "me is a User for a partner's token", meOfPartner, ["A-19"]),
  rule(
    "gateway.base-operation",
    "operations of the base router do not exist on the gateway",
    query("{ webhookEventCatalog { name } }", { router: "gateway" }),
    ["A-21"],
    outcomeOf,
  ),
];
