package settingsfile

import (
	"slices"
	"strings"
)

// rooProvider says which backend a provider of Roo-Code is here, and which fields of a profile count.
type rooProvider struct {
	backend         string
	key, model, url string // names of fields; empty for none
	// base is the base URL if the profile has none; empty for that of the backend.
	base string
	// path is appended to a base URL that the profile has, because Roo-Code stores that of another API.
	path string
}

// Names of backends.
const (
	anthropic  = "anthropic"
	compatible = "openai-compatible"
)

// rooProviders returns the providers that have a backend here, by the name in Roo-Code.
func rooProviders() map[string]rooProvider {
	const model = "apiModelId"
	return map[string]rooProvider{
		"anthropic":     {backend: anthropic, key: "apiKey", model: model, url: "anthropicBaseUrl"},
		"openai-native": {backend: "openai", key: "openAiNativeApiKey", model: model, url: "openAiNativeBaseUrl"},
		"openai":        {backend: compatible, key: "openAiApiKey", model: "openAiModelId", url: "openAiBaseUrl"},
		"ollama":        {backend: "ollama", key: "ollamaApiKey", model: "ollamaModelId", url: "ollamaBaseUrl", path: "/v1"},
		"claude-code":   {backend: "claude", model: model},
		"lmstudio":      {backend: compatible, model: "lmStudioModelId", url: "lmStudioBaseUrl", base: "http://localhost:1234/v1", path: "/v1"},
		"litellm":       {backend: compatible, key: "litellmApiKey", model: "litellmModelId", url: "litellmBaseUrl", base: "http://localhost:4000/v1", path: "/v1"},
		"openrouter":    {backend: compatible, key: "openRouterApiKey", model: "openRouterModelId", url: "openRouterBaseUrl", base: "https://openrouter.ai/api/v1"},
		"requesty":      {backend: compatible, key: "requestyApiKey", model: "requestyModelId", url: "requestyBaseUrl", base: "https://router.requesty.ai/v1"},
		"deepseek":      {backend: compatible, key: "deepSeekApiKey", model: model, url: "deepSeekBaseUrl", base: "https://api.deepseek.com/v1"},
		"mistral":       {backend: compatible, key: "mistralApiKey", model: model, base: "https://api.mistral.ai/v1"},
		"xai":           {backend: compatible, key: "xaiApiKey", model: model, base: "https://api.x.ai/v1"},
		"moonshot":      {backend: compatible, key: "moonshotApiKey", model: model, url: "moonshotBaseUrl", base: "https://api.moonshot.ai/v1"},
		"fireworks":     {backend: compatible, key: "fireworksApiKey", model: model, base: "https://api.fireworks.ai/inference/v1"},
		"sambanova":     {backend: compatible, key: "sambaNovaApiKey", model: model, base: "https://api.sambanova.ai/v1"},
		"gemini":        {backend: compatible, key: "geminiApiKey", model: model, base: "https://generativelanguage.googleapis.com/v1beta/openai"},
	}
}

// address returns the base URL of a profile.
func (p rooProvider) address(of string) string {
	of = strings.TrimRight(of, "/")
	switch {
	case of == "":
		return p.base
	case p.path != "" && !strings.HasSuffix(of, p.path):
		return of + p.path
	}
	return of
}

// rooRetired returns the providers that Roo-Code keeps in files and does not use any more.
func rooRetired() []string {
	return []string{"cerebras", "chutes", "deepinfra", "doubao", "featherless", "groq", "huggingface", "io-intelligence"}
}

// rooIsSecret reports whether a field holds a key. Those of providers end in a few ways; the others are listed.
func rooIsSecret(field string) bool {
	return strings.HasSuffix(field, "ApiKey") ||
		slices.Contains([]string{"apiKey", "awsAccessKey", "awsSecretKey", "awsSessionToken", "codeIndexOpenAiKey", "codeIndexQdrantApiKey"}, field)
}
