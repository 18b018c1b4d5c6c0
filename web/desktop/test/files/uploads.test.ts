import { expect, it } from "vitest";
import type { FileEntry, UploadState } from "../../src/files/api.js";
import { type Upload, Uploads, type UploadsOptions } from "../../src/files/uploads.js";
import { ApiError } from "../../src/shell/api.js";

/** What happens to a request: its answer is lost, it is lost itself, it is refused, or it has another answer. */
type Fault = "answer" | "request" | ApiError | (() => unknown);

/** Files and uploads of a hub, with faults for the next requests of each kind. */
class FakeHub {
  readonly files = new Map<string, number>();
  readonly uploads = new Map<string, { path: string; size: number; offset: number; key: string }>();
  readonly faults: Partial<Record<"write" | "startUpload" | "uploadState" | "sendPiece", Fault[]>> = {};
  readonly begun: string[] = [];
  /** Called before a piece is stored. */
  onPiece: (id: string, signal: AbortSignal) => void | Promise<void> = () => undefined;

  readonly api: UploadsOptions["api"] = {
    list: async () => [...this.files.keys()].map((path) => this.entry(path)),
    write: (path, body) => this.request("write", () => this.store(path, (body as Blob).size)),
    startUpload: (path, size, key) =>
      this.request("startUpload", () => {
        for (const [id, u] of this.uploads) if (u.key === key && u.path === path && u.size === size) return this.state(id);
        const id = `u${this.begun.push(path)}`;
        this.uploads.set(id, { path, size, offset: 0, key });
        return this.state(id);
      }),
    uploadState: (id) => this.request("uploadState", () => this.state(id)),
    sendPiece: async (id, offset, piece, signal) => {
      await this.onPiece(id, signal);
      return this.request("sendPiece", () => {
        const { path, size } = this.state(id);
        const u = this.uploads.get(id)!;
        if (offset !== u.offset) return this.state(id);
        u.offset += piece.size;
        if (u.offset < size) return this.state(id);
        const file = this.store(path, size);
        this.uploads.delete(id);
        return { id, path, size, offset: size, file };
      });
    },
    cancelUpload: async (id) => this.uploads.delete(id),
  };

  private entry(path: string): FileEntry {
    return { path, isDirectory: false, size: this.files.get(path)!, modifiedAt: "" };
  }

  private store(path: string, size: number): FileEntry {
    if (this.files.has(path)) throw new ApiError(412, 0, "another file has this name");
    this.files.set(path, size);
    return this.entry(path);
  }

  private state(id: string): UploadState {
    const u = this.uploads.get(id);
    if (u === undefined) throw new ApiError(404, 0, "no such upload");
    return { id, ...u };
  }

  private async request<T>(kind: keyof FakeHub["faults"], work: () => T): Promise<T> {
    const fault = this.faults[kind]?.shift();
    if (fault instanceof ApiError) throw fault;
    if (typeof fault === "function") return fault() as T;
    if (fault === "request") throw new TypeError("Failed to fetch");
    const result = work();
    if (fault === "answer") throw new TypeError("Failed to fetch");
    return result;
  }
}

function uploadsTo(hub: FakeHub, keys = new Map<string, string>()): { uploads: Uploads; keys: Map<string, string>; only: () => Upload } {
  const memory = { getItem: (k: string) => keys.get(k) ?? null, setItem: (k: string, v: string) => void keys.set(k, v), removeItem: (k: string) => void keys.delete(k) };
  const uploads = new Uploads({ api: hub.api, memory, session: "ses-1", sleep: () => Promise.resolve() });
  return { uploads, keys, only: () => uploads.store.getState().uploads[0]! };
}

const small = (name = "a.txt"): File => new File(["hello"], name, { lastModified: 1 });
const largeBytes = 2_500_000; // three pieces
const large = (name = "a.bin"): File => new File([new Uint8Array(largeBytes)], name, { lastModified: 1 });

it("a file in pieces is stored once, and nothing of its upload is left", async () => {
  const hub = new FakeHub();
  const { uploads, keys, only } = uploadsTo(hub);
  expect((await uploads.add([large()], "x")).map((f) => f.path)).toEqual(["x/a.bin"]);
  expect(only()).toMatchObject({ state: "done", sent: largeBytes });
  expect([hub.uploads.size, keys.size]).toEqual([0, 0]);
});

it("the begin of an upload whose answer was lost is repeated and reserves no second space", async () => {
  const hub = new FakeHub();
  hub.faults.startUpload = ["answer", "request", "answer"];
  const { uploads, keys, only } = uploadsTo(hub);
  expect((await uploads.add([large()], "")).map((f) => f.path)).toEqual(["a.bin"]);
  expect(only().state).toBe("done");
  expect([hub.begun.length, hub.uploads.size, keys.size]).toEqual([1, 0, 0]);
});

it("a dropped folder is refused at once, and the files beside it arrive", async () => {
  const hub = new FakeHub();
  const { uploads, only } = uploadsTo(hub);
  const folder = small("folder");
  const refuse = (): Promise<never> => Promise.reject(new DOMException("A requested file could not be found", "NotFoundError"));
  Object.assign(folder, { slice: () => ({ arrayBuffer: refuse }) });
  hub.faults.write = Array.from({ length: 1 }, () => "request" as const); // as fetch does with such a body
  expect((await uploads.add([folder, small()], "")).map((f) => f.path)).toEqual(["a.txt"]);
  expect(only()).toMatchObject({ name: "folder", state: "failed", problem: "unreadable" });
});

it("an upload that is cancelled is cancelled on the hub", async () => {
  const hub = new FakeHub();
  const { uploads, keys, only } = uploadsTo(hub);
  let pieces = 0;
  hub.onPiece = (_, signal) => {
    if (++pieces < 2) return;
    uploads.cancel(only().id);
    signal.throwIfAborted(); // as fetch does
  };
  expect(await uploads.add([large()], "")).toEqual([]);
  expect([hub.uploads.size, keys.size, hub.files.size]).toEqual([0, 0, 0]);
});

it("an upload that is cancelled while the hub cannot be reached is cancelled on the hub", async () => {
  const hub = new FakeHub();
  const { uploads, keys, only } = uploadsTo(hub);
  hub.faults.sendPiece = ["request"];
  hub.faults.uploadState = ["request"];
  const stop = uploads.store.subscribe(() => {
    if (only()?.state === "offline") uploads.cancel(only().id);
  });
  expect(await uploads.add([large()], "")).toEqual([]);
  stop();
  expect([hub.uploads.size, keys.size, hub.files.size]).toEqual([0, 0, 0]);
});

it("a small file whose answer was lost is stored", async () => {
  const hub = new FakeHub();
  hub.faults.write = ["answer"];
  const { uploads, only } = uploadsTo(hub);
  expect((await uploads.add([small()], "")).map((f) => [f.path, f.size])).toEqual([["a.txt", 5]]);
  expect(only()).toMatchObject({ state: "done", problem: "" });
});

it("a small file is refused if the path has another file", async () => {
  const hub = new FakeHub();
  hub.faults.write = ["request"];
  const { uploads, only } = uploadsTo(hub);
  const stop = uploads.store.subscribe(() => hub.files.set("a.txt", 99)); // another user is faster
  expect(await uploads.add([small()], "")).toEqual([]);
  stop();
  expect(only()).toMatchObject({ state: "failed", problem: "another file has this name" });
});

it("the answer to a small file is not replaced by a file that was there before", async () => {
  const hub = new FakeHub();
  hub.faults.write = [new ApiError(412, 0, "another file has this name")];
  const { uploads, only } = uploadsTo(hub);
  const stop = uploads.store.subscribe(() => hub.files.set("a.txt", 5));
  expect(await uploads.add([small()], "")).toEqual([]);
  stop();
  expect(only().state).toBe("failed");
});

it("a file in pieces whose last answer was lost is stored", async () => {
  const hub = new FakeHub();
  const { uploads, keys, only } = uploadsTo(hub);
  let pieces = 0;
  hub.onPiece = () => {
    if (++pieces === 3) hub.faults.sendPiece = ["answer"];
  };
  expect((await uploads.add([large()], "")).map((f) => f.size)).toEqual([largeBytes]);
  expect(only().state).toBe("done");
  expect([hub.uploads.size, keys.size]).toEqual([0, 0]);
});

it("a file in pieces that a killed hub has stored is accepted, and its upload cancelled", async () => {
  const hub = new FakeHub();
  const { uploads, keys, only } = uploadsTo(hub);
  let pieces = 0;
  hub.onPiece = (id) => {
    if (++pieces !== 3) return;
    // The file is stored, and the upload not removed yet.
    hub.files.set("a.bin", largeBytes);
    hub.uploads.get(id)!.offset = largeBytes;
    hub.faults.sendPiece = ["request"];
  };
  expect((await uploads.add([large()], "")).map((f) => f.path)).toEqual(["a.bin"]);
  expect(only().state).toBe("done");
  expect([hub.uploads.size, keys.size]).toEqual([0, 0]);
});

it("a file in pieces that the hub goes on storing after its answer was lost is stored", async () => {
  const hub = new FakeHub();
  const { uploads, keys, only } = uploadsTo(hub);
  let pieces = 0;
  hub.onPiece = (id) => {
    const conflict = (): UploadState => {
      const u = hub.uploads.get(id)!;
      hub.files.set(u.path, u.size);
      hub.uploads.delete(id);
      return { id, ...u };
    };
    if (++pieces === 3) hub.faults.sendPiece = ["request", conflict];
  };
  expect((await uploads.add([large()], "")).map((f) => f.path)).toEqual(["a.bin"]);
  expect(only().state).toBe("done");
  expect([hub.uploads.size, keys.size]).toEqual([0, 0]);
});

it("a last piece that is refused ends the upload; the same file can be added again", async () => {
  const hub = new FakeHub();
  const { uploads, keys, only } = uploadsTo(hub);
  let pieces = 0;
  hub.onPiece = () => {
    if (++pieces === 3) hub.files.set("a.bin", 7); // another user creates the path
  };
  expect(await uploads.add([large()], "")).toEqual([]);
  expect(only().state).toBe("failed");
  expect([hub.uploads.size, keys.size]).toEqual([0, 0]);
  expect((await uploads.add([large()], "")).map((f) => f.path)).toEqual(["a (2).bin"]);
});

it("an upload of before a reload is continued for the same path only", async () => {
  const hub = new FakeHub();
  const before = uploadsTo(hub);
  await new Promise<void>((closed) => {
    hub.onPiece = (id) => {
      if (hub.uploads.get(id)!.offset === 0) return;
      closed();
      return new Promise(() => undefined); // the page is closed
    };
    void before.uploads.add([large()], "");
  });
  hub.onPiece = () => undefined;
  const { uploads, keys } = uploadsTo(hub, before.keys);
  expect((await uploads.add([large()], "x")).map((f) => f.path)).toEqual(["x/a.bin"]);
  expect((await uploads.add([large()], "")).map((f) => f.path)).toEqual(["a.bin"]);
  expect(hub.begun).toEqual(["a.bin", "x/a.bin"]);
  expect([hub.uploads.size, keys.size]).toEqual([0, 0]);
});

it("an upload that ended with the sign-in is continued", async () => {
  const hub = new FakeHub();
  const { uploads, keys, only } = uploadsTo(hub);
  hub.faults.sendPiece = [new ApiError(401, 0, "sign in")];
  expect(await uploads.add([large()], "")).toEqual([]);
  expect(only()).toMatchObject({ state: "failed", problem: "sign in" });
  expect((await uploads.add([large()], "")).map((f) => f.path)).toEqual(["a.bin"]);
  expect([hub.begun.length, hub.uploads.size, keys.size]).toEqual([1, 0, 0]);
});

it("the same file added twice at once has two uploads", async () => {
  const hub = new FakeHub();
  const { uploads, keys } = uploadsTo(hub);
  const stored = await Promise.all([uploads.add([large(), large()], ""), uploads.add([large()], "")]);
  expect(stored.flat().map((f) => f.path).sort()).toEqual(["a (2).bin", "a (3).bin", "a.bin"]);
  expect([hub.begun.length, hub.uploads.size, keys.size]).toEqual([3, 0, 0]);
});

it.each(["write", "startUpload", "sendPiece"] as const)("a full disk is final: %s", async (kind) => {
  const hub = new FakeHub();
  hub.faults[kind] = [new ApiError(507, 0, "the disk is full")];
  const { uploads, keys, only } = uploadsTo(hub);
  expect(await uploads.add([kind === "write" ? small() : large()], "")).toEqual([]);
  expect(only()).toMatchObject({ state: "failed", problem: "the disk is full" });
  expect([hub.uploads.size, keys.size]).toEqual([0, 0]);
});

it.each([429, 500, 503])("a hub that answers %i is asked again", async (status) => {
  const hub = new FakeHub();
  hub.faults.write = [new ApiError(status, 0, "later")];
  hub.faults.startUpload = [new ApiError(status, 0, "later")];
  hub.faults.sendPiece = [new ApiError(status, 0, "later")];
  const { uploads } = uploadsTo(hub);
  expect((await uploads.add([small(), large()], "")).map((f) => f.path)).toEqual(["a.txt", "a.bin"]);
});
