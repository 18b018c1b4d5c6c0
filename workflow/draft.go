package workflow

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// Bounds of a plan, besides [MaxTodos].
const (
	maxTask     = 2000 // characters
	maxReason   = 500
	maxPriority = 1000
	maxSeconds  = 30 * 24 * 3600
	maxDollars  = 1_000_000
	maxRetries  = 10
	maxInputs   = 10
	maxField    = 64
	maxQuestion = 1000
	maxOptions  = 50
	maxOption   = 200
)

// draft is a plan as a model writes it.
type draft struct {
	Todos []draftTodo `json:"todos"`
}

// draftTodo is one todo of a draft.
type draftTodo struct {
	ID                   wire.TodoID   `json:"id"`
	Task                 string        `json:"task"`
	Tool                 string        `json:"tool,omitempty"`
	Mode                 string        `json:"mode,omitempty"`
	Priority             int           `json:"priority,omitempty"`
	DependsOn            []wire.TodoID `json:"depends_on,omitempty"`
	RequiresApproval     bool          `json:"requires_approval,omitempty"`
	ApprovalReason       string        `json:"approval_reason,omitempty"`
	EstimatedDurationSec float64       `json:"estimated_duration_sec,omitempty"`
	EstimatedCostUSD     float64       `json:"estimated_cost_usd,omitempty"`
	MaxRetries           *int          `json:"max_retries,omitempty"`
	Inputs               []input       `json:"inputs,omitempty"`
}

// input is a value that a todo needs from the user before it can start.
type input struct {
	Field        string          `json:"field"`
	Question     string          `json:"question"`
	InputType    wire.InputType  `json:"input_type"`
	Options      []wire.Option   `json:"options,omitempty"`
	Required     bool            `json:"required,omitempty"`
	DefaultValue json.RawMessage `json:"default_value,omitempty"`
	Range        bool            `json:"range,omitempty"`
	Min          *float64        `json:"min,omitempty"`
	Max          *float64        `json:"max,omitempty"`
}

// readDraft parses the plan in the text of a model. The error lists all faults, for the
// model to correct and for the user to read.
func readDraft(text string, tools []string) (draft, error) {
	raw, err := findObject(text, "todos")
	if err != nil {
		return draft{}, err
	}
	var c checker
	var d draft
	for i, raw := range c.list("todos", c.object("", raw)["todos"], MaxTodos) {
		d.Todos = append(d.Todos, c.todo(placeOf("todos", i), raw, tools))
	}
	c.graph(d.Todos)
	if err := c.err(); err != nil {
		return draft{}, err
	}
	return d, nil
}

// checkModes returns an error if a todo names a mode that does not exist.
func (c Config) checkModes(todos []draftTodo) error {
	var faults checker
	for i, t := range todos {
		if t.Mode == "" {
			continue
		}
		if all := c.modes(); !slices.Contains(all, t.Mode) {
			faults.addFault(placeOf("todos", i)+".mode", "there is no mode %q, %s", t.Mode, choices("modes", all))
		}
	}
	return faults.err()
}

// modes returns the ids of the modes that a todo can name.
func (c Config) modes() []string {
	if c.Modes == nil {
		return nil
	}
	return c.Modes()
}

func (c *checker) todo(place string, raw json.RawMessage, tools []string) draftTodo {
	var t draftTodo
	members := c.object(place, raw)
	if members == nil {
		return t
	}
	c.each(place, members, func(at, name string, raw json.RawMessage) bool {
		if name == "id" {
			t.ID = c.todoID(at, raw)
			return true
		}
		return c.todoField(at, name, raw, tools, &t)
	})
	if _, ok := members["id"]; !ok {
		c.addFault(place+".id", "it is missing")
	}
	if _, ok := members["task"]; !ok {
		c.addFault(place+".task", "it is missing")
	}
	return t
}

// todoField decodes one field of a todo, except the id, into t. A null counts as absent.
func (c *checker) todoField(at, name string, raw json.RawMessage, tools []string, t *draftTodo) (known bool) {
	switch name {
	case "task":
		before := c.count()
		if t.Task = c.text(at, raw, maxTask); t.Task == "" && c.count() == before {
			c.addFault(at, "it is empty")
		}
	case "tool":
		if t.Tool = c.text(at, raw, maxField); t.Tool != "" && !slices.Contains(tools, t.Tool) {
			c.addFault(at, "there is no tool %q, %s", t.Tool, choices("tools", tools))
		}
	case "mode":
		if t.Mode = c.text(at, raw, maxField); strings.ContainsFunc(t.Mode, notName) {
			c.addFault(at, "%q is no id of a mode", t.Mode)
		}
	case "priority":
		t.Priority = c.integer(at, raw, -maxPriority, maxPriority)
	case "depends_on":
		t.DependsOn = nil
		for i, raw := range c.list(at, raw, MaxTodos) {
			if id := c.todoID(placeOf(at, i), raw); id != "" && !slices.Contains(t.DependsOn, id) {
				t.DependsOn = append(t.DependsOn, id)
			}
		}
	case "requires_approval":
		t.RequiresApproval = c.boolean(at, raw)
	case "approval_reason":
		t.ApprovalReason = c.text(at, raw, maxReason)
	case "estimated_duration_sec":
		t.EstimatedDurationSec = c.number(at, raw, 0, maxSeconds)
	case "estimated_cost_usd":
		t.EstimatedCostUSD = c.number(at, raw, 0, maxDollars)
	case "max_retries":
		t.MaxRetries = nil
		if !absent(raw) {
			t.MaxRetries = new(c.integer(at, raw, 0, maxRetries))
		}
	case "inputs":
		t.Inputs = c.inputs(at, raw)
	default:
		return false
	}
	return true
}

// todoID decodes a todo id. Ids become parts of job names and store fields, so their
// alphabet is narrower than that of [wire.TodoID].
func (c *checker) todoID(at string, raw json.RawMessage) wire.TodoID {
	var s string
	switch {
	case json.Unmarshal(raw, &s) != nil || s == "":
		c.addFault(at, "want a text such as \"collect\", got %s", quoteValue(raw))
		return ""
	case len(s) > maxField || strings.ContainsFunc(s, notName) || wire.TodoID(s).Validate() != nil:
		c.addFault(at, "%q is no id: want at most %d letters, digits, '_' and '-'", truncateBytes(s, maxField), maxField)
		return ""
	case isLayer(s):
		c.addFault(at, "%q is the name of a layer", s)
		return ""
	}
	return wire.TodoID(s)
}

func notName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// isLayer reports whether s is the name of a layer, which the plan's own jobs use.
func isLayer(s string) bool {
	switch wire.Layer(s) {
	case wire.LayerCognitive, wire.LayerPlanning, wire.LayerExecution, wire.LayerResponse:
		return true
	}
	return false
}

func (c *checker) inputs(place string, raw json.RawMessage) []input {
	var all []input
	fields := make(map[string]bool)
	for i, raw := range c.list(place, raw, maxInputs) {
		at := placeOf(place, i)
		in, ok := c.input(at, raw)
		if !ok {
			continue
		}
		if fields[in.Field] {
			c.addFault(at+".field", "%q is there twice", in.Field)
		}
		fields[in.Field] = true
		all = append(all, in)
	}
	return all
}

func (c *checker) input(place string, raw json.RawMessage) (in input, ok bool) {
	members := c.object(place, raw)
	if members == nil {
		return in, false
	}
	before := c.count()
	c.each(place, members, func(at, name string, raw json.RawMessage) bool {
		switch name {
		case "field":
			in.Field = c.text(at, raw, maxField)
		case "question":
			in.Question = c.text(at, raw, maxQuestion)
		case "input_type":
			in.InputType = wire.InputType(c.text(at, raw, maxField))
		case "options":
			in.Options = c.options(at, raw)
		case "required":
			in.Required = c.boolean(at, raw)
		case "default_value":
			if !absent(raw) {
				in.DefaultValue = raw
			}
		case "range":
			in.Range = c.boolean(at, raw)
		case "min":
			in.Min = c.bound(at, raw)
		case "max":
			in.Max = c.bound(at, raw)
		default:
			return false
		}
		return true
	})
	if c.count() > before {
		return in, false
	}
	c.question(place, &in)
	return in, c.count() == before
}

func (c *checker) bound(at string, raw json.RawMessage) *float64 {
	if absent(raw) {
		return nil
	}
	f, ok := numberOf(raw)
	if !ok {
		c.addFault(at, "want a number, got %s", quoteValue(raw))
		return nil
	}
	return &f
}

func (c *checker) options(place string, raw json.RawMessage) []wire.Option {
	var all []wire.Option
	for i, raw := range c.list(place, raw, maxOptions) {
		at := placeOf(place, i)
		var o wire.Option
		var plain string
		if json.Unmarshal(raw, &plain) == nil && !absent(raw) {
			o.Value = c.text(at, raw, maxOption)
		} else if members := c.object(at, raw); members != nil {
			c.each(at, members, func(at, name string, raw json.RawMessage) bool {
				switch name {
				case "value":
					o.Value = c.text(at, raw, maxOption)
				case "label":
					o.Label = c.text(at, raw, maxOption)
				default:
					return false
				}
				return true
			})
		}
		if o.Label == "" {
			o.Label = o.Value
		}
		if o.Value == "" {
			c.addFault(at, "it has no value")
		} else if slices.ContainsFunc(all, func(p wire.Option) bool { return p.Value == o.Value }) {
			c.addFault(at, "%q is there twice", o.Value)
		}
		all = append(all, o)
	}
	return all
}

// question checks that the parts of an input are consistent.
func (c *checker) question(place string, in *input) {
	if in.Field == "" || strings.ContainsFunc(in.Field, notName) {
		c.addFault(place+".field", "want letters, digits, '_' and '-', got %q", in.Field)
	}
	if in.Question == "" {
		c.addFault(place+".question", "it is missing")
	}
	kinds := []wire.InputType{wire.AnswerText, wire.AnswerChoice, wire.AnswerMulti, wire.AnswerNumber, wire.AnswerDate, wire.AnswerConfirm}
	if !slices.Contains(kinds, in.InputType) {
		c.addFault(place+".input_type", "there is no type %q, %s", in.InputType, choices("types", kinds))
		return
	}
	chosen := in.InputType == wire.AnswerChoice || in.InputType == wire.AnswerMulti
	number := in.InputType == wire.AnswerNumber
	switch {
	case chosen && len(in.Options) == 0:
		c.addFault(place+".options", "%s needs some", in.InputType)
	case !chosen && len(in.Options) > 0:
		c.addFault(place+".options", "%s has none", in.InputType)
	}
	if in.Range && in.InputType != wire.AnswerDate {
		c.addFault(place+".range", "%s has none", in.InputType)
	}
	if !number && (in.Min != nil || in.Max != nil) {
		c.addFault(place, "%s has no min and max", in.InputType)
	}
	if number && in.Min != nil && in.Max != nil && *in.Min > *in.Max {
		c.addFault(place, "min %s is above max %s", decimal(*in.Min), decimal(*in.Max))
	}
	if in.DefaultValue == nil {
		return
	}
	value, err := checkValue(in.request(), in.DefaultValue)
	if err != nil {
		c.addFault(place+".default_value", "%v", err)
	}
	in.DefaultValue = value
}

// request returns the question for the user, without request id, todo and deadline.
func (in input) request() wire.HITLInputRequest {
	return wire.HITLInputRequest{
		Field: in.Field, Question: in.Question, InputType: in.InputType, Options: in.Options, Required: in.Required,
		DefaultValue: in.DefaultValue, Range: in.Range, Min: in.Min, Max: in.Max,
	}
}

func placeOf(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// choices lists the valid values for an error message.
func choices[S ~string](what string, all []S) string {
	if len(all) == 0 {
		return "there are no " + what
	}
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(s))
	}
	return "the " + what + " are " + b.String()
}
