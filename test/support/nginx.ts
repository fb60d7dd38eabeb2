// nginx: that of this machine, or else of the package of the distribution.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { unpackedPackage } from "./debian-packages.ts";
import { freePort } from "./listen.ts";
import { RunningProgram } from "./running-program.ts";

type Found = { readonly program: string } | { readonly missing: string };
let found: Found | undefined;

/** The program, or the reason why this machine has none. Looks, and downloads where necessary, once per process. */
export function findNginx(): Found {
  found ??= find();
  return found;
}

function find(): Found {
  for (const program of ["nginx", "/usr/sbin/nginx"])
    if (spawnSync(program, ["-v"], { timeout: 30_000 }).status === 0) return { program };
  const unpacked = unpackedPackage("nginx");
  if ("missing" in unpacked) return { missing: `nginx is not installed, and ${unpacked.missing}` };
  return { program: path.join(unpacked.folder, "usr/sbin/nginx") };
}

/** A proxy that keeps its connections to `port` open. Resolves when it listens. */
export async function startNginx(
  folder: string,
  port: number,
): Promise<Disposable & { readonly url: string }> {
  const nginx = findNginx();
  if ("missing" in nginx) throw new Error(nginx.missing);
  const own = await freePort();
  const directory = path.join(folder, "nginx");
  mkdirSync(directory);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const configuration = `
daemon off; pid ${directory}/pid; error_log ${directory}/error.log; worker_processes 1;
${process.getuid?.() === 0 ? "user root;" : ""}
events { worker_connections 512; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join(" ")}
  upstream receiver { server 127.0.0.1:${port}; keepalive 16; }
  server {
    listen 127.0.0.1:${own};
    location / { proxy_pass http://receiver; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}`;
  writeFileSync(path.join(directory, "nginx.conf"), configuration);
  const args = ["-p", directory, "-c", path.join(directory, "nginx.conf"), "-e", "stderr"];
  const program = new RunningProgram(args, { command: nginx.program });
  void program.ended().then(({ output }) => output && console.error(output));
  while (!(await listens(own))) await new Promise((resolve) => setTimeout(resolve, 20));
  return { url: `http://127.0.0.1:${own}/webhooks`, [Symbol.dispose]: () => program[Symbol.dispose]() };
}

const listens = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (does: boolean) => {
      socket.destroy();
      resolve(does);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
