// Package anthropic is a thin client of the Anthropic Messages API, used with the agent loop of
// package loop. Other servers implement this API too, Ollama and llama.cpp among them.
//
// It translates between the hub's conversations and the API; it stores nothing. docs/adr/0007 says why it is written by hand.
//
// cmd/hub creates one with [New]; from then on it is a [providers.Provider]. It never reads the
// environment.
//
// Packages sse and loop handle slow and failing servers; this one only classifies failures. A
// reply without its end is a failure.
package anthropic
