import { expect, it } from "vitest";
import { canSave, isChanged, isTooLong, modeDraft, modeOf, withCurrent } from "../../src/modes/drafts.js";
import { ModeForm } from "../../src/modes/form.js";
import { ModeRow } from "../../src/modes/row.js";
import { SessionInstructions } from "../../src/modes/session-instructions.js";
import { Api, ApiError, isConflict, type Mode } from "../../src/shell/api.js";
import { modes as texts } from "../../src/texts/modes.js";
import { all, ask, own, type PageState, page } from "./page.js";

const t = texts.en;

it("a form that was not changed is the mode that it shows, with rules that it does not show", () => {
  const { id: _, ...stored } = { ...own, model: "m", approval: { autoApprovalEnabled: true, followupAutoApproveTimeoutMs: 5000 } };
  expect(modeOf(modeDraft({ id: "review", ...stored }))).toMatchObject(stored);
  expect(modeOf(modeDraft(own)), "without own rules").not.toHaveProperty("approval");
});

it("rules that are switched off are not stored, and come back when they are switched on", () => {
  const draft = modeDraft({ ...own, approval: { alwaysAllowExecute: true } });
  const off = { ...draft, ownRules: false };
  expect(modeOf(off)).not.toHaveProperty("approval");
  expect(modeOf({ ...off, ownRules: true }).approval?.alwaysAllowExecute).toBe(true);
  expect(modeOf({ ...modeDraft(undefined), ownRules: true }).approval?.autoApprovalEnabled, "new rules allow nothing").toBe(false);
});

it.each<[string, Partial<Mode>, boolean]>([
  ["a name", {}, true],
  ["no name", { name: "  " }, false],
  ["64 characters outside the basic plane", { name: "😀".repeat(64) }, true],
  ["65 characters", { name: "x".repeat(65) }, false],
  ["16 KiB", { instructions: "x".repeat(16_384) }, true],
  ["16 KiB of Korean characters", { instructions: "가".repeat(16_384) }, false],
])("a mode with %s can be saved: %#", (_, part, want) => {
  expect(canSave(modeDraft({ ...own, ...part }))).toBe(want);
});

it("the length of instructions is counted in bytes", () => {
  expect([isTooLong("가".repeat(5461)), isTooLong("가".repeat(5462))]).toEqual([false, true]);
});

it("a mode that was changed or deleted in another tab is detected", () => {
  expect(isChanged(own, { ...own })).toBe(false);
  expect(isChanged(own, { ...own, instructions: "Other." })).toBe(true);
  expect(isChanged(own, undefined)).toBe(true);
  expect(isChanged(undefined, own), "a new mode").toBe(false);
});

it("an unknown value stays a choice", () => {
  expect(withCurrent(["all", "read"], "read")).toEqual(["all", "read"]);
  expect(withCurrent(["all", "read"], "later")).toEqual(["all", "read", "later"]);
});

it("a change is sent with the version that the page shows, and only a conflict counts as one", async () => {
  const requests: unknown[] = [];
  const api = new Api(async (path, init) => {
    requests.push([init?.method, path, init?.body === undefined ? undefined : JSON.parse(String(init.body))]);
    return Response.json({ modes: [], version: 8, conflict: "changed" }, { status: 409 });
  });
  const refused = await api.putMode("a/b", { ...modeOf(modeDraft(own)), version: 7 }).catch((e: unknown) => e);
  await expect(api.deleteMode("review", 7)).rejects.toThrow(ApiError);
  expect(requests).toMatchObject([
    ["PUT", "/api/modes/a%2Fb", { name: "Review", toolProfile: "show", version: 7 }],
    ["DELETE", "/api/modes/review?version=7", undefined],
  ]);
  expect([isConflict(refused), isConflict(new ApiError(409, 4009, "")), isConflict(new ApiError(400, 0, "")), isConflict(new Error("x"))]).toEqual([true, false, false, false]);
});

it.each<[string, Mode, PageState, string[], string[]]>([
  ["of the hub cannot be deleted", ask, {}, [t.shipped, t.useOf("Ask"), t.editOf("Ask")], [t.removeOf("Ask"), t.revertOf("Ask")]],
  ["of the hub that the user changed can be reverted", { ...ask, overridden: true }, {}, [t.overridden, t.revertOf("Ask")], [t.removeOf("Ask")]],
  ["of the user can be deleted", own, {}, [t.removeOf("Review"), "Look for faults."], [t.shipped, t.revertOf("Review")]],
  ["cannot be used in the session of another user", own, { more: { ownSession: false } }, [t.editOf("Review")], [t.useOf("Review")]],
])("a mode %s", (_, mode, state, has, hasNot) => {
  const html = page(state).html(
    <ul>
      <ModeRow mode={mode} version={1} focused={false} onEdit={() => undefined} />
    </ul>,
  );
  for (const text of has) expect(html).toContain(text);
  for (const text of hasNot) expect(html).not.toContain(text);
});

it("the form keeps a model and a tool profile that the page does not know", () => {
  const html = page({}).html(<ModeForm mode={{ ...own, model: "gone", toolProfile: "later" }} modes={{ modes: all, version: 1 }} onLeave={() => undefined} />);
  expect(html).toContain(`<option value="gone" selected="">${t.modelMissing("gone")}</option>`);
  expect(html).toContain('<option value="later" selected="">later</option>');
});

it("the owner of the session has a field for its instructions, another user reads them", () => {
  const withText = (state: PageState): string => {
    const { store, html } = page(state);
    const { desktop } = store.getInitialState();
    return page({ ...state, more: { ...state.more, desktop: { ...desktop, instructions: "Answer in verse." } } }).html(<SessionInstructions />) + html(<SessionInstructions />);
  };
  expect(withText({})).toMatch(/<textarea[^>]*name="sessionInstructions"[^>]*>Answer in verse\.<\/textarea>/);
  const other = withText({ more: { ownSession: false } });
  expect(other).toContain("Answer in verse.");
  expect(other).toContain(t.sessionNone);
  expect(other).not.toContain("<textarea");
});
