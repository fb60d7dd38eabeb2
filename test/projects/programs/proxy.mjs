// Runs client.mjs behind an HTTP proxy, and prints how many tunnels it has opened.
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";

let tunnels = 0;
const proxy = createServer();
proxy.on("connect", ({ url }, socket) => {
  tunnels += 1;
  const [host, port] = url.split(":");
  const target = connect(Number(port), host, () => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    target.pipe(socket).pipe(target);
  });
});
await once(proxy.listen(0, "127.0.0.1"), "listening");
process.env.HTTPS_PROXY = `http://127.0.0.1:${proxy.address().port}`;
await import("./client.mjs");
console.log(`through the proxy: ${tunnels}`);
process.exit();
