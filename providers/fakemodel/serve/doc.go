// Command serve runs a fake model server, to try a hub by hand without a model:
//
//	go run ./providers/fakemodel/serve -listen 127.0.0.1:9099
//
// ANTHROPIC_BASE_URL is then http://127.0.0.1:9099 and OPENAI_BASE_URL
// http://127.0.0.1:9099/v1, with any key. Package fakemodel says what to write to
// it. It ends with SIGINT or SIGTERM.
package main
