package fakemodel

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// readResponses decodes a request of the Responses API.
func readResponses(body []byte) ([]said, error) {
	var req struct {
		Stream bool  `json:"stream"`
		Store  *bool `json:"store"`
		Input  []struct {
			Type    string  `json:"type"`
			Role    string  `json:"role"`
			Content content `json:"content"`
			Call    string  `json:"call_id"`
			Output  content `json:"output"`
		} `json:"input"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if !req.Stream || req.Store == nil || *req.Store {
		return nil, errors.New("only streams that are not stored are spoken here")
	}
	var out []said
	open := map[string]bool{}
	for i, m := range req.Input {
		if m.Type == "reasoning" && i == len(req.Input)-1 {
			return nil, fmt.Errorf("item %d of type 'reasoning' was provided without its required following item", i)
		}
		switch m.Type {
		case "function_call":
			open[m.Call] = true
			if n := len(out); n > 0 && out[n-1].assistant {
				out[n-1].calls++
				continue
			}
			out = append(out, said{assistant: true, calls: 1})
		case "function_call_output":
			if !open[m.Call] {
				return nil, fmt.Errorf("no tool call found for function call output with call_id %s", m.Call)
			}
			delete(open, m.Call)
			out = append(out, said{results: m.Output.texts()})
		case "message":
			if len(open) > 0 && m.Role == "user" {
				return nil, errors.New("no tool output found for a function call")
			}
			out = append(out, said{assistant: m.Role == "assistant", texts: m.Content.texts()})
		}
	}
	return out, nil
}

// responses writes replies of the Responses API.
type responses struct {
	*stream
	next      int    // index of the open or next item
	said      string // text of the open message
	reasoning string // text of the open reasoning
}

func speakResponses(s *stream) voice { return &responses{stream: s} }

// event sends an event about item number next.
func (r *responses) event(kind string, o object) {
	o["type"], o["output_index"] = kind, r.next
	r.send(kind, o)
	r.output++
}

func (r *responses) text(piece string) {
	r.reasoned()
	if r.said == "" {
		r.event("response.output_item.added", object{"item": object{"type": "message", "role": "assistant", "content": []any{}}})
	}
	r.said += piece
	r.event("response.output_text.delta", object{"content_index": 0, "delta": piece})
}

func (r *responses) think(piece string) {
	r.message()
	if r.reasoning == "" {
		r.event("response.output_item.added", object{"item": object{"type": "reasoning", "summary": []any{}}})
	}
	r.reasoning += piece
	r.event("response.reasoning_summary_text.delta", object{"summary_index": 0, "delta": piece})
}

// message closes the open message.
func (r *responses) message() {
	if r.said != "" {
		r.event("response.output_item.done", object{"item": object{
			"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": r.said}},
		}})
		r.said = ""
		r.next++
	}
}

// reasoned closes the open reasoning.
func (r *responses) reasoned() {
	if r.reasoning != "" {
		r.event("response.output_item.done", object{"item": object{
			"type": "reasoning", "id": "rs_" + rand.Text(), "encrypted_content": "sealed by the fake",
			"summary": []object{{"type": "summary_text", "text": r.reasoning}},
		}})
		r.reasoning = ""
		r.next++
	}
}

func (r *responses) halfCall(tool, input string) { r.callPieces(tool, halves(input)[0]) }

// callPieces begins a call with these pieces of its input, and returns it.
func (r *responses) callPieces(tool string, input ...string) object {
	r.message()
	r.reasoned()
	item := object{"type": "function_call", "call_id": "call_" + rand.Text(), "name": tool, "arguments": ""}
	if namespace, name, ok := strings.Cut(tool, "."); ok { // names have no dots
		item["namespace"], item["name"] = namespace, name
	}
	r.event("response.output_item.added", object{"item": item})
	for _, piece := range input {
		r.event("response.function_call_arguments.delta", object{"delta": piece})
	}
	return item
}

func (r *responses) call(tool, input string) {
	item := r.callPieces(tool, halves(input)...)
	item["arguments"] = input
	r.event("response.output_item.done", object{"item": item})
	r.next++
}

func (r *responses) end(why string) {
	r.message()
	r.reasoned()
	response := object{"id": "resp_1", "status": "completed", "usage": object{
		"input_tokens": r.use.Total(), "output_tokens": r.output, "total_tokens": r.use.Total() + r.output,
		"input_tokens_details": object{"cached_tokens": r.use.CacheRead},
	}}
	kind := "response.completed"
	if reason := map[string]string{"length": "max_output_tokens", "refused": "content_filter"}[why]; reason != "" {
		kind = "response.incomplete"
		response["status"], response["incomplete_details"] = "incomplete", object{"reason": reason}
	}
	r.send(kind, object{"type": kind, "response": response})
}

func (r *responses) fail(kind, message string) {
	r.send("response.failed", object{"type": "response.failed", "response": object{
		"status": "failed", "error": object{"code": kind, "message": message},
	}})
}
