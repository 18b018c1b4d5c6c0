package probe_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/openai"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/providers/probe"
)

const key = "sk-canary-0123456789-abcdef"

// serve starts a model server that requires the key.
func serve(t *testing.T) (*fakemodel.Server, string) {
	t.Helper()
	fake := fakemodel.New()
	fake.Key, fake.Models = key, []string{"big", "small"}
	url, err := fake.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return fake, url
}

// client returns a client that reaches the listed hosts.
func client(t *testing.T, list string) *http.Client {
	t.Helper()
	hosts, err := outbound.ParseHosts(list)
	if err != nil {
		t.Fatal(err)
	}
	c := hosts.Client(0)
	t.Cleanup(c.Close)
	return c.Client
}

func TestLists(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	for api, tt := range map[probe.API]struct{ base, name string }{
		probe.Anthropic: {url, "The model big"},
		probe.OpenAI:    {url + "/v1", "big"},
		probe.Ollama:    {url + "/v1/", "big"},
	} {
		got, err := probe.Models(t.Context(), probe.Server{API: api, BaseURL: tt.base, Key: key, HTTP: client(t, "127.0.0.1")})
		if want := []probe.Model{{ID: "big", Name: tt.name}, {ID: "small", Name: strings.Replace(tt.name, "big", "small", 1)}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s lists %+v and %v, want %+v", api, got, err, want)
		}
	}
}

func TestListsThatFail(t *testing.T) {
	t.Parallel()
	fake, url := serve(t)
	check := func(name string, want providers.Class, s probe.Server) {
		t.Helper()
		_, err := probe.Models(t.Context(), s)
		f, _ := errors.AsType[*providers.Failure](err)
		if f == nil || f.Class != want || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v, want a failure of the class %s without the key", name, err, want)
		}
	}
	listed, none := client(t, "127.0.0.1"), client(t, "")
	check("a wrong key", providers.Auth, probe.Server{API: probe.OpenAI, BaseURL: url + "/v1", Key: key + "x", HTTP: listed})
	check("no such API", providers.Invalid, probe.Server{API: "other", BaseURL: url, Key: key, HTTP: listed})
	check("a refused address", providers.Invalid, probe.Server{API: probe.OpenAI, BaseURL: url + "/v1", Key: key, HTTP: none})
	check("a refused address of Ollama", providers.Invalid, probe.Server{API: probe.Ollama, BaseURL: url, Key: key, HTTP: none})
	fake.Close()
	check("no server at the address", providers.Transport, probe.Server{API: probe.Anthropic, BaseURL: url, Key: key, HTTP: listed})
}

func TestOneShortRequest(t *testing.T) {
	t.Parallel()
	fake, url := serve(t)
	p, err := openai.New(openai.Config{BaseURL: url + "/v1", Key: key, Model: "big", HTTP: client(t, "127.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got, err := probe.Test(t.Context(), p, "gpt-5.1")
	if err != nil || !strings.Contains(got.Answer, "hello") || got.Usage.Output == 0 || got.Usage.USD <= 0 || got.Usage.Unpriced || got.Duration <= 0 {
		t.Errorf("the result is %+v and %v, want an answer with its tokens, cost and time", got, err)
	}
	if got, err := probe.Test(t.Context(), p, "big"); err != nil || !got.Usage.Unpriced || got.Usage.USD != 0 {
		t.Errorf("the result of a model without a price is %+v and %v, want it unpriced", got, err)
	}
	if n := len(fake.Requests()); n != 2 {
		t.Errorf("the server got %d requests, want 2", n)
	}
}

func TestFailuresAreNotRetried(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   providers.Class
	}{
		"a wrong key": {fakemodel.Status(401, `{"error":{"type":"authentication_error","message":"Incorrect API key provided: sk-canar****cdef. You wrote `+key+`."}}`), providers.Auth},
		"overloaded":  {fakemodel.Status(529, `{"error":{"type":"overloaded_error","message":"Overloaded by `+key+`"}}`), providers.Overloaded},
		"too often":   {fakemodel.Status(429, "", "Retry-After: 20"), providers.Rate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake, url := serve(t)
			fake.Next(tt.answer)
			p, err := anthropic.New(anthropic.Config{BaseURL: url, Key: key, HTTP: client(t, "127.0.0.1")})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			_, err = probe.Test(t.Context(), p, "")
			f, _ := errors.AsType[*providers.Failure](err)
			if f == nil || f.Class != tt.want || strings.Contains(err.Error(), "canar") || strings.Contains(err.Error(), "cdef") {
				t.Errorf("got %v, want a failure of the class %s without any part of the key", err, tt.want)
			}
			if n := len(fake.Requests()); n != 1 {
				t.Errorf("the server got %d requests, want 1", n)
			}
		})
	}
}

func TestOtherBackends(t *testing.T) {
	t.Parallel()
	p := demo.New(demo.Config{})
	defer p.Close()
	if got, err := probe.Test(t.Context(), p, ""); err != nil || got.Answer == "" {
		t.Errorf("the demo gives %+v and %v, want an answer", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := probe.Test(ctx, p, ""); err == nil {
		t.Error("a test that was given up has a result, want an error")
	}
}
