import { withoutProxyForThisComputer } from "@workspace-tasks/kernel/cli/proxy-exceptions.ts";
import { expect, it } from "vitest";

const proxy = "http://proxy.corp:3128";
const both = (text: string) => ({ no_proxy: text, NO_PROXY: text });

it.each([
  ["no proxy", { NO_PROXY: "a" }, {}],
  ["an empty proxy", { HTTP_PROXY: "" }, {}],
  ["a proxy alone", { HTTP_PROXY: proxy }, both("127.0.0.1,localhost,::1")],
  ["a proxy in lower case", { all_proxy: proxy }, both("127.0.0.1,localhost,::1")],
  ["exceptions", { https_proxy: proxy, NO_PROXY: "a, localhost b" }, both("a,localhost,b,127.0.0.1,::1")],
  [
    "exceptions in both cases",
    { HTTP_PROXY: proxy, NO_PROXY: "a", no_proxy: "b" },
    both("b,127.0.0.1,localhost,::1"),
  ],
  ["an exception of everything", { HTTP_PROXY: proxy, NO_PROXY: "*" }, both("*")],
])("excepts this computer from proxies: %s", (_, env, expected) => {
  expect(withoutProxyForThisComputer(env)).toEqual(expected);
});
