package mcpclient_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/mcpclient"
)

func TestViewIsReadWithThePublicOriginsThatItDeclares(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("test")}, nil)
	v, err := b.View(t.Context(), ann, "test", "ui://view")
	if err != nil {
		t.Fatal(err)
	}
	if v.HTML != "<p>a view</p>" {
		t.Errorf("the view is %+v, want its document", v)
	}
	if want := []string{"https://api.example.com", "wss://live.example.com"}; !slices.Equal(v.Connect, want) {
		t.Errorf("it connects to %q, want %q", v.Connect, want)
	}
	if want := []string{"https://*.cdn.example.com"}; !slices.Equal(v.Resources, want) {
		t.Errorf("it loads from %q, want %q", v.Resources, want)
	}
	for _, uri := range []string{"ui://text", "ui://none", "file:///etc/passwd", "ui://a\nb"} {
		if _, err := b.View(t.Context(), ann, "test", uri); err == nil {
			t.Errorf("%q is a view, want an error", uri)
		}
	}
	if _, err := b.View(t.Context(), ann, "test", "ui://text"); !errors.Is(err, mcpclient.ErrNoView) {
		t.Errorf("a resource of another type gives %v, want ErrNoView", err)
	}
	if _, err := b.View(t.Context(), ann, "none", "ui://view"); !errors.Is(err, mcpclient.ErrNotFound) {
		t.Errorf("a server that does not exist gives %v, want ErrNotFound", err)
	}
	got, err := b.Resource(t.Context(), ann, "test", "ui://text")
	if err != nil || !strings.Contains(string(got), `"text":"no view"`) {
		t.Errorf("the resource is %s, %v, want its text", got, err)
	}
}

func TestViewsCallOnlyToolsThatAreForThem(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("test")}, nil)
	for name, want := range map[string]bool{"hidden": true, "echo": true, "view": true, "none": false} {
		if tool, ok := b.ViewTool(t.Context(), ann, "test", name); ok != want || ok && tool.Name != name {
			t.Errorf("%s: got %q, %v, want %v", name, tool.Name, ok, want)
		}
	}
	if _, ok := b.ViewTool(t.Context(), ann, "none", "echo"); ok {
		t.Error("a server that does not exist has a tool")
	}
}

func TestResultsForViewsHaveEverything(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("test")}, nil)
	r, err := b.Call(t.Context(), ann, "test", mcpclient.Call{Tool: "view", Input: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Content           []struct{ Text string }
		StructuredContent struct{ N int }
	}
	if err := json.Unmarshal(r.Raw, &raw); err != nil || len(raw.Content) != 1 || raw.Content[0].Text != "shown" || raw.StructuredContent.N != 1 {
		t.Errorf("the result for views is %s, %v, want its text and its data", r.Raw, err)
	}
	if r.Text != "shown" {
		t.Errorf("the result for models is %q, want only the text", r.Text)
	}
}

func TestOriginsOfViews(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]string{
		"https://a.example.com":            "https://a.example.com",
		"https://A.Example.com/":           "https://a.example.com",
		"https://*.example.com":            "https://*.example.com",
		"https://a.example.com:8443":       "https://a.example.com:8443",
		"a.example.com":                    "https://a.example.com",
		"wss://a.example.com":              "wss://a.example.com",
		"http://a.example.com":             "",
		"https://localhost":                "",
		"https://printer":                  "",
		"https://nas.local":                "",
		"https://x.internal":               "",
		"https://10.0.0.1":                 "",
		"https://[::1]":                    "",
		"https://1.2.3":                    "",
		"https://*":                        "",
		"https://*.com.":                   "",
		"https://a.example.com/path":       "",
		"https://a.example.com?x":          "",
		"https://u@a.example.com":          "",
		"https://a.example.com;script-src": "",
		"https://a.example.com 'self'":     "",
		"https://a.example.com\"":          "",
		"data:":                            "",
		"":                                 "",
	} {
		got, ok := mcpclient.AllowedOrigin(declared, "https", "wss")
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", declared, got, ok, want)
		}
	}
}
