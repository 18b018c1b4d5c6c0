import { expect, test } from "vitest";
import { portOf } from "../../src/sessions/join.js";

test.each([
  ["http://127.0.0.1:8123/", "8123"],
  ["http://hub.example/", "80"],
  ["https://hub.example/", "443"],
])("the hub at %s has the port %s", (address, port) => {
  expect(portOf(new URL(address) as unknown as Location)).toBe(port);
});
