// A real hub in its own folder, with the demo provider unless its flags name another. It can be killed and started
// again with its data.

import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { Program } from "./process.js";
import { Redis } from "./redis.js";
import { Rest } from "./rest.js";

export interface HubOptions {
  /** Whether the rate limits for users apply; tests are faster than users and would exceed them. */
  limited?: boolean;
  /** Whether the store is Redis instead of files: a new one, or that of another hub. */
  redis?: boolean | Redis;
  flags?: readonly string[];
  /** Whether the hub is started again when it is killed from inside. */
  supervised?: boolean;
}

export class Hub {
  /** The address, without a path. */
  readonly url: string;
  /** The address of HTML windows and apps. */
  readonly appsUrl: string;
  /** The Redis of the store; undefined for files. */
  readonly redis: Redis | undefined;
  private readonly folder: string;
  private readonly command: "serve" | "supervise";
  private readonly flags: readonly string[];
  private readonly ownsRedis: boolean;
  private program: Program | undefined;
  private entryURL = "";

  private constructor(folder: string, ports: readonly number[], command: "serve" | "supervise", flags: readonly string[], redis: Redis | undefined, ownsRedis: boolean) {
    this.folder = folder;
    this.url = `http://127.0.0.1:${ports[0]}`;
    this.appsUrl = `http://127.0.0.1:${ports[1]}`;
    this.redis = redis;
    this.command = command;
    this.flags = flags;
    this.ownsRedis = ownsRedis;
  }

  static async start(options: HubOptions = {}): Promise<Hub> {
    const folder = await mkdtemp(join(tmpdir(), "everdesk-e2e-hub-"));
    const [main, apps, store] = (await freePorts(3)) as [number, number, number];
    const own = options.redis === true ? new Redis(folder, store) : undefined;
    await own?.up();
    const redis = options.redis instanceof Redis ? options.redis : own;
    const where = redis?.url ?? `file:${join(folder, "data")}`;
    const flags = ["--addr", `127.0.0.1:${main}`, "--apps-addr", `127.0.0.1:${apps}`, "--store", where];
    if (options.flags?.includes("--provider") !== true) flags.push("--provider", "demo");
    if (options.limited !== true) flags.push("--rate-limits", "off");
    flags.push(...(options.flags ?? []));
    const hub = new Hub(folder, [main, apps], options.supervised === true ? "supervise" : "serve", flags, redis, own !== undefined);
    try {
      await hub.up();
    } catch (e) {
      await hub.stop();
      throw e;
    }
    return hub;
  }

  /** The address with the login token that the hub prints. */
  get entry(): string {
    return this.entryURL;
  }

  get rest(): Rest {
    return new Rest(this.url, new URL(this.entryURL).searchParams.get("token") ?? "");
  }

  /** Starts the hub, again with its data if it ran before. */
  async up(): Promise<void> {
    this.program = new Program(inject("hubBinary"), [this.command, ...this.flags], this.folder);
    this.entryURL = (await this.program.waitForOutput(/Everdesk is running: (\S+)/))[1]!;
  }

  /** Kills the process, as a power cut does. */
  async kill(): Promise<void> {
    await this.program?.end("SIGKILL");
    this.program = undefined;
  }

  async stop(): Promise<void> {
    await this.program?.end("SIGTERM");
    if (this.ownsRedis) await this.redis?.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Unused ports. They are found together, so that they differ. */
async function freePorts(n: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: n }, async () => {
      const server = createServer();
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
      return server;
    }),
  );
  const ports = servers.map((s) => (s.address() as { port: number }).port);
  await Promise.all(servers.map((s) => new Promise((done) => s.close(done))));
  return ports;
}
