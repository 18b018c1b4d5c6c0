package openapi

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// apiDescription is the introduction of the API description.
const apiDescription = "A hub keeps AI desktops alive. A session is one person's desktop: windows, conversations, running agents, " +
	"pending questions. It is a log of events; every position in it is a message_id.\n\n" +
	"Authenticate with `Authorization: Bearer` (the installation's token, a signed token or an API key), with `X-API-Key`, or with the cookie of the browser. " +
	"Requests with a cookie that change something must come from the hub's own pages.\n\n" +
	"Errors are problem documents (RFC 9457) with a `code`; docs/PROTOCOL.md lists the codes. " +
	"A session that does not exist and one you may not see get the same response: 404 with code 3001. " +
	"Times are RFC 3339; the admin view has milliseconds since 1970. Unknown fields are ignored, unknown values are not."

type object map[string]any

// describer builds the API description.
type describer struct {
	schemas object
	// docs has the doc tags of the gateway's types, by type and field.
	docs map[string]string
	wire map[string]json.RawMessage
}

// Credentials are the names of the headers and cookies with which requests authenticate.
type Credentials struct{ APIKeyHeader, Cookie, CookieWithoutTLS string }

var problemForm = sync.OnceValue(wire.FormatOf[problem.Error])

// Document returns the OpenAPI 3.1 document of routes.
func Document(version string, names Credentials, all []Route) []byte {
	var published struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(wire.Schema()), &published); err != nil {
		panic(err) // embedded in the program
	}
	d := &describer{schemas: object{}, docs: map[string]string{}, wire: published.Defs}
	paths := object{}
	for _, r := range all {
		path := DocumentPath(r.Path)
		item, _ := paths[path].(object)
		if item == nil {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(r.Method)] = d.operation(r)
	}
	doc, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Everdesk", "version": version, "description": apiDescription,
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers": []object{{"url": "/"}},
		"paths":   paths,
		"components": object{
			"schemas":   d.schemas,
			"responses": object{"Problem": d.problems()},
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer"},
				"apiKey": object{"type": "apiKey", "in": "header", "name": names.APIKeyHeader},
				"cookie": object{"type": "apiKey", "in": "cookie", "name": names.Cookie, "description": "The browser's, over TLS."},
				"cookieWithoutTLS": object{
					"type": "apiKey", "in": "cookie", "name": names.CookieWithoutTLS, "description": "The browser's, where the hub is reached without TLS.",
				},
			},
		},
	}, "", " ")
	if err != nil {
		panic(err) // cannot fail: only maps and strings
	}
	return doc
}

// parameter matches the parameters of a path.
var parameter = regexp.MustCompile(`:([a-z]+)|\*`)

// DocumentPath returns a path of the router in the syntax of OpenAPI.
func DocumentPath(path string) string {
	return parameter.ReplaceAllStringFunc(path, func(p string) string { return "{" + parameterName(p) + "}" })
}

func parameterName(p string) string {
	if p == "*" {
		return "path"
	}
	return p[1:]
}

// pathDocs describes the parameters of paths.
var pathDocs = map[string]string{ //nolint:gosec // descriptions
	"session": "The session.", "user": "Another user.", "path": "The file, with slashes between folders.", "key": "The key's id.", "token": "The id of an MCP token.", "link": "The id of a read-only link.", "name": "The name of a secret.", "id": "The id of a model profile.", "mode": "The id of a mode.", "server": "The name of an MCP server.",
	"backend": "The name of a model backend.", "app": "The id of an app.", "agent": "The agent, desktop.", "thread": "The thread: the id or the name of a session.", "sandbox": "The id of a sandbox.", "upload": "The id of an upload.", "trash": "The id of a deletion.", "monitor": "The monitor of a window.", "window": "The id of a window.", "checkpoint": "A checkpoint, or the first 7 or more characters of it.",
	"replica": "The name of a replica.", "message": "The messageId.", "connection": "The connection of a tab.",
}

func (d *describer) operation(r Route) object {
	op := object{"summary": r.Summary, "tags": []string{r.Tag}, "operationId": operationID(r)}
	if r.Detail != "" {
		op["description"] = r.Detail
	}
	if params := d.parameters(r); len(params) > 0 {
		op["parameters"] = params
	}
	if r.Body != nil {
		op["requestBody"] = object{"required": !r.Body.optional, "content": d.content(r.Body)}
	}
	answers := object{"default": object{"$ref": "#/components/responses/Problem"}}
	for _, a := range r.Answers {
		answers[strconv.Itoa(a.Status)] = d.answer(a)
	}
	op["responses"] = answers
	security := []object{}
	if r.Guard == GuardSocket { // a client without a credential authenticates in the first frame
		security = append(security, object{})
	}
	switch r.Guard {
	case GuardNone:
	case GuardAppPage:
		security = append(security, object{"bearer": []string{}})
	default:
		for _, scheme := range []string{"bearer", "apiKey", "cookie", "cookieWithoutTLS"} {
			security = append(security, object{scheme: []string{}})
		}
	}
	op["security"] = security
	return op
}

// operationID is derived from the method and the path, so that it never changes by accident.
func operationID(r Route) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(r.Method))
	for word := range strings.FieldsFuncSeq(DocumentPath(r.Path), func(c rune) bool { return !unicode.IsLetter(c) }) {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return id.String()
}

func (d *describer) parameters(r Route) []object {
	var params []object
	for _, p := range parameter.FindAllString(r.Path, -1) {
		name := parameterName(p)
		schema := object{"type": "string"}
		if name == "session" {
			schema = d.reference("SessionID")
		}
		params = append(params, object{"name": name, "in": "path", "required": true, "description": pathDocs[name], "schema": schema})
	}
	for _, p := range r.Query {
		schema := object{"type": "string"}
		switch {
		case p.Repeated:
			schema = object{"type": "array", "items": schema}
		case p.DefaultValue > 0:
			schema = object{"type": "integer", "minimum": 1, "default": p.DefaultValue}
		}
		params = append(params, object{"name": p.Name, "in": "query", "description": p.Doc, "schema": schema})
	}
	for _, p := range r.Headers {
		params = append(params, object{"name": p.Name, "in": "header", "description": p.Doc, "schema": object{"type": "string"}})
	}
	return params
}

func (d *describer) answer(a Answer) object {
	out := object{"description": a.Doc}
	if a.Content != nil {
		out["content"] = d.content(a.Content)
	}
	if len(a.Headers) > 0 {
		headers := object{}
		for _, h := range a.Headers {
			headers[h.Name] = object{"description": h.Doc, "schema": object{"type": "string"}}
		}
		out["headers"] = headers
	}
	return out
}

func (d *describer) problems() object {
	return object{
		"description": "An error.",
		"content":     d.content(Problems()),
	}
}

func (d *describer) content(c *Content) object {
	switch {
	case c.Frames:
		page := object{
			"type": "object", "required": []string{"events", "next", "top"},
			"properties": object{
				"events": object{"type": "array", "items": d.reference("ServerEvent"), "description": "The frames as they are in the log."},
				"next":   d.reference("Position"),
				"top":    d.reference("Position"),
			},
		}
		stream := object{"schema": object{"type": "string", "description": "Server-Sent Events whose data are native frames."}}
		return object{c.Media: object{"schema": page}, "text/event-stream": stream}
	case c.Ref != "":
		return object{c.Media: object{"schema": d.reference(c.Ref)}}
	case c.shape == nil && c.typ != nil:
		return object{c.Media: object{"schema": d.outputSchema(c.typ)}}
	case c.shape != nil:
		return object{c.Media: object{"schema": d.bodySchema(c)}}
	default:
		return object{c.Media: object{}}
	}
}

// bodySchema returns the schema of a body of type c.typ.
func (d *describer) bodySchema(c *Content) object {
	d.collectDocs(c.typ)
	shape := c.shape()
	if c.name != "" {
		named := *shape
		named.Name, shape = c.name, &named
	}
	return d.schema(shape)
}

// collectDocs collects the doc tags of a type and of its fields' types.
func (d *describer) collectDocs(t reflect.Type) {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		d.collectDocs(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if !strings.Contains(t.PkgPath(), "/everdesk/gateway") && !strings.HasPrefix(t.Name(), "Object[") && !strings.HasPrefix(t.Name(), "Member[") {
		return
	}
	for f := range t.Fields() {
		if doc := f.Tag.Get("doc"); doc != "" {
			d.docs[t.Name()+"."+f.Name] = doc
		}
		d.collectDocs(f.Type)
	}
}

// wireReference matches references in the schema of package wire.
var wireReference = regexp.MustCompile(`"#/\$defs/([A-Za-z0-9]+)"`)

// reference returns a reference to a definition of package wire, and adds that definition and all
// that it refers to.
func (d *describer) reference(name string) object {
	if _, there := d.schemas[name]; !there {
		text := string(d.wire[name])
		d.schemas[name] = json.RawMessage(strings.ReplaceAll(text, `"#/$defs/`, `"#/components/schemas/`))
		for _, m := range wireReference.FindAllStringSubmatch(text, -1) {
			d.reference(m[1])
		}
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// schema returns the JSON Schema of a shape. Types of package wire become references to its
// definitions; others get a definition of their own.
func (d *describer) schema(s *wire.Shape) object {
	if _, known := d.wire[s.Name]; known && s.Name != "" {
		return d.reference(s.Name)
	}
	if s.Name == "" || s.Kind != wire.KindObject {
		return d.inlineSchema(s)
	}
	name := strings.ToUpper(s.Name[:1]) + s.Name[1:]
	if _, there := d.schemas[name]; !there {
		d.schemas[name] = object{} // types may be recursive
		d.schemas[name] = d.inlineSchema(s)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

func (d *describer) inlineSchema(s *wire.Shape) object {
	switch s.Kind {
	case wire.KindBool:
		return object{"type": "boolean"}
	case wire.KindInteger, wire.KindNumber:
		out := object{"type": "integer"}
		if s.Kind == wire.KindNumber {
			out["type"] = "number"
		}
		if !math.IsInf(s.Min, 0) {
			out["minimum"] = s.Min
		}
		return out
	case wire.KindString:
		out := object{"type": "string"}
		if s.MinLen > 0 {
			out["minLength"] = s.MinLen
		}
		if s.MaxLen > 0 {
			out["maxLength"] = s.MaxLen
		}
		return out
	case wire.KindArray:
		return object{"type": "array", "items": d.schema(s.Elem)}
	case wire.KindMap:
		return object{"type": "object", "additionalProperties": d.schema(s.Elem)}
	case wire.KindObject:
		return d.fields(s)
	default: // not used in bodies
		return object{}
	}
}

func (d *describer) fields(s *wire.Shape) object {
	properties, required := object{}, []string{}
	for _, f := range s.Fields {
		property := d.schema(f.Shape)
		if doc := d.docs[f.Source]; doc != "" {
			property["description"] = doc
		}
		properties[f.Name] = property
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}
