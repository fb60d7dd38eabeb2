// Runs the program that is its argument in two workers of node:cluster, and passes SIGTERM on.

import cluster from "node:cluster";

cluster.setupPrimary({ exec: process.argv[2] });
for (let count = 0; count < 2; count++) cluster.fork();
process.on("SIGTERM", () => {
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGTERM");
});
