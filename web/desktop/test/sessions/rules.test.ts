import { expect, test } from "vitest";
import { draftOf, rulesOf } from "../../src/sessions/rules.js";

test("rules that were never set are all off", () => {
  const rules = rulesOf(draftOf(undefined));
  expect(Object.values(rules).filter((v) => v === true)).toEqual([]);
  expect(rules.allowedCommands).toEqual([]);
  expect(rules.allowedMaxRequests).toBe(0);
});

test("what is shown is what is saved, and what the form does not show stays", () => {
  const rules = {
    autoApprovalEnabled: true,
    alwaysAllowExecute: true,
    allowedCommands: ["git status", "ls"],
    deniedCommands: ["git push"],
    allowedMaxRequests: 20,
    allowedMaxCost: 1.5,
    alwaysAllowFollowupQuestions: true,
    followupAutoApproveTimeoutMs: 5000,
  };
  expect(rulesOf(draftOf(rules))).toMatchObject(rules);
});

test("lists have one entry per line, without empty ones and each once", () => {
  const d = { ...draftOf(undefined), allowed: " git status \n\nls\ngit status", requests: "2.9", cost: "x" };
  expect(rulesOf(d)).toMatchObject({ allowedCommands: ["git status", "ls"], allowedMaxRequests: 2, allowedMaxCost: 0 });
});
