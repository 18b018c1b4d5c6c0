// Package anthropic is a thin client of the Anthropic Messages API, with the
// agent of package loop around it. Other servers speak this API too, Ollama and
// llama.cpp among them.
//
// It owns the translation between the hub's conversations and the API, and the
// prices of the models it knows; it keeps nothing. docs/adr/0007 says why it is
// written by hand.
//
// Who may call: cmd/hub makes one with [New]; from then on it is a
// [providers.Provider]. It never looks at the environment.
//
// When the server is slow or stops, see packages sse and loop: this one only
// says what kind of trouble it was. A reply without its end is a failure.
package anthropic
