import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { painter, usesColor } from "@workspace-tasks/kernel/layout.ts";
import { reasonOf } from "@workspace-tasks/mock-server/parts";
import {
  fileSecrets,
  isWorkspaceTasksError,
  readSigningSecrets,
  type WebhookEndpoint,
} from "@workspace-tasks/sdk";
import {
  checkSecretFile,
  requireAgreement,
  type Service,
  serviceFlags,
  withService,
  writeSecretFile,
} from "./service.ts";

const commonFlags = { ...serviceFlags, json: cli.toggle("print JSON instead of text") };
const yes = cli.toggle("do not ask");
const store = cli.text("<file>", "keeps the signing secrets; a receiver reads it with fileSecrets");
const showSecret = cli.toggle("print the signing secret");
const notes = "Exit code: 0 done, 1 not done, with the reason, 2 wrong arguments.";
const synopsis = "<endpoint> [options]";
const parameters = [["<endpoint>", "its id, or its whole URL"]] as const;

const listEndpoints = cli.defineCommand({
  name: "endpoints list",
  synopsis: "[options]",
  about: "Lists the webhook endpoints of the workspace.",
  flags: commonFlags,
  notes,
  async run(args, io) {
    cli.noArgument(args);
    const endpoints = await withService(args.flags, io, (service) => allEndpoints(service, io));
    if (args.flags.json) return cli.writeData(io, cli.toJson(endpoints));
    return cli.write(io, endpoints.map((each) => endpointText(each, io)).join("") || "no endpoint\n");
  },
});

const ensure = cli.defineCommand({
  name: "endpoints ensure",
  synopsis: "<url> --store <file> [options]",
  about: `Makes sure that the URL has one enabled endpoint with these events, and that its
signing secret is in the file. Can be repeated.`,
  flags: {
    ...commonFlags,
    store,
    events: cli.list("<names>", "events to deliver, with commas (all, also future ones)"),
    description: cli.flag<string>("<text>", "label of the endpoint", { parse: String, expected: "text" }),
    showSecret,
    yes,
  },
  notes: `Asks before it has a secret issued for an endpoint that is not in the file.\n${notes}`,
  async run(args, io) {
    const url = cli.onlyArgument(args, "one URL");
    const { store: path, events, description, ...flags } = args.flags;
    if (path === undefined) throw new cli.UsageError("expected --store <file>, where the secret is kept");
    const secrets = fileSecrets(path);
    return withService(flags, io, async (service) => {
      const stored = await storedSecrets(path);
      const found = (await allEndpoints(service, io)).find((each) => hrefOf(each.url) === hrefOf(url));
      if (found && stored.length === 0) {
        const question = `${nameOf(found)} exists, and ${path} has no secret of it. Issue another one? The old one verifies for an hour more.`;
        await requireAgreement(question, flags.yes, io);
      }
      const wanted = { url, description, eventTypes: events.length === 0 ? null : events, secrets };
      const ensured = await service.client.webhooks.ensureEndpoint(wanted, { signal: io.stop });
      for (const other of ensured.others)
        cli.writeNotice(io, "endpoints ensure", `${nameOf(other)} has the same URL and other events`);
      const what = ensured.changed ? "ensured" : "unchanged";
      return print({ what, endpoint: ensured.endpoint, signingSecret: ensured.secrets[0] }, flags, io);
    });
  },
});

async function storedSecrets(path: string): Promise<readonly string[]> {
  try {
    return readSigningSecrets(await fileSecrets(path).read());
  } catch (error) {
    const reason = isWorkspaceTasksError(error) ? error.message : reasonOf(error);
    throw new cli.CommandError(`--store: ${path}: ${reason}`);
  }
}

const rotate = cli.defineCommand({
  name: "endpoints rotate",
  synopsis: "<endpoint> --show-secret | --secret-file <file> | --store <file> [options]",
  about: `Has another signing secret issued. The service shows it once, so one of the three
flags says where it goes. With --store the endpoint is that of the file.`,
  parameters,
  flags: {
    ...commonFlags,
    showSecret,
    secretFile: cli.text("<file>", "write the secret there, for its owner alone (mode 600)"),
    store,
    graceSeconds: cli.wholeNumber("how long the old secret verifies too (86400)", { min: 0, max: 604_800 }),
    yes,
  },
  notes,
  async run(args, io) {
    const { store: path, secretFile, graceSeconds: gracePeriodSeconds, ...flags } = args.flags;
    if (path === undefined && secretFile === undefined && !flags.showSecret)
      throw new cli.UsageError("expected --show-secret, --secret-file <file> or --store <file>");
    if (path !== undefined) cli.noArgument(args, "no endpoint beside --store");
    const name = path === undefined ? cli.onlyArgument(args, "one endpoint") : undefined;
    if (secretFile !== undefined) await checkSecretFile(secretFile);
    const call = { signal: io.stop };
    return withService(flags, io, async (service) => {
      const endpoint = name === undefined ? undefined : await endpointOf(name, service, io);
      const grace =
        gracePeriodSeconds === 0 ? "The old one ends at once." : "The old one ends after its time.";
      const subject = endpoint ? nameOf(endpoint) : `the endpoint of ${path}`;
      await requireAgreement(`Issue another secret for ${subject}? ${grace}`, flags.yes, io);
      const { webhooks } = service.client;
      const issued = endpoint
        ? await webhooks.endpoints.rotateSecret(endpoint.id, { gracePeriodSeconds }, call)
        : await webhooks
            .rotateEndpointSecret({ secrets: fileSecrets(String(path)), gracePeriodSeconds }, call)
            .then(({ endpoint: rotated, secrets: [signingSecret = ""] }) => ({
              endpoint: rotated,
              signingSecret,
            }));
      if (secretFile !== undefined) await writeSecretFile(secretFile, issued.signingSecret);
      return print({ what: "another secret was issued", ...issued }, flags, io);
    });
  },
});

const changeCommand = (name: "enable" | "disable", about: string) =>
  cli.defineCommand({
    name: `endpoints ${name}`,
    synopsis,
    about,
    parameters,
    flags: name === "enable" ? commonFlags : { ...commonFlags, yes },
    notes,
    async run(args, io) {
      const argument = cli.onlyArgument(args, "one endpoint");
      return withService(args.flags, io, async (service) => {
        const found = await endpointOf(argument, service, io);
        if ("yes" in args.flags)
          await requireAgreement(`Stop the deliveries to ${nameOf(found)}?`, args.flags.yes === true, io);
        const change = { enabled: name === "enable" };
        const endpoint = await service.client.webhooks.endpoints.update(found.id, change, {
          signal: io.stop,
        });
        return print({ what: `${name}d`, endpoint }, args.flags, io);
      });
    },
  });

const remove = cli.defineCommand({
  name: "endpoints delete",
  synopsis,
  about: "Deletes an endpoint and its pending deliveries.",
  parameters,
  flags: { ...commonFlags, yes },
  notes,
  async run(args, io) {
    const argument = cli.onlyArgument(args, "one endpoint");
    return withService(args.flags, io, async (service) => {
      const endpoint = await endpointOf(argument, service, io);
      await requireAgreement(`Delete ${nameOf(endpoint)} and its pending deliveries?`, args.flags.yes, io);
      await service.client.webhooks.endpoints.delete(endpoint.id, { signal: io.stop });
      return print({ what: "deleted", endpoint }, args.flags, io);
    });
  },
});

/** Runs `workspace-tasks endpoints` and returns its exit code. */
export const runEndpointsCommand: cli.RunCommand = (argv, io) =>
  cli.runCommandGroup(
    {
      name: "endpoints",
      about:
        "Manages webhook endpoints of the real service, or of a mock. Needs a read_write key of an administrator.",
      subcommands: {
        list: { about: "list the endpoints", run: listEndpoints },
        ensure: { about: "create or update an endpoint, and keep its secret", run: ensure },
        rotate: { about: "have another signing secret issued", run: rotate },
        enable: { about: "deliver again", run: changeCommand("enable", "Enables an endpoint.") },
        disable: {
          about: "stop deliveries",
          run: changeCommand("disable", "Stops the deliveries to an endpoint."),
        },
        delete: { about: "delete an endpoint and its pending deliveries", run: remove },
      },
    },
    argv,
    io,
  );

const allEndpoints = ({ client }: Service, io: cli.CommandIo): Promise<readonly WebhookEndpoint[]> =>
  client.webhooks.endpoints.list({ limit: 100 }, { signal: io.stop }).toArray();

/** The endpoint with this id or URL. @throws CommandError without one, and where several have the URL */
async function endpointOf(argument: string, service: Service, io: cli.CommandIo): Promise<WebhookEndpoint> {
  const all = await allEndpoints(service, io);
  const byId = all.find(({ id }) => id === argument);
  if (byId) return byId;
  const [found, ...others] = all.filter(({ url }) => hrefOf(url) === hrefOf(argument));
  if (found && others.length === 0) return found;
  const ids = [found, ...others].map((each) => each?.id).join(", ");
  throw new cli.CommandError(
    found
      ? `several endpoints have the URL ${argument}; pass one of the ids ${ids}`
      : `no endpoint has the id or the URL ${argument}; workspace-tasks endpoints list shows them`,
  );
}

const hrefOf = (url: string) => (URL.canParse(url) ? new URL(url).href : url);
const nameOf = ({ id, url }: WebhookEndpoint) => `endpoint ${id} at ${url}`;

interface Done {
  readonly what: string;
  readonly endpoint: WebhookEndpoint;
  readonly signingSecret?: string | undefined;
}

function print(
  { what, endpoint, signingSecret }: Done,
  flags: { readonly json: boolean; readonly showSecret?: boolean },
  io: cli.CommandIo,
): 0 {
  const shown = flags.showSecret ? { signingSecret } : {};
  if (flags.json) return cli.writeData(io, cli.toJson({ endpoint, ...shown }));
  cli.write(io, `${what}:\n${endpointText(endpoint, io)}`);
  return flags.showSecret ? cli.writeData(io, `${signingSecret}\n`) : 0;
}

/** Several lines, so that URL and id can be copied at any width. */
function endpointText(
  { id, url, enabled, eventTypes, description }: WebhookEndpoint,
  io: cli.CommandIo,
): string {
  const paint = painter(usesColor(io));
  const state = enabled ? paint("enabled", "good") : paint("disabled", "warning");
  const label = description === "" ? "" : `, ${JSON.stringify(description)}`;
  return `${paint(url, "bold")}\n  ${id}\n  ${state}, ${eventTypes?.join(" ") ?? "all events"}${label}\n`;
}
