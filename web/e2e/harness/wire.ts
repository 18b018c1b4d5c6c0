// A wire between a browser and a hub that can be cut, as networks are.

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class Wire {
  readonly url: string;
  private readonly server: Server;
  private readonly open: Set<Socket>;
  private whole = true;

  private constructor(server: Server, open: Set<Socket>) {
    this.server = server;
    this.open = open;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async to(hub: string): Promise<Wire> {
    const open = new Set<Socket>();
    const server = createServer((near) => {
      if (!wire.whole) return void near.destroy();
      const far = connect(Number(new URL(hub).port), "127.0.0.1");
      for (const [a, b] of [
        [near, far],
        [far, near],
      ] as const) {
        open.add(a);
        a.on("error", () => undefined); // the other end is told by close
        a.on("close", () => {
          open.delete(a);
          b.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const wire = new Wire(server, open);
    return wire;
  }

  /** Ends all connections and takes no new ones. */
  cut(): void {
    this.whole = false;
    for (const s of this.open) s.destroy();
  }

  mend(): void {
    this.whole = true;
  }

  close(): void {
    this.cut();
    this.server.close();
  }
}
