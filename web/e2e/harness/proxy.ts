// A TCP proxy between a browser and a hub that can be disconnected.

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class TcpProxy {
  readonly url: string;
  private readonly server: Server;
  private readonly open: Set<Socket>;
  private connected = true;

  private constructor(server: Server, open: Set<Socket>) {
    this.server = server;
    this.open = open;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async to(hub: string): Promise<TcpProxy> {
    const open = new Set<Socket>();
    const server = createServer((near) => {
      if (!wire.connected) return void near.destroy();
      const far = connect(Number(new URL(hub).port), "127.0.0.1");
      for (const [a, b] of [
        [near, far],
        [far, near],
      ] as const) {
        open.add(a);
        a.on("error", () => undefined); // the other end is closed by the close event
        a.on("close", () => {
          open.delete(a);
          b.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const wire = new TcpProxy(server, open);
    return wire;
  }

  /** Closes all connections and refuses new ones. */
  disconnect(): void {
    this.connected = false;
    for (const s of this.open) s.destroy();
  }

  reconnect(): void {
    this.connected = true;
  }

  close(): void {
    this.disconnect();
    this.server.close();
  }
}
