package mcpclient

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/internal/truncation"
)

// Bounds of a configuration.
const (
	// MaxConfig bounds a configuration in bytes.
	MaxConfig = 256 << 10
	// MaxServers bounds the servers of a configuration.
	MaxServers = 64
	maxName    = 64   // characters of the name of a server
	maxItems   = 256  // arguments, variables or headers of a server
	maxText    = 8192 // bytes of each
	maxTimeout = time.Hour
)

// Transport is how a server is reached.
type Transport string

// The transports. SSE is the older form of HTTP.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
)

// Scope says who shares an instance of a server.
type Scope string

// The scopes. ScopeHub is for servers of the operator only.
const (
	ScopeHub     Scope = "hub"
	ScopeUser    Scope = "user"
	ScopeSession Scope = "session"
)

// Server is an entry of a configuration. Its texts may contain variables, see [Manager].
type Server struct {
	Name    string            `json:"-"`
	Type    Transport         `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// EnvFile is a file with more variables for a program of the operator; those of Env take precedence.
	EnvFile string            `json:"envFile,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Disabled servers are listed but not used.
	Disabled bool `json:"disabled,omitempty"`
	// Scope is empty for the default: ScopeHub for servers of the operator, ScopeUser for those of users.
	Scope Scope `json:"scope,omitempty"`
	// Trusted says that the annotations of its tools count: those that only read run without a
	// question.
	Trusted bool `json:"trusted,omitempty"`
	// Profiles limits the tool profiles that have its tools; empty means all.
	Profiles []string `json:"profiles,omitempty"`
	// Sampling lets the server ask the model of the caller during a call, after the user has agreed.
	Sampling bool `json:"sampling,omitempty"`
	// Timeout bounds how long a call may be silent, in seconds; 0 means the default.
	Timeout int `json:"timeout,omitempty"`
}

// Input is a value that a configuration of VS Code asks for. It is stored as a secret with that name.
type Input struct {
	ID          string
	Description string
}

// Document is a parsed configuration.
type Document struct {
	Servers []Server // ordered by name
	Inputs  []Input
	// Warnings name what was ignored.
	Warnings []string
}

// FieldError says which part of a configuration is not valid, and what is.
type FieldError struct {
	Field  string
	Detail string
}

// Error implements error.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

func wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

// Parse reads a configuration: an object with mcpServers or servers, or only what is inside of it. Comments
// and commas at the end of lists are allowed. The error is a [*FieldError].
func Parse(data []byte) (Document, error) {
	var d Document
	if len(data) > MaxConfig {
		return d, wrong("", "the configuration has %d bytes, at most %d are allowed", len(data), MaxConfig)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(plainJSON(data), &top); err != nil || top == nil {
		return d, wrong("", "want a JSON object with mcpServers: %v", cmp.Or(err, errNoObject))
	}
	entries, field, err := serversOf(top)
	if err != nil {
		return d, err
	}
	if len(entries) > MaxServers {
		return d, wrong(field, "there are %d servers, at most %d are allowed", len(entries), MaxServers)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		s, warnings, err := parseServer(name, entries[name])
		if err != nil {
			return Document{}, err
		}
		if err := s.checkVariables(); err != nil {
			return Document{}, err
		}
		d.Servers = append(d.Servers, s)
		d.Warnings = append(d.Warnings, warnings...)
	}
	d.Inputs = inputsOf(top["inputs"])
	return d, nil
}

var errNoObject = errors.New("it is null")

// serversOf returns the entries of a configuration and the key that they were under.
func serversOf(top map[string]json.RawMessage) (map[string]json.RawMessage, string, error) {
	var entries map[string]json.RawMessage
	for _, key := range []string{"mcpServers", "servers", "mcp"} {
		raw, ok := top[key]
		if !ok {
			continue
		}
		if json.Unmarshal(raw, &entries) != nil || entries == nil {
			return nil, "", wrong(key, "want an object with a server for each name")
		}
		if key == "mcp" { // settings of VS Code
			return serversOf(entries)
		}
		return entries, key, nil
	}
	for name, raw := range top {
		var e map[string]json.RawMessage
		_ = json.Unmarshal(raw, &e)
		if e["command"] == nil && e["url"] == nil && e["serverUrl"] == nil {
			return nil, "", wrong(shorten(name), "want an object with mcpServers, and in it a server with command or url for each name")
		}
	}
	return top, "", nil
}

// inputsOf returns the inputs of a configuration of VS Code. What is no input is ignored: it cannot be referred to.
func inputsOf(raw json.RawMessage) []Input {
	var all []struct {
		ID          string `json:"id"`
		Description string `json:"description"`
	}
	_ = json.Unmarshal(raw, &all)
	var out []Input
	for _, i := range all[:min(len(all), MaxServers)] {
		if i.ID != "" {
			out = append(out, Input{shorten(i.ID), shorten(i.Description)})
		}
	}
	return out
}

// ParseServer reads one entry of a configuration. The error is a [*FieldError].
func ParseServer(name string, data []byte) (Server, []string, error) {
	if len(data) > MaxConfig {
		return Server{}, nil, wrong("", "the entry has %d bytes, at most %d are allowed", len(data), MaxConfig)
	}
	s, warnings, err := parseServer(name, plainJSON(data))
	if err != nil {
		return s, nil, err
	}
	return s, warnings, s.checkVariables()
}

func parseServer(name string, raw json.RawMessage) (Server, []string, error) {
	s := Server{Name: name}
	if !isLine(name, maxName) || strings.ContainsAny(name, "/\\") {
		return s, nil, wrong(shorten(name), "want a name of 1 to %d characters without slashes", maxName)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return s, nil, wrong(name, "want an object with command or url")
	}
	var kind, other string
	targets := map[string]any{
		"type": &kind, "transport": &kind, "command": &s.Command, "args": &s.Args, "env": &s.Env, "envFile": &s.EnvFile, "cwd": &s.Cwd, "url": &s.URL, "serverUrl": &other,
		"httpUrl": &other, "headers": &s.Headers, "disabled": &s.Disabled, "scope": &s.Scope, "trusted": &s.Trusted, "profiles": &s.Profiles, "sampling": &s.Sampling, "timeout": &s.Timeout,
	}
	var ignored []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		to, known := targets[key]
		if !known {
			ignored = append(ignored, shorten(key))
			continue
		}
		if err := json.Unmarshal(fields[key], to); err != nil {
			return s, nil, wrong(name+"."+key, "%s", wanted(key))
		}
	}
	s.URL = cmp.Or(s.URL, other)
	if err := s.setType(kind); err != nil {
		return s, nil, err
	}
	if err := s.check(); err != nil {
		return s, nil, err
	}
	if ignored = ignored[:min(len(ignored), 20)]; len(ignored) > 0 {
		return s, []string{fmt.Sprintf("%s: ignored: %s", name, strings.Join(ignored, ", "))}, nil
	}
	return s, nil, nil
}

// wanted describes the values of a field.
func wanted(key string) string {
	switch key {
	case "args", "profiles":
		return "want a list of texts"
	case "env", "headers":
		return "want an object of texts"
	case "disabled", "trusted", "sampling":
		return "want true or false"
	case "timeout":
		return "want a whole number of seconds"
	}
	return "want a text"
}

// setType sets the transport from its name in a configuration, or from the other fields.
func (s *Server) setType(kind string) error {
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(kind)) {
	case "":
		s.Type = HTTP
		if s.Command != "" {
			s.Type = Stdio
		}
	case "stdio", "local":
		s.Type = Stdio
	case "http", "streamablehttp", "remote":
		s.Type = HTTP
	case "sse":
		s.Type = SSE
	default:
		return wrong(s.Name+".type", "want stdio, http or sse")
	}
	return nil
}

// check returns why an entry is not valid, or nil.
func (s *Server) check() error {
	field := func(name string) string { return s.Name + "." + name }
	switch {
	case s.Type == Stdio && !isText(s.Command), s.Command != "" && s.URL != "":
		return wrong(s.Name, "want either command, a program, or url, the address of a server")
	case s.Type != Stdio && !isURL(s.URL):
		return wrong(field("url"), "want a URL, as in https://example.org/mcp")
	case !isTexts(s.Args):
		return wrong(field("args"), "want at most %d texts of at most %d bytes", maxItems, maxText)
	case !isTexts(slices.Collect(maps.Keys(s.Env))) || !isTexts(slices.Collect(maps.Values(s.Env))) || hasOddName(s.Env):
		return wrong(field("env"), "want at most %d variables of at most %d bytes", maxItems, maxText)
	case !isTexts(slices.Collect(maps.Keys(s.Headers))) || !isTexts(slices.Collect(maps.Values(s.Headers))) || hasOddName(s.Headers):
		return wrong(field("headers"), "want at most %d headers of at most %d bytes", maxItems, maxText)
	case !isTexts([]string{s.Cwd}):
		return wrong(field("cwd"), "want the path of a folder")
	case s.EnvFile != "" && (s.Type != Stdio || !isText(s.EnvFile)):
		return wrong(field("envFile"), "want the path of a file, for a server with command")
	case !slices.Contains([]Scope{"", ScopeHub, ScopeUser, ScopeSession}, s.Scope):
		return wrong(field("scope"), "want hub, user or session")
	case s.Timeout < 0 || time.Duration(s.Timeout)*time.Second > maxTimeout:
		return wrong(field("timeout"), "want 0 to %d seconds", int(maxTimeout/time.Second))
	case len(s.Profiles) > maxItems || !isTexts(s.Profiles):
		return wrong(field("profiles"), "want a list of tool profiles")
	}
	return nil
}

// isURL reports whether a text with variables can be the address of a server.
func isURL(s string) bool {
	u, err := url.Parse(variables.ReplaceAllString(s, "x"))
	return isText(s) && err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// hasOddName reports whether a variable or header has a name that cannot be one.
func hasOddName(all map[string]string) bool {
	for name := range all {
		if name == "" || strings.ContainsAny(name, "= \t\r\n:") {
			return true
		}
	}
	return false
}

func isTexts(all []string) bool {
	odd := func(s string) bool { return len(s) > maxText || !utf8.ValidString(s) || strings.ContainsRune(s, 0) }
	return len(all) <= maxItems && !slices.ContainsFunc(all, odd)
}

func isText(s string) bool { return s != "" && isTexts([]string{s}) }

// isLine reports whether s has 1 to most characters, none of them a control character, and no blank at its
// ends.
func isLine(s string, most int) bool {
	return utf8.ValidString(s) && s != "" && utf8.RuneCountInString(s) <= most && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, unicode.IsControl)
}

// shorten returns the beginning of a text of others as one line, for messages.
func shorten(s string) string {
	return truncation.BytesMarked(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " "), 200, "…")
}

// scope returns the scope of an entry of the operator or of a user.
func (s *Server) scope(ofUser bool) Scope {
	switch {
	case ofUser && s.Scope == ScopeSession:
		return ScopeSession
	case ofUser:
		return ScopeUser
	}
	return cmp.Or(s.Scope, ScopeHub)
}

// hash identifies what an instance is started with.
func (s *Server) hash() string {
	data, err := json.Marshal(s)
	if err != nil {
		panic("mcpclient: encode an entry: " + err.Error()) // it has texts and numbers only
	}
	sum := sha256.Sum256(append(data, s.Name...))
	return hex.EncodeToString(sum[:8])
}

// plainJSON replaces comments and commas before a closing bracket by blanks, and removes a byte order mark.
func plainJSON(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	out := bytes.Clone(data)
	comma := -1 // the position of a comma that only blanks and comments follow
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out
}

// blankComment replaces the comment at i by blanks and returns the position of its last byte.
func blankComment(out []byte, i int) int {
	end, more := "\n", 0
	if out[i+1] == '*' {
		end, more = "*/", 2
	}
	n := bytes.Index(out[i+2:], []byte(end))
	if n < 0 {
		n, more = len(out)-i-2, 0
	}
	last := i + 2 + n + more
	for j := i; j < last; j++ {
		out[j] = ' '
	}
	return last - 1
}
