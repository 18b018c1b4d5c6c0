// Package openai is a thin client of the OpenAI APIs, used with the agent loop of package loop,
// in two dialects: Chat Completions, which nearly every model server implements (Ollama,
// llama.cpp, vLLM, LM Studio and most gateways), and Responses, which OpenAI requires for its
// own newer models.
//
// It translates between the hub's conversations and the APIs; it stores nothing, and asks the server to store nothing. docs/adr/0007 says why it is
// written by hand.
//
// cmd/hub creates one with [New]; from then on it is a [providers.Provider]. [Models] checks
// whether a server is reachable. The package never reads the environment.
//
// Packages sse and loop handle slow and failing servers; this one only classifies failures. A
// reply without its end is a failure. Chat servers differ, so the client tolerates calls
// without ids or indexes, inputs that arrive in one piece or as an object, and a missing [DONE]
// after the reply has ended.
package openai
