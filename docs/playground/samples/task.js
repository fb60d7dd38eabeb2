// A task runs through its stages as time passes. The mock's time is virtual: it moves when it is told to.
const { taskId } = await mock.control.startTask({ taskType: "TAX_PREP" });
console.log("at first:", (await client.tasks.get(taskId)).status);

await mock.clock.advance("1h");
console.log("an hour later:", (await client.tasks.get(taskId)).status);
