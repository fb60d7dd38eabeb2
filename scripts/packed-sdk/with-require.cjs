const sdk = require("workspace-tasks/sdk");

void import("./walk.mjs").then(({ walk }) => walk(sdk));
