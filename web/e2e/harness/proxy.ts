// A TCP proxy between a browser and a hub that can be disconnected.

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class TcpProxy {
  readonly url: string;
  private readonly server: Server;
  private readonly open: Set<Socket>;
  private connected = true;
  private target: string;

  private constructor(server: Server, open: Set<Socket>, target: string) {
    this.server = server;
    this.target = target;
    this.open = open;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async to(hub: string): Promise<TcpProxy> {
    const open = new Set<Socket>();
    const server = createServer((near) => {
      if (!wire.connected) return void near.destroy();
      const far = connect(Number(new URL(wire.target).port), "127.0.0.1");
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
    const wire = new TcpProxy(server, open, hub);
    return wire;
  }

  /** Closes all connections and refuses new ones. */
  disconnect(): void {
    this.connected = false;
    for (const s of this.open) s.destroy();
  }

  /** Connects clients to another hub from now on. */
  retarget(hub: string): void {
    this.target = hub;
  }

  reconnect(): void {
    this.connected = true;
  }

  close(): void {
    this.disconnect();
    this.server.close();
  }
}
