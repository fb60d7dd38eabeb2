import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { CommandError, toggle, wholeNumber } from "@workspace-tasks/kernel/cli/command-line.ts";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { visible } from "@workspace-tasks/kernel/visible.ts";
import { createInboxPage } from "../page/inbox-page.ts";
import { inboxCommand } from "./inbox-subcommand.ts";

export const page = inboxCommand({
  name: "page",
  about: "serve a page of the inbox to this computer, until Ctrl+C",
  flags: {
    port: wholeNumber("port on 127.0.0.1; 0 for a free one", { min: 0, max: 65_535, fallback: 4030 }),
    readOnly: toggle("nothing can be replayed or discarded"),
    showBodies: toggle("show the bodies of events, which hold tax data"),
  },
  check: cli.noArgument,
  async use(inbox, { flags: { port, readOnly, showBodies } }, io) {
    const note = (fields: object, message: string) =>
      cli.writeNotice(io, "page", `${message} ${visible(JSON.stringify(fields, textOfError))}`);
    const shown = {
      inbox,
      open: async () => {},
      source: null,
      stats: undefined,
      clock: systemClock,
      logger: { info() {}, warn: note, error: note },
    };
    const server = createServer(createInboxPage(shown, { authorize: "this-computer", readOnly, showBodies }));
    const failed = once(server, "error").then(([error]) => {
      throw new CommandError(`--port: ${error.message}`);
    });
    server.listen(port, "127.0.0.1");
    await Promise.race([once(server, "listening"), failed]);
    cli.write(io, `http://localhost:${(server.address() as AddressInfo).port}/  Ctrl+C stops it\n`);
    if (!io.stop.aborted) await Promise.race([once(io.stop, "abort"), failed]);
    server.close();
    server.closeAllConnections();
    failed.catch(() => {});
    return { text: () => "", value: null };
  },
});

const textOfError = (_name: string, value: unknown) => (isError(value) ? value.message : value);
