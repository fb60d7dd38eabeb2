import Knex from "knex";
import { receiver } from "./receiver.ts";

const knex = Knex.knex({ client: "pg" }); // without a connection: it has no pool

receiver.onState("task", async ({ taskId, status }, { transaction }) => {
  const connection = await transaction.client();
  await knex.transaction(
    async (tx) => {
      await tx("task_changes").insert({ task_id: taskId, status });
    },
    { connection },
  );
});
