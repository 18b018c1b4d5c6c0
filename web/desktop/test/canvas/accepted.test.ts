import { expect, test } from "vitest";
import { createStore } from "zustand/vanilla";
import type { MessageID } from "../../../core/src/index.js";
import { afterAcceptance } from "../../src/canvas/accepted.js";
import type { Shell, ShellStore } from "../../src/shell/shell.js";

const id = "m1" as MessageID;

function storeWith(status: string): ShellStore {
  return createStore(() => outboxWith(status)) as unknown as ShellStore;
}

function outboxWith(status: string): Shell {
  return { outbox: { items: [{ id, status }] } } as unknown as Shell;
}

test.each([
  { end: "done", want: 1 },
  { end: "rejected", want: 0 },
])("what follows a message that is $end runs $want times", ({ end, want }) => {
  const store = storeWith("sending");
  let runs = 0;
  afterAcceptance(store, id, () => runs++);
  expect(runs, "before the answer").toBe(0);
  store.setState(outboxWith(end));
  store.setState(outboxWith("done"));
  expect(runs, "after the answer").toBe(want);
});

test("a message that the page does not show yet has not ended", () => {
  const store = createStore(() => ({ outbox: { items: [] } })) as unknown as ShellStore;
  let runs = 0;
  afterAcceptance(store, id, () => {
    runs++;
    store.setState({}); // as a notice does
  });
  store.setState(outboxWith("sending"));
  expect(runs, "before the answer").toBe(0);
  store.setState(outboxWith("done"));
  expect(runs, "after the answer").toBe(1);
});

test("what follows an accepted message runs at once", () => {
  let runs = 0;
  afterAcceptance(storeWith("done"), id, () => runs++);
  expect(runs).toBe(1);
});
