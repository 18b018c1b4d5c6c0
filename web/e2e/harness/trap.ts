// An address that must never be contacted: it records every connection and packet, over TCP or UDP.

import { createSocket } from "node:dgram";
import { type AddressInfo, createServer } from "node:net";

export interface Trap {
  readonly url: string;
  readonly port: number;
  readonly caught: readonly string[];
  close: () => void;
}

export async function startTrap(): Promise<Trap> {
  const caught: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined); // the connection is recorded already
    socket.once("data", (first) => caught.push(first.toString().split("\r\n")[0]!));
    socket.once("close", () => caught.push("a connection"));
    socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\naccess-control-allow-origin: *\r\n\r\n");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const packets = createSocket("udp4");
  packets.on("message", () => caught.push("a packet"));
  await new Promise<void>((done) => packets.bind(port, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    caught,
    close: () => {
      server.close();
      packets.close();
    },
  };
}
