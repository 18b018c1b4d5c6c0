package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/internal/truncation"
)

// maxFields bounds the fields of a form.
const maxFields = 10

// Question is a form that a server wants to be filled in.
type Question struct {
	Server  string
	Message string
	Fields  []Field
}

// Field is a field of a form.
type Field struct {
	Name, Title, Description string
	// Type is string, number, integer, boolean or array, a choice of several.
	Type     string
	Choices  []Choice
	Required bool
}

// Choice is a value that a field can have.
type Choice struct{ Value, Title string }

// Answer is a filled-in form.
type Answer struct {
	// Accepted is false if the user declined or did not answer.
	Accepted bool
	Values   map[string]any
}

// answerElicitation answers a question of the server.
func (s *instance) answerElicitation(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	if r.Params.Mode != "" && r.Params.Mode != "form" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "only forms can be filled in"}
	}
	c := s.onlyCaller()
	if c == nil || c.ask == nil {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	q := Question{Server: s.server.Name, Message: truncation.BytesMarked(r.Params.Message, maxDescription, "…")}
	var err error
	if q.Fields, err = fieldsOf(r.Params.RequestedSchema); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	stop := s.keepInProgress(c)
	defer stop()
	a, err := c.ask(ctx, q)
	switch {
	case err != nil:
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case !a.Accepted:
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: a.Values}, nil
}

// keepInProgress makes a call count as in progress while a person is asked, until the returned function is called.
func (s *instance) keepInProgress(c *call) func() {
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		t := time.NewTicker(max(s.maxSilence()/4, time.Millisecond))
		defer t.Stop()
		for {
			c.recordProgress()
			select {
			case <-t.C:
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// onlyCaller returns a running call that can answer requests of the server, or nil if there is none or it is ambiguous: the
// protocol does not say which call a request belongs to, and another user must not see it. So all calls must belong to
// one session, because an instance may be shared, and those that can answer must have one caller. Calls of views
// cannot answer.
func (s *instance) onlyCaller() *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var one, other *call
	for c := range s.calls {
		switch {
		case other != nil && other.at != c.at, one != nil && c.canAnswer() && one.caller != c.caller:
			return nil
		case c.canAnswer():
			one = c
		}
		other = c
	}
	return one
}

// canAnswer reports whether requests of the server during the call can be answered.
func (c *call) canAnswer() bool { return c.ask != nil || c.complete != nil }

// property is a field in the schema of a form.
type property struct {
	Type        string    `json:"type"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Enum        []string  `json:"enum"`
	EnumNames   []string  `json:"enumNames"`
	OneOf       []option  `json:"oneOf"`
	AnyOf       []option  `json:"anyOf"`
	Items       *property `json:"items"`
}

type option struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// choices returns the values that a field can have.
func (p *property) choices() []Choice {
	var out []Choice
	for i, v := range p.Enum {
		c := Choice{v, v}
		if i < len(p.EnumNames) {
			c.Title = p.EnumNames[i]
		}
		out = append(out, c)
	}
	for _, o := range slices.Concat(p.OneOf, p.AnyOf) {
		out = append(out, Choice{o.Const, o.Title})
	}
	return out
}

// fieldsOf returns the fields of a form, in the order of their names, required ones first.
func fieldsOf(schema any) ([]Field, error) {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("encode the form: %w", err)
	}
	var form struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, fmt.Errorf("the form cannot be shown: %w", err)
	}
	if len(form.Properties) > maxFields {
		return nil, fmt.Errorf("the form has %d fields, at most %d can be shown", len(form.Properties), maxFields)
	}
	var out []Field
	for name, p := range form.Properties {
		f := Field{Name: name, Title: shorten(p.Title), Description: truncation.BytesMarked(p.Description, maxDescription, "…"), Type: p.Type, Choices: p.choices(), Required: slices.Contains(form.Required, name)}
		if p.Type == "array" && p.Items != nil {
			f.Choices = p.Items.choices()
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Field) int {
		switch {
		case a.Required != b.Required && a.Required:
			return -1
		case a.Required != b.Required:
			return 1
		case a.Name < b.Name:
			return -1
		}
		return 1
	})
	return out, nil
}
