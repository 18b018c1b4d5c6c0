package mcpclient_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/mcpclient"
)

func TestConfigurationsOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config string
		want   []mcpclient.Server
		inputs []mcpclient.Input
		warns  int
	}{
		"Claude Desktop": {
			config: `{"mcpServers":{"files":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/tmp"],"env":{"A":"b"}}}}`,
			want:   []mcpclient.Server{{Name: "files", Type: "stdio", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/tmp"}, Env: map[string]string{"A": "b"}}},
		},
		"VS Code": {
			config: "\xef\xbb\xbf" + `{
				// asked once
				"inputs": [{"type":"promptString","id":"key","description":"The key","password":true},],
				"servers": {"github": {"type":"http","url":"https://api.example.org/mcp","headers":{"Authorization":"Bearer ${input:key}"},}, /* old */ "old": {"type":"sse","url":"http://old.example.org//sse"}},
			}`,
			want: []mcpclient.Server{
				{Name: "github", Type: "http", URL: "https://api.example.org/mcp", Headers: map[string]string{"Authorization": "Bearer ${input:key}"}},
				{Name: "old", Type: "sse", URL: "http://old.example.org//sse"},
			},
			inputs: []mcpclient.Input{{ID: "key", Description: "The key"}},
		},
		"settings of VS Code": {
			config: `{"editor.fontSize":12,"mcp":{"servers":{"a":{"url":"https://a.example.org"}}}}`,
			want:   []mcpclient.Server{{Name: "a", Type: "http", URL: "https://a.example.org"}},
		},
		"Cursor, Windsurf, Roo": {
			config: `{"mcpServers":{"a":{"url":"https://${env:HOST}/mcp"},"b":{"serverUrl":"https://b.example.org/"},"c":{"command":"c","disabled":true,"alwaysAllow":["x"],"timeout":60}}}`,
			want: []mcpclient.Server{
				{Name: "a", Type: "http", URL: "https://${env:HOST}/mcp"},
				{Name: "b", Type: "http", URL: "https://b.example.org/"},
				{Name: "c", Type: "stdio", Command: "c", Disabled: true, Timeout: 60},
			},
			warns: 1,
		},
		"only the servers": {
			config: `{"a b":{"command":"x","type":"stdio","scope":"session","trusted":true,"profiles":["web"]}}`,
			want:   []mcpclient.Server{{Name: "a b", Type: "stdio", Command: "x", Scope: "session", Trusted: true, Profiles: []string{"web"}}},
		},
		"with a file of variables": {
			config: `{"servers":{"a":{"command":"x","args":["${workspaceFolder:-/srv}"],"envFile":"/srv/a.env"}}}`,
			want:   []mcpclient.Server{{Name: "a", Type: "stdio", Command: "x", Args: []string{"${workspaceFolder:-/srv}"}, EnvFile: "/srv/a.env"}},
		},
		"none": {config: `{"mcpServers":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := mcpclient.Parse([]byte(tt.config))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Servers); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.inputs, got.Inputs); diff != "" || len(got.Warnings) != tt.warns {
				t.Errorf("inputs (-want +got):\n%s\nwarnings are %q, want %d", diff, got.Warnings, tt.warns)
			}
		})
	}
}

func TestBadConfigurationsNameTheField(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		``:                                      "want a JSON object",
		`null`:                                  "want a JSON object",
		`[]`:                                    "want a JSON object",
		`{"mcpServers":[]}`:                     "mcpServers",
		`{"other":1}`:                           "other",
		`{"mcpServers":{"":{}}}`:                "want a name",
		`{"mcpServers":{"a/b":{}}}`:             "want a name",
		`{"mcpServers":{"a":1}}`:                "a: want an object",
		`{"mcpServers":{"a":{}}}`:               "a.url",
		`{"mcpServers":{"a":{"type":"stdio"}}}`: "command",
		`{"mcpServers":{"a":{"type":"telnet","url":"https://x"}}}`:                 "a.type",
		`{"mcpServers":{"a":{"command":"x","url":"https://x"}}}`:                   "either command",
		`{"mcpServers":{"a":{"url":"ftp://x"}}}`:                                   "a.url",
		`{"mcpServers":{"a":{"url":"https://u:p@x"}}}`:                             "a.url",
		`{"mcpServers":{"a":{"command":"x","args":"y"}}}`:                          "a.args: want a list",
		`{"mcpServers":{"a":{"command":"x","env":{"A=B":"c"}}}}`:                   "a.env",
		`{"mcpServers":{"a":{"url":"https://x","headers":{"A\nB":"c"}}}}`:          "a.headers",
		`{"mcpServers":{"a":{"command":"x","scope":"world"}}}`:                     "a.scope",
		`{"mcpServers":{"a":{"command":"x","timeout":-1}}}`:                        "a.timeout",
		`{"mcpServers":{"a":{"command":"x","timeout":1.5}}}`:                       "a.timeout",
		`{"mcpServers":{"a":{"command":"x","args":["y","${workspaceFolder}/z"]}}}`: "a.args: only an editor has a value for ${workspaceFolder}",
		`{"mcpServers":{"a":{"command":"x","cwd":"${workspaceFolder:api}"}}}`:      "a.cwd: only an editor",
		`{"mcpServers":{"a":{"command":"x","env":{"D":"${fileDirname}"}}}}`:        "a.env.D: only an editor",
		`{"mcpServers":{"a":{"command":"x","envFile":1}}}`:                         "a.envFile: want a text",
		`{"mcpServers":{"a":{"url":"https://x","envFile":"/srv/x.env"}}}`:          "a.envFile: want the path",
		`{"mcpServers":{"a":{"command":"x\u0000"}}}`:                               "command",
		`{"mcpServers":{"a":{"command":"` + strings.Repeat("x", 9000) + `"}}}`:     "command",
		`{"x":"` + strings.Repeat("x", mcpclient.MaxConfig) + `"}`:                 "bytes",
	} {
		_, err := mcpclient.Parse([]byte(config))
		if _, ok := errors.AsType[*mcpclient.FieldError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got the error %v, want a FieldError with %q", config, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"mcpServers":{"a":{"command":"x","args":["-y"],"env":{"A":"b"}}}}`, `{"servers":{"a":{"url":"https://x/${input:k}"}},"inputs":[{"id":"k"}]}`,
		"{/*", `{"a":"//"}`, `{"mcpServers":{"a":{"command":"x",},},}`, "{//", `{"a":"\"/*"}`, `{"mcp":{"mcp":{}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := mcpclient.Parse(data)
		if err != nil {
			if _, ok := errors.AsType[*mcpclient.FieldError](err); !ok {
				t.Fatalf("got the error %v, want a FieldError", err)
			}
			return
		}
		for _, s := range d.Servers { // what is read can be stored and read again
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := mcpclient.ParseServer(s.Name, text)
			if err != nil {
				t.Fatalf("%s is not read again: %v", text, err)
			}
			once, _ := json.Marshal(again)
			if string(once) != string(text) {
				t.Fatalf("it is read again as %s, want %s", once, text)
			}
		}
	})
}
