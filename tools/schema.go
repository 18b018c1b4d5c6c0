package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/everdesk/everdesk/wire"
)

// maxInput bounds the input of a tool in bytes. The content of a window is the largest input.
const maxInput = 4 << 20

// inputSchema is the JSON Schema of a tool's input.
type inputSchema struct {
	text json.RawMessage
	// resolved returns the schema in the form that validates. The first call makes it, because models see all
	// tools and call few of them.
	resolved func() *jsonschema.Resolved
	// takes lists the fields, for error messages.
	takes string
}

// schemaOf returns the schema of an input type. It panics if the type has none, which is a
// programming error.
func schemaOf[T any]() inputSchema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: typeSchemas()})
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %v: %v", reflect.TypeFor[T](), err))
	}
	withoutNull(s)
	var input T
	if r, ok := any(input).(refiner); ok {
		r.refine(s)
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("tools: write the schema of %v: %v", reflect.TypeFor[T](), err))
	}
	return inputSchema{text: text, takes: fieldsOf(s), resolved: sync.OnceValue(func() *jsonschema.Resolved {
		resolved, err := s.Resolve(nil)
		if err != nil {
			panic(fmt.Sprintf("tools: resolve the schema of %v: %v", reflect.TypeFor[T](), err))
		}
		return resolved
	})}
}

// refiner is an input type that refines the schema derived from its fields.
type refiner interface {
	// refine changes s, which is the schema of the fields.
	refine(s *jsonschema.Schema)
}

// fieldsOf returns a sentence with the fields of an object, for error messages.
func fieldsOf(s *jsonschema.Schema) string {
	if len(s.PropertyOrder) == 0 {
		return "It takes no fields."
	}
	fields := slices.Clone(s.PropertyOrder)
	for i, f := range fields {
		if slices.Contains(s.Required, f) {
			fields[i] += " (required)"
		}
	}
	return "It takes " + strings.Join(fields, ", ") + "."
}

// withoutNull removes null from the allowed types, because it confuses models. Null members of
// an input count as absent.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 {
		s.Types = slices.Delete(s.Types, i, i+1)
		if len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		}
	}
	withoutNull(s.Items)
	for _, p := range s.Properties {
		withoutNull(p)
	}
}

// typeSchemas returns the schemas that cannot be derived from Go types.
func typeSchemas() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():    {},
		reflect.TypeFor[wire.Component]():     componentSchema(),
		reflect.TypeFor[wire.Columns]():       {Types: []string{"integer", "array"}, Items: &jsonschema.Schema{Type: "number"}},
		reflect.TypeFor[wire.Gap]():           oneOf(wireValues[wire.Gap]()...),
		reflect.TypeFor[wire.NoticeVariant](): oneOf(wireValues[wire.NoticeVariant]()...),
		reflect.TypeFor[wire.WindowVariant](): oneOf(wireValues[wire.WindowVariant]()...),
		reflect.TypeFor[wire.DockEdge]():      oneOf(wireValues[wire.DockEdge]()...),
		reflect.TypeFor[wire.IconType]():      oneOf(wireValues[wire.IconType]()...),
		reflect.TypeFor[wire.ShortcutType]():  oneOf(wireValues[wire.ShortcutType]()...),
		reflect.TypeFor[renderer]():           oneOf("markdown", "html", "text", "table", "chart", "component", "iframe"),
		reflect.TypeFor[operation]():          oneOf("append", "prepend", "replace", "insertAt", "clear"),
		reflect.TypeFor[section]():            oneOf(string(sectionHooks), string(sectionSettings)),
		reflect.TypeFor[hookEvent]():          oneOf(string(hookLaunch), string(hookToolUse)),
		reflect.TypeFor[hookActionType]():     oneOf(string(hookInteraction), string(hookOSAction)),
		reflect.TypeFor[taskProfile]():        oneOf(Profiles()...),
		reflect.TypeFor[pageAs]():             oneOf(string(asText), string(asPictures)),
		reflect.TypeFor[bodyType]():           oneOf(string(bodyJSON), string(bodyForm), string(bodyText)),
		reflect.TypeFor[headers]():            {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}},
		reflect.TypeFor[wire.InputType]():     oneOf(wireValues[wire.InputType]()...),
	}
}

func oneOf(values ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// wireValues returns the allowed values of an enumeration of package wire.
func wireValues[T ~string]() []string { return wire.FormatOf[T]().Shape().Values }

// read validates and decodes the input of a call.
func (h *handler) read(raw json.RawMessage) (any, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if len(raw) > maxInput {
		return nil, fmt.Errorf("the input has %d bytes, at most %d are allowed", len(raw), maxInput)
	}
	in, err := h.decode(raw) // first, because its error messages are best
	if err != nil {
		return nil, fieldError(err)
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("the input is not JSON: %w", err)
	}
	dropNulls(value)
	if err := h.schema().resolved().Validate(value); err != nil {
		return nil, schemaError(err)
	}
	return in, nil
}

// dropNulls removes null members from objects.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			if member == nil {
				delete(v, k)
				continue
			}
			dropNulls(member)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// fieldError returns the decoder's message with the path of the field, without the error code.
func fieldError(err error) error {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return err
	}
	if e.Path == "" {
		return errors.New(e.Message)
	}
	return fmt.Errorf("%s: %s", e.Path, e.Message)
}

// schemaError returns the schema's message with the path of the field.
func schemaError(err error) error {
	text := err.Error()
	path := ""
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			break
		}
		part, rest, ok := strings.Cut(rest, ": ")
		if !ok {
			break
		}
		if text = rest; !strings.HasPrefix(part, "<") { // skip <anonymous schema>
			path = part
		}
	}
	text = truncate(text, 500)
	field := strings.ReplaceAll(strings.TrimPrefix(path, "/properties/"), "/properties/", ".")
	field = strings.ReplaceAll(field, "/items", "[]")
	if field == "" || strings.Contains(field, "root") {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %s", field, text)
}

// componentSchema describes one component. It is flat, because models fill in flat objects
// better than alternatives; the decoder checks the combinations.
func componentSchema() *jsonschema.Schema {
	text := func(about string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: about}
	}
	s := &jsonschema.Schema{
		Type:     "object",
		Required: []string{"type"},
		Properties: map[string]*jsonschema.Schema{
			"type":         oneOf("button", "input", "select", "text", "badge", "progress", "image"),
			"label":        text("Of a button (required), badge (required), input, select or progress."),
			"action":       text("Of a button (required): what you are told when it is pressed."),
			"submitForm":   text("Of a button: the formId whose values come with the press."),
			"parallel":     {Type: "boolean", Description: "Of a button: false makes presses wait for each other."},
			"name":         text("Of an input or select (required): the name of its value."),
			"formId":       text("Of an input or select: the form it belongs to."),
			"placeholder":  text("Of an input or select."),
			"defaultValue": text("Of an input or select."),
			"rows":         {Type: "integer", Description: "Of an input: makes it a text area."},
			"options": {Type: "array", Description: "Of a select (required).", Items: &jsonschema.Schema{
				Type: "object", Required: []string{"value", "label"},
				Properties: map[string]*jsonschema.Schema{"value": {Type: "string"}, "label": {Type: "string"}},
			}},
			"content": text("Of a text (required)."),
			"variant": text("button: primary, secondary, ghost, danger. input: text, email, password, number, url. " +
				"text: body, heading, subheading, caption, code. badge and progress: default, success, warning, error."),
			"size":      text("Of a button: sm, md or lg."),
			"disabled":  {Type: "boolean"},
			"icon":      text("Of a button: an emoji."),
			"color":     text("Of a text: default, muted, accent, success, warning or error."),
			"textAlign": text("Of a text: left, center or right."),
			"value":     {Type: "number", Description: "Of a progress (required): 0 to 100."},
			"showValue": {Type: "boolean", Description: "Of a progress."},
			"src":       text("Of an image (required): its address."),
			"width":     {Types: []string{"number", "string"}, Description: "Of an image."},
			"height":    {Types: []string{"number", "string"}, Description: "Of an image."},
			"fit":       text("Of an image: contain, cover or fill."),
		},
	}
	return s
}
