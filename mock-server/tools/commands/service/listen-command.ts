import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { durationText, painter, usesColor } from "@workspace-tasks/kernel/layout.ts";
import { randomName, systemRandom } from "@workspace-tasks/kernel/random.ts";
import {
  createBoundedOutput,
  createLogOutput,
  type Line,
  reasonOf,
  withoutSecrets,
} from "@workspace-tasks/mock-server/parts";
import { isWorkspaceTasksError, type WebhookEndpoint } from "@workspace-tasks/sdk";
import { connectionCodeOf } from "../../connection-errors.ts";
import {
  createForwarder,
  type ForwardedDelivery,
  type Owner,
  probeHeader,
  type RecordedRun,
  type RejectedRequest,
  recordRun,
  removeLeft,
  removeMarked,
  type StateOptions,
} from "../../listen.ts";
import { withoutSecrets as shownUrl } from "../service-address.ts";
import { checkSecretFile, type Service, serviceFlags, withService, writeSecretFile } from "./service.ts";

const address = (about: string, complete = (given: string) => given) =>
  cli.flag("<url>", about, {
    parse(given) {
      const text = complete(given);
      return /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
    },
    expected: "an http or https URL",
    show: shownUrl,
  });

/** `3000/webhooks` and `localhost:3000` are of this machine. */
const ofThisMachine = (given: string) =>
  given.includes("://") ? given : `http://${given.replace(/^:?(?=\d{1,5}(?:\/|$))/, "localhost:")}`;

const flags = {
  url: address("public address of a tunnel that leads to the port of this command"),
  forwardTo: address("where the deliveries go, such as http://localhost:3000/webhooks", ofThisMachine),
  port: cli.wholeNumber("port of this machine that the tunnel leads to; 0 takes any", {
    min: 0,
    max: 65_535,
    fallback: 4020,
  }),
  ...serviceFlags,
  events: cli.list("<names>", "events to deliver, with commas (all)"),
  secretFile: cli.text("<file>", "write the signing secret there, for its owner alone (mode 600)"),
  showSecret: cli.toggle("print the signing secret, which is another one at each start"),
  json: cli.toggle("print one JSON document per line"),
};

type ListenFlags = cli.FlagValues<typeof flags>;

/** Runs `workspace-tasks listen` until it is asked to stop, and returns its exit code. */
export const runListenCommand = cli.defineCommand({
  name: "listen",
  synopsis: "--url <url> --forward-to <url> [options]",
  about: `Receives webhooks of the real service on this machine: creates an endpoint at the
address of a tunnel, checks each delivery as a receiver does, prints it, and
forwards it unchanged. Ctrl+C removes the endpoint; one that was left by a run
that was killed is removed at the next start.`,
  flags,
  notes: `Needs a read_write key of an administrator.
Exit code: 0 stopped, 1 could not start, or an endpoint is left, 2 wrong arguments.`,
  async run(args, io) {
    cli.noArgument(args);
    const { url, forwardTo, secretFile } = args.flags;
    if (!url) throw new cli.UsageError("expected --url <url>, the public address of a tunnel");
    if (!forwardTo) throw new cli.UsageError("expected --forward-to <url>, where the deliveries go");
    if (forwardTo.host === url.host || isOwnPort(forwardTo, args.flags.port))
      throw new cli.UsageError("--forward-to: expected the address of a receiver, got that of this command");
    if (secretFile !== undefined) await checkSecretFile(secretFile);
    // Without a reader, as after `| head -1`, there is nothing left to do.
    const stop = AbortSignal.any([io.stop, io.unread ?? []].flat());
    return withService(args.flags, io, (service) =>
      listen({ ...args.flags, url, forwardTo }, service, { ...io, stop }),
    );
  },
});

const isOwnPort = ({ hostname, port }: URL, own: number) =>
  own > 0 && port === String(own) && /^(localhost|127\.|\[::1\])/.test(hostname);

type Listening = ListenFlags & { readonly url: URL; readonly forwardTo: URL };

async function listen(options: Listening, service: Service, io: cli.CommandIo): Promise<number> {
  const secret = deferred<string>();
  // Without an endpoint nothing waits for it.
  secret.promise.catch(() => {});
  const probe = randomName(systemRandom);
  const log = options.json ? jsonLog(io) : textLog(io, options.forwardTo);
  const server = createForwarder({
    forwardTo: options.forwardTo,
    path: options.url.pathname,
    secret: secret.promise,
    probe,
    clock: systemClock,
    onForwarded: log.forwarded,
    onRejected: log.rejected,
  });
  const port = await startServer(server, options.port);
  let opened: Opened | undefined;
  try {
    opened = await openEndpoint(options, service, io);
    secret.resolve(opened.signingSecret);
    if (options.secretFile !== undefined) await writeSecretFile(options.secretFile, opened.signingSecret);
    cli.writeData(io, readyText(options, opened, port, io));
    void warnUnlessReached(options.url, probe, port, io);
    if (!io.stop.aborted) await once(io.stop, "abort");
    return await closeEndpoint(opened, service, io);
  } catch (error) {
    // Ctrl+C during the start, after which nothing is left.
    if (!opened && io.stop.aborted && !(error instanceof cli.CommandError)) return 0;
    if (opened) await closeEndpoint(opened, service, io);
    throw error;
  } finally {
    secret.reject(new Error("the command has ended"));
    await stopServer(server);
  }
}

interface Opened {
  readonly endpoint: WebhookEndpoint;
  readonly signingSecret: string;
  readonly run: RecordedRun;
}

/** Removes what earlier runs have left, and creates the endpoint of this one. Leaves nothing when it fails. */
async function openEndpoint(
  { url, events }: Listening,
  service: Service,
  io: cli.CommandIo,
): Promise<Opened> {
  const { endpoints } = service.client.webhooks;
  const call = { signal: io.stop };
  const owner = await ownerOf(service, io);
  const state: StateOptions = { folder: stateFolder(io), clock: systemClock, signal: io.stop };
  await removeLeft(owner, endpoints, state, {
    onRemoved: (left) => cli.writeNotice(io, "listen", `removed the endpoint ${left} of an earlier run`),
    onWait: (other) => cli.writeNotice(io, "listen", `waits up to a minute to see whether ${other} runs`),
  });
  const all = await endpoints.list({ limit: 100 }, call).toArray();
  const other = all.find((each) => URL.canParse(each.url) && new URL(each.url).href === url.href);
  if (other)
    throw new cli.CommandError(
      `--url: endpoint ${other.id} has this URL already, and its deliveries would arrive here with another secret; use another path, or workspace-tasks endpoints delete ${other.id}`,
    );
  const run = await recordRun(owner, state).catch((error: unknown) => {
    const why = `${state.folder}: ${reasonOf(error)}`;
    throw new cli.CommandError(`cannot record the endpoint in ${why}; XDG_STATE_HOME names another folder`);
  });
  io.onKill?.(() => `${leftText(run.mark)}\n`);
  try {
    const eventTypes = events.length === 0 ? null : events;
    const created = await endpoints.create({ url: url.href, description: run.mark, eventTypes }, call);
    return { ...created, run };
  } catch (error) {
    if (isWorkspaceTasksError(error) && error.outcome !== "unknown") await run.forget();
    else await removeUnknown(run, service);
    throw error;
  }
}

async function ownerOf({ client, baseUrl }: Service, io: cli.CommandIo): Promise<Owner> {
  const me = await client.me({ signal: io.stop });
  if (me.__typename === "WorkspaceUser") return { baseUrl, workspaceId: me.workspace.id };
  throw new cli.CommandError("expected the key of a workspace, got one of an account");
}

const stateFolder = ({ env }: cli.CommandIo) =>
  join(env["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "workspace-tasks", "listen");

/** The signal of the command has ended already. */
const lastCall = { deadlineMs: 15_000 };

/** The request may have arrived: what it created is removed now, or at the next start. */
async function removeUnknown(run: RecordedRun, { client }: Service): Promise<void> {
  const removed = await removeMarked(run.mark, client.webhooks.endpoints, lastCall).catch(() => []);
  if (removed.length > 0) return run.forget();
  await run.release();
  throw new cli.CommandError(`the outcome of the request is unknown: ${leftText(run.mark)}`);
}

async function closeEndpoint(
  { endpoint, run }: Opened,
  { client }: Service,
  io: cli.CommandIo,
): Promise<0 | 1> {
  try {
    await client.webhooks.endpoints.delete(endpoint.id, lastCall).catch((error: unknown) => {
      if (!isWorkspaceTasksError(error, "NOT_FOUND")) throw error;
    });
    await run.forget();
    return 0;
  } catch (error) {
    cli.writeNotice(io, "listen", `${reasonOf(error)}: ${leftText(run.mark)}`);
    await run.release();
    return 1;
  } finally {
    io.onKill?.(() => "");
  }
}

const leftText = (mark: string) =>
  `the endpoint described as "${mark}" may be left; the next workspace-tasks listen with this key removes it`;

async function startServer(server: Server, port: number): Promise<number> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening").catch((error: unknown) => {
    throw new cli.CommandError(`--port: cannot listen on ${port}: ${reasonOf(error)}; choose another one`);
  });
  return (server.address() as AddressInfo).port;
}

const closeGraceMs = 2_000;

/** Deliveries that are being forwarded have a moment to end. */
async function stopServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  const cancel = systemClock.schedule(closeGraceMs, () => server.closeAllConnections());
  await closed;
  cancel();
  // What was cut off is reported in the next turn.
  await new Promise<void>((resolve) => systemClock.schedule(0, resolve));
}

function readyText(
  { url, forwardTo, json, showSecret }: Listening,
  opened: Opened,
  port: number,
  io: cli.CommandIo,
): string {
  const { endpoint, signingSecret } = opened;
  const secret = showSecret ? { signingSecret } : {};
  const addresses = { url: url.href, forwardTo: shownUrl(forwardTo.href), port };
  if (json) return `${JSON.stringify({ ready: true, ...addresses, endpointId: endpoint.id, ...secret })}\n`;
  const paint = painter(usesColor(io));
  return `Deliveries to ${paint(addresses.url, "bold")}
  are forwarded to ${paint(addresses.forwardTo, "bold")}
  endpoint ${endpoint.id}, which Ctrl+C removes
  the tunnel must lead to http://127.0.0.1:${port}
${showSecret ? `  signing secret ${signingSecret}\n` : ""}
`;
}

const probesMax = 5;
const probePauseMs = 2_000;

/** Says so when the public address does not lead here: deliveries would arrive elsewhere, or nowhere. */
async function warnUnlessReached(url: URL, probe: string, port: number, io: cli.CommandIo): Promise<void> {
  let got = "";
  for (let count = 0; count < probesMax && !io.stop.aborted; count += 1) {
    if (count > 0)
      await new Promise<void>((resolve) => systemClock.schedule(probePauseMs, resolve, { background: true }));
    try {
      const signal = AbortSignal.any([io.stop, AbortSignal.timeout(5_000)]);
      const response = await fetch(url, { headers: { [probeHeader]: probe }, redirect: "manual", signal });
      await response.body?.cancel();
      if (response.headers.get(probeHeader) === probe) return;
      got = `a response ${response.status} of something else`;
    } catch (error) {
      got = connectionCodeOf(error) ?? reasonOf(error);
    }
  }
  if (io.stop.aborted) return;
  cli.writeNotice(
    io,
    "listen",
    `${url.href} does not lead to http://127.0.0.1:${port}, as seen from here: got ${got}. Start or correct the tunnel; the service repeats deliveries`,
  );
}

interface Log {
  forwarded(delivery: ForwardedDelivery): void;
  rejected(request: RejectedRequest): void;
}

function textLog(io: cli.CommandIo, forwardTo: URL): Log {
  const output = createLogOutput(io);
  const print = (line: Omit<Line, "noun">) =>
    output.printLine({ noun: "delivery", ...line }, new Date().toISOString().slice("2026-01-01T".length));
  return {
    forwarded({ event, taskId, status, error, ageSeconds, durationMs }) {
      print({
        status: String(status ?? "---"),
        level: status !== null && status >= 200 && status < 300 ? "good" : "bad",
        subject: `${event ?? "no event"} → ${withoutSecrets(forwardTo.href)}`,
        parts: [
          `in ${durationText(durationMs)}`,
          error ?? "",
          taskId === null ? "" : `task ${taskId}`,
          `signature valid, ${ageSeconds} s old`,
        ],
      });
    },
    rejected({ status, reason }) {
      print({ status: String(status), level: "bad", subject: "not forwarded:", parts: [reason] });
    },
  };
}

function jsonLog(io: cli.CommandIo): Log {
  const write = createBoundedOutput(io.stdout);
  const print = (value: object) => write(JSON.stringify(value));
  const at = () => new Date().toISOString();
  return {
    forwarded: (delivery) => print({ type: "delivery.forwarded", at: at(), ...delivery }),
    rejected: (request) => print({ type: "request.rejected", at: at(), ...request }),
  };
}
