import { expect, test } from "vitest";
import { appOf, externalURL, fileKind, hostOf, isAllowedSource, ownFile, pictureSource } from "../../src/content/addresses.js";

const home = "/api/sessions/s-1/files/";

test.each([
  ["/files/a.png", `${home}a.png`],
  ["/files/a/b c.html".replace(" ", "%20"), `${home}a/b%20c.html`],
  ["/api/storage/x/y.html", `${home}x/y.html`],
  [`${home}z.txt`, `${home}z.txt`],
  ["/api/apps/counter/index.html", "/api/sessions/s-1/apps/counter/index.html"],
  ["/api/sandbox/12/dist/index.html", "/api/sessions/s-1/sandboxes/12/dist/index.html"],
  ["/files/%EA%B0%80.png", `${home}%EA%B0%80.png`],
])("%s is a file of the session", (address, path) => {
  expect(ownFile(address, "s-1")).toBe(path);
});

test.each([
  "/api/sessions/s-2/files/a.png",
  "/files/../../logout",
  "/files/%2e%2e/%2e%2e/logout",
  "/files/a/./../../x",
  "/files/..%2f..%2flogout",
  "/files/a\\..\\b",
  "/files/",
  "/files/a?x=1",
  "/files/a#x",
  "/files/a b",
  "//evil.example/files/a",
  "/\\evil.example/files/a",
  "https://evil.example/files/a.png",
  "files/a.png",
  "/api/me",
  "/api/apps",
  "/api/apps/counter/",
  "/api/apps/../me/x",
  "/api/apps/counter/../../me",
  "/api/apps/Counter/index.html",
  "/api/sandbox/x/index.html",
  "/api/sessions/s-1/apps/counter/index.html",
  "javascript:alert(1)",
  "",
])("%s is no file of the session", (address) => {
  expect(ownFile(address, "s-1")).toBeUndefined();
});

test("only inline pictures and files are allowed sources", () => {
  expect(isAllowedSource("data:image/png;base64,AA")).toBe(true);
  expect(isAllowedSource("blob:http://hub/1")).toBe(true);
  expect(isAllowedSource("/files/a.png")).toBe(true);
  for (const src of ["data:image/svg+xml,<svg/>", "data:text/html,x", "https://evil/?d=1", "//evil/x", "http:evil", "/other", " https://evil/"]) {
    expect(isAllowedSource(src), src).toBe(false);
    expect(pictureSource(src, "s-1"), src).toBeUndefined();
  }
  expect(pictureSource("/files/a.png", "s-1")).toBe(`${home}a.png`);
});

test("the app of an address is known", () => {
  expect(appOf("/api/apps/counter/index.html")).toBe("counter");
  for (const other of ["/files/a.html", "/api/apps/counter/", "/api/apps/A/x", "https://x/api/apps/counter/index.html", "/api/sandbox/1/x"]) expect(appOf(other), other).toBeUndefined();
});

test("external addresses are completed", () => {
  expect(externalURL("https://a.example")).toBe("https://a.example/");
  expect(externalURL("https://google.com@evil.example/x")).toBe("https://google.com@evil.example/x");
  expect(externalURL("mailto:a@b.c")).toBe("mailto:a@b.c");
  for (const bad of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "blob:x", "/x", "", "vbscript:x"]) {
    expect(externalURL(bad), bad).toBeUndefined();
  }
});

test("the host of an address", () => {
  expect(hostOf("https://evil.example:8443/?d=1")).toBe("evil.example:8443");
  expect(hostOf("//evil.example/x")).toBe("evil.example");
  expect(hostOf("pictures/a.png")).toBe("pictures/a.png");
  expect(hostOf("https://[")).toBe("https://[");
});

test("the kind of a file by its name", () => {
  expect(fileKind("/a/x.PNG")).toBe("picture");
  expect(fileKind("/a/x.html")).toBe("document");
  expect(fileKind("/a/x.csv")).toBe("text");
});
