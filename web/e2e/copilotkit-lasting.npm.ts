// The requests of the example page with CopilotKit's chat that are repeated (web/examples/copilotkit/lasting.ts). `make
// test-agui` copies the page beside the packages that it imports.

import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

interface Stream {
  subscribe(client: { next(event: object): void; error(reason: unknown): void; complete(): void }): { unsubscribe(): void };
}
type Lasting = (open: () => Stream, signal: AbortSignal, follows?: boolean) => Stream;
const { lasting } = (await import(/* @vite-ignore */ join(process.env.COPILOTKIT_PAGE ?? "", "../source/lasting.ts"))) as { lasting: Lasting };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A stream whose requests have the given ends one after the other, the last one again and again. */
class Requests {
  count = 0;
  readonly events: string[] = [];
  failure: unknown;
  completed = false;
  private readonly ends: { events?: string[]; failure?: unknown }[];

  constructor(ends: { events?: string[]; failure?: unknown }[], follows = false) {
    this.ends = ends;
    lasting(() => ({ subscribe: (client) => this.answer(client) }), new AbortController().signal, follows).subscribe({
      next: (event) => this.events.push((event as { type: string }).type),
      error: (reason) => void (this.failure = reason),
      complete: () => void (this.completed = true),
    });
  }

  private answer(client: { next(event: object): void; error(reason: unknown): void; complete(): void }): { unsubscribe(): void } {
    const end = this.ends[Math.min(this.count++, this.ends.length - 1)];
    for (const type of end?.events ?? []) client.next({ type, messageId: "m1" });
    queueMicrotask(() => (end?.failure ? client.error(end.failure) : client.complete()));
    return { unsubscribe() {} };
  }
}

const refused = (status: number) => Object.assign(new Error(`HTTP ${status}`), { status });

it.each([400, 401, 403, 404, 413])("a request that is refused with %i is not repeated", async (status) => {
  const requests = new Requests([{ failure: refused(status) }]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests.count).toBe(1);
  expect(requests.failure).toMatchObject({ status });
});

it.each([401, 404])("a stream that follows ends when it is refused with %i after a lost connection", async (status) => {
  const requests = new Requests([{ events: ["RUN_STARTED", "RUN_FINISHED"] }, { failure: refused(status) }], true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests.count).toBe(2);
  expect(requests.failure).toMatchObject({ status });
});

it.each([new Error("network error"), refused(408), refused(429), refused(503)])("%s: the request is repeated for 30 seconds before its run has begun", async (failure) => {
  const requests = new Requests([{ failure }]);
  await vi.advanceTimersByTimeAsync(29_000);
  expect([requests.failure, requests.count > 5]).toEqual([undefined, true]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(requests.failure).toBe(failure);
});

it("a run that begins late has all its events", async () => {
  const requests = new Requests([{ failure: refused(503) }, { failure: refused(503) }, { events: ["RUN_STARTED", "TEXT_MESSAGE_START"] }, { events: ["RUN_STARTED", "RUN_FINISHED"] }]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(requests.events).toEqual(["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
  expect(requests.completed).toBe(true);
});

it("a run that has begun is resumed after any time", async () => {
  const requests = new Requests([{ events: ["RUN_STARTED"] }, ...Array.from({ length: 40 }, () => ({ failure: new Error("network error") })), { events: ["RUN_STARTED", "RUN_FINISHED"] }]);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(requests.events).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
});
