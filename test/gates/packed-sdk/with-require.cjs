const sdk = require("@workspace-tasks/sdk");

void import("./walk.mjs").then(async ({ walk }) => console.log(await walk(sdk, process.env)));
