import { expect, it } from "vitest";
import { canList, firstBackend, missingField, newProfileId, newProfileName, profileOf } from "../../src/models/profiles.js";
import type { Backend } from "../../src/shell/api.js";

const anthropic: Backend = { backend: "anthropic", label: "Anthropic", kind: "service", needsKey: true, baseUrl: "https://api.anthropic.com", found: false };
const server: Backend = { backend: "openai-compatible", label: "OpenAI-compatible server", kind: "server", needsKey: false, baseUrl: "", found: false };
const ollama: Backend = { backend: "ollama", label: "Ollama", kind: "local", needsKey: false, baseUrl: "http://127.0.0.1:11434/v1", found: true };
const codex: Backend = { backend: "codex", label: "Codex", kind: "program", needsKey: false, baseUrl: "", found: true };
const empty = { backend: "", baseUrl: "", key: "", model: "" };

it.each([
  ["claude-opus-5-5", [], "claude-opus-5-5"],
  ["Llama 3.2 (8B)", [], "llama-3-2-8b"],
  ["모델", [], "model"],
  ["", ["model", "model-2"], "model-3"],
  ["anthropic", ["anthropic"], "anthropic-2"],
])("the id of %s", (name, used, id) => {
  expect(newProfileId(name, used)).toBe(id);
});

it("a profile has the model as its name, or else its backend", () => {
  expect(newProfileName(anthropic, " m ")).toBe("m");
  expect(newProfileName(anthropic, "")).toBe("Anthropic");
  expect(newProfileName(anthropic, "x".repeat(100))).toHaveLength(64);
});

it("a profile has no field that is empty or the default", () => {
  expect(profileOf(anthropic, empty)).toEqual({ name: "Anthropic", backend: "anthropic" });
  expect(profileOf(ollama, { ...empty, baseUrl: ollama.baseUrl, model: "m" })).toEqual({ name: "m", backend: "ollama", model: "m" });
  expect(profileOf(server, { ...empty, baseUrl: " https://a.example/v1 ", model: "m" }, "s")).toEqual({
    name: "m",
    backend: "openai-compatible",
    baseUrl: "https://a.example/v1",
    model: "m",
    secret: "s",
  });
});

it("what is missing before a test, and when the models can be listed", () => {
  expect(missingField(anthropic, empty)).toBe("key");
  expect(missingField(anthropic, { ...empty, key: "k" })).toBeUndefined();
  expect(missingField(anthropic, { ...empty, baseUrl: anthropic.baseUrl })).toBe("key");
  expect(missingField(anthropic, { ...empty, baseUrl: "https://proxy.example" })).toBeUndefined();
  expect(missingField({ ...anthropic, needsKey: false }, empty)).toBeUndefined();
  expect(missingField(server, empty)).toBe("baseUrl");
  expect(missingField(server, { ...empty, baseUrl: "u" })).toBe("model");
  expect(missingField(ollama, empty)).toBe("model");
  expect(missingField(codex, empty)).toBeUndefined();
  expect([canList(anthropic, empty), canList(anthropic, { ...empty, key: "k" }), canList(server, { ...empty, baseUrl: "u" }), canList(ollama, empty), canList(codex, empty)]).toEqual([
    false,
    true,
    true,
    true,
    false,
  ]);
});

it("a found Ollama is offered first, otherwise the first backend", () => {
  expect(firstBackend([anthropic, ollama])).toBe(ollama);
  expect(firstBackend([anthropic, { ...ollama, found: false }, codex])).toBe(anthropic);
  expect(firstBackend([])).toBeUndefined();
});
