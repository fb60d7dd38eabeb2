import { describe, expect, it } from "vitest";
import { hostWithoutPort, isLoopbackHost, normaliseHost } from "../../../../sdk/kernel/host.ts";

describe("a host name", () => {
  it.each([
    ["Mock.Local", "mock.local"],
    ["127.1", "127.0.0.1"],
    ["fd00:0::2", "fd00::2"],
    ["[fd00:0::0002]", "fd00::2"],
    ["host_1", "host_1"],
    ["mock:4010", null],
    ["http://mock", null],
    ["mock/path", null],
    ["[::1]:4010", null],
    ["[mock]", null],
    ["[::1", null],
    ["::1]", null],
    ["1:2", null],
    ["a b", null],
    ["user@mock", null],
    ["256.0.0.1", null],
    ["", null],
  ])("%j is normalised to %j", (text, expected) => {
    expect(normaliseHost(text)).toBe(expected);
  });

  it.each([
    ["Mock.local:4010", "mock.local"],
    ["127.0.0.1", "127.0.0.1"],
    ["[::1]:4010", "::1"],
    ["::1", null],
    ["mock:port", null],
    ["user@mock", null],
    ["", null],
  ])("the header %j is of the host %j", (header, expected) => {
    expect(hostWithoutPort(header)).toBe(expected);
  });

  it.each([
    ["localhost", true],
    ["LOCALHOST", true],
    ["mock.localhost", true],
    ["127.0.0.1", true],
    ["127.255.3.4", true],
    ["::1", true],
    ["[::1]", true],
    ["127.0.0.256", false],
    ["127.0.0.1.example", false],
    ["localhost.example", false],
    ["0.0.0.0", false],
    ["10.0.0.1", false],
    ["fd00::1", false],
  ])("whether %s is this computer: %s", (host, expected) => {
    expect(isLoopbackHost(host)).toBe(expected);
  });
});
