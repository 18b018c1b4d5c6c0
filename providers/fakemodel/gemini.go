package fakemodel

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
)

// readGemini decodes a request of the Gemini API. It is as strict as the real API where mistakes of
// clients are likely.
func readGemini(body []byte) ([]said, error) {
	var req struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text    string `json:"text"`
				Thought bool   `json:"thought"`
				Call    *struct {
					Name string `json:"name"`
				} `json:"functionCall"`
				Result *struct {
					Response map[string]any `json:"response"`
				} `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	var out []said
	open := 0 // calls of the previous content
	for i, c := range req.Contents {
		one, results := said{assistant: c.Role == "model"}, 0
		for _, p := range c.Parts {
			switch {
			case p.Call != nil:
				one.calls++
			case p.Result != nil:
				results++
				one.results = append(one.results, resultTexts(p.Result.Response)...)
			case p.Text != "" && !p.Thought:
				one.texts = append(one.texts, p.Text)
			}
		}
		if open != results {
			return nil, fmt.Errorf("contents.%d: the number of function response parts is not equal to the number of function call parts of the function call turn", i)
		}
		open = one.calls
		out = append(out, one)
	}
	return out, nil
}

// resultTexts returns the texts in the result of a call, which has any form.
func resultTexts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			out = append(out, resultTexts(one)...)
		}
	case map[string]any:
		for _, one := range v {
			out = append(out, resultTexts(one)...)
		}
	}
	return out
}

// gemini writes replies of the Gemini API.
type gemini struct{ *stream }

func speakGemini(s *stream) voice { return &gemini{s} }

// parts sends a piece of the reply.
func (g *gemini) parts(finish string, parts ...object) {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	g.output++
	g.send("", object{"candidates": []object{candidate}, "modelVersion": "fake", "responseId": rand.Text(), "usageMetadata": object{
		"promptTokenCount": g.use.Total(), "candidatesTokenCount": g.output, "totalTokenCount": g.use.Total() + g.output,
		"cachedContentTokenCount": g.use.CacheRead,
	}})
}

func (g *gemini) text(piece string) { g.parts("", object{"text": piece}) }

func (g *gemini) think(piece string) { g.parts("", object{"text": piece, "thought": true}) }

// call sends a call as a whole, because the API does not stream its input.
func (g *gemini) call(tool, input string) {
	g.parts("", object{
		"functionCall":     object{"id": "call_" + rand.Text(), "name": tool, "args": json.RawMessage(input)},
		"thoughtSignature": "c2lnbmVkIGJ5IHRoZSBmYWtl",
	})
}

// halfCall sends nothing: there are no halves.
func (g *gemini) halfCall(string, string) {}

func (g *gemini) end(why string) {
	reason := map[string]string{"stop": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"}[why]
	g.parts(reason, object{"text": ""})
}

func (g *gemini) fail(kind, message string) {
	g.send("", object{"error": object{"code": 500, "status": kind, "message": message}})
}
