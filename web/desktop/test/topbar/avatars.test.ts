import { expect, test } from "vitest";
import { avatarsOf, initialsOf, tintOf, tints, userAvatars } from "../../src/topbar/avatars.js";

test.each([
  ["", "?"],
  ["local", "L"],
  ["ada lovelace", "AL"],
  ["grace.hopper@example.org", "GH"],
  ["김민수", "김"],
  ["김 민수", "김"],
  ["Ünal", "Ü"],
  ["user:ann-b", "UB"],
  ["--", "?"],
])("the initials of %j are %j", (name, initials) => {
  expect(initialsOf(name)).toBe(initials);
});

test("a user always has the same colour", () => {
  for (const name of ["a", "b", "김민수", "grace", ""]) {
    expect(tintOf(name)).toBe(tintOf(name));
    expect(tintOf(name)).toBeLessThan(tints);
  }
  expect(new Set(Array.from({ length: 50 }, (_, i) => tintOf(`user-${i}`))).size).toBe(tints);
});

test("this tab comes first, then the longest connected", () => {
  const presence = [
    { connectionId: "c1", clientId: "t1", user: "ann", since: 3 },
    { connectionId: "c2", clientId: "t2", user: "bob", since: 1 },
    { connectionId: "c3", clientId: "t3", user: "ann", since: 2 },
  ];
  const { faces, more } = avatarsOf(presence, 3, "t1", 2);
  expect(faces.map((f) => [f.id, f.own])).toEqual([["c1", true], ["c2", false]]);
  expect(more).toBe(1);
  const all = avatarsOf(presence, 3, "t1", 9).faces;
  expect(all[0]!.tint).toBe(all[2]!.tint);
});

test("a user with many tabs has one avatar", () => {
  const presence = [
    { connectionId: "c1", clientId: "t1", user: "ann", since: 3 },
    { connectionId: "c2", clientId: "t2", user: "bob", since: 1 },
    { connectionId: "c3", clientId: "t3", user: "ann", since: 2 },
    { connectionId: "c4", clientId: "t4", since: 4 },
    { connectionId: "c5", clientId: "t5", since: 5 },
  ];
  const { faces, more } = userAvatars(presence, 6, "t1", 3);
  expect(faces.map((f) => [f.user, f.tabs, f.own])).toEqual([["ann", 2, true], ["bob", 1, false], ["", 1, false]]);
  expect(more).toBe(2);
});

test("connections that the hub does not list are counted", () => {
  expect(avatarsOf([{ connectionId: "c1" }], 120, "", 3).more).toBe(119);
  expect(avatarsOf([{ connectionId: "c1" }], 0, "", 3).more).toBe(0);
});
