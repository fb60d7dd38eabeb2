// Next.js calls this once, at the start of the server.

// #region instrumentation
export async function register() {
  if (process.env["NEXT_RUNTIME"] !== "nodejs") return;
  const { getReceiver } = await import("./receiver");
  await getReceiver().start();
}
// #endregion
