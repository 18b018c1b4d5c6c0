package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/openai"
	"github.com/everdesk/everdesk/tools"
)

// oneModel has one provider.
type oneModel struct{ providers.Provider }

func (m oneModel) Get(_, name string) (providers.Provider, bool) { return m, name == m.Name() }

// programModel is a model that is a process.
type programModel struct{ providers.Provider }

func (programModel) Caps() providers.Caps { return providers.Caps{Process: true} }

func TestModelsAnswerMCPServers(t *testing.T) {
	t.Parallel()
	fake := fakemodel.New()
	client := fake.Pipe()
	t.Cleanup(func() {
		client.CloseIdleConnections()
		fake.Close()
	})
	p, err := openai.New(openai.Config{BaseURL: "http://fake/v1", HTTP: client, Dialect: openai.Chat})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	request := mcpclient.ModelRequest{Server: "files", System: "Be brief.", Messages: []mcpclient.ModelMessage{
		{Text: "Hello"}, {Text: "Hello, too", FromModel: true}, {Text: "/say forty-two"},
	}}
	by := tools.Caller{User: "ann", Provider: p.Name()}
	a, err := completer{oneModel{p}}.Complete(t.Context(), by, request)
	if err != nil || a.Text != "forty-two" || a.Model != p.Name() {
		t.Errorf("the answer is %+v, %v, want forty-two of %s", a, err, p.Name())
	}
	for _, want := range []string{"Be brief.", "Hello, too"} {
		if sent := fake.Requests()[0].Body; !bytes.Contains(sent, []byte(want)) || bytes.Contains(sent, []byte(`"tools"`)) {
			t.Errorf("the model got %s, want %q and no tools", sent, want)
		}
	}
	if _, err := (completer{oneModel{programModel{p}}}).Complete(t.Context(), by, request); err == nil || !strings.Contains(err.Error(), "program") {
		t.Errorf("a program as the model gives %v, want a refusal", err)
	}
	by.Provider = "other"
	if _, err := (completer{oneModel{p}}).Complete(t.Context(), by, request); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("an unknown model gives %v, want its name", err)
	}
}
