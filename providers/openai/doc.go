// Package openai is a thin client of the OpenAI APIs, with the agent of package
// loop around it, in two dialects: Chat Completions, which nearly every model
// server speaks (Ollama, llama.cpp, vLLM, LM Studio and most gateways), and
// Responses, which OpenAI wants for its own newer models.
//
// It owns the translation between the hub's conversations and the APIs, and the
// prices of the models it knows; it keeps nothing, and asks the server to keep
// nothing. docs/adr/0007 says why it is written by hand.
//
// Who may call: cmd/hub makes one with [New]; from then on it is a
// [providers.Provider]. [Models] finds out whether a server is there at all. It
// never looks at the environment.
//
// When the server is slow or stops, see packages sse and loop: this one only
// says what kind of trouble it was. A reply without its end is a failure. Chat
// servers differ, so it forgives them calls without ids or numbers, inputs that
// come in one piece or as an object, and a missing [DONE] after the reply has
// ended.
package openai
