package sse_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/sse"
)

// ask sends a request to a server with this response.
func ask(t *testing.T, answer http.HandlerFunc) (int, *providers.Failure) {
	t.Helper()
	web := httptest.NewServer(answer)
	t.Cleanup(web.Close)
	s, err := sse.New(sse.Config{Base: web.URL + "/", Header: http.Header{"X-Api-Key": {"the-secret"}}, Secret: "the-secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return count(t, s)
}

// count sends a request and counts events; one with "last" is the last.
func count(t *testing.T, s *sse.Server) (n int, f *providers.Failure) {
	t.Helper()
	err := s.Stream(t.Context(), "/x", map[string]int{"a": 1}, func(e sse.Event) (bool, error) {
		n++
		return string(e.Data) == "last", nil
	})
	if err == nil {
		return n, nil
	}
	f, ok := err.(*providers.Failure) //nolint:errorlint // it is promised to be one
	if !ok {
		t.Fatalf("the error is %T (%v), want a *providers.Failure", err, err)
	}
	return n, f
}

func TestErrorsHaveClass(t *testing.T) {
	t.Parallel()
	say := func(kind, code, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"code":%q,"message":%q}}`, kind, code, message)
	}
	tests := map[string]struct {
		status int
		body   string
		want   providers.Class
		text   string
	}{
		"wrong request":     {400, say("invalid_request_error", "", "no such field"), providers.Invalid, "no such field"},
		"prompt too long":   {400, say("invalid_request_error", "", "prompt is too long: 9 > 8"), providers.ContextLength, "9 > 8"},
		"context length":    {400, say("invalid_request_error", "context_length_exceeded", "no"), providers.ContextLength, ""},
		"llama.cpp":         {400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, providers.ContextLength, ""},
		"wrong key":         {401, say("authentication_error", "", "invalid x-api-key the-secret"), providers.Auth, "invalid x-api-key [key]"},
		"forbidden":         {403, "", providers.Auth, "Forbidden"},
		"no money":          {429, say("insufficient_quota", "insufficient_quota", "pay"), providers.Auth, "pay"},
		"no such model":     {404, `{"error":"model 'x' not found"}`, providers.Invalid, "model 'x' not found"},
		"too large":         {413, say("request_too_large", "", "large"), providers.ContextLength, ""},
		"too many":          {429, say("rate_limit_error", "", "slow down"), providers.Rate, ""},
		"too many tokens":   {429, say("invalid_request_error", "", "Too many tokens per day"), providers.Rate, ""},
		"tokens, no status": {400, say("invalid_request_error", "", "too many tokens"), providers.ContextLength, ""},
		"busy windows":      {503, say("api_error", "", "context window service is away"), providers.Overloaded, ""},
		"forbidden words":   {403, say("", "", "this key has no right to a context window of 1M"), providers.Auth, ""},
		"not found":         {404, say("not_found_error", "", "no model with that context length"), providers.Invalid, ""},
		"internal":          {500, say("api_error", "", "oops"), providers.Transport, "oops"},
		"bad gateway":       {502, "<html>bad gateway</html>", providers.Transport, "<html>"},
		"unavailable":       {503, "", providers.Overloaded, ""},
		"overloaded":        {529, say("overloaded_error", "", "Overloaded"), providers.Overloaded, ""},
		"redirect":          {302, "", providers.Invalid, "302"},
		"vLLM":              {400, `{"object":"error","message":"This model's maximum context length is 8 tokens","code":400}`, providers.ContextLength, ""},
		"something long":    {400, strings.Repeat("ü", 5000), providers.Invalid, "ü…"},
		"not even a string": {400, `{"error":7}`, providers.Invalid, "7"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, f := ask(t, fakemodel.Status(tt.status, tt.body))
			if f == nil || f.Class != tt.want || !strings.Contains(f.Error(), tt.text) {
				t.Errorf("got %v, want %s with %q", f, tt.want, tt.text)
			}
			if f != nil && (strings.Contains(f.Error(), "the-secret") || len(f.Error()) > 600) {
				t.Errorf("the error contains a secret or the whole body, want neither: %v", f)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"Retry-After: 7":                             7 * time.Second,
		"Retry-After: 0.5":                           500 * time.Millisecond,
		"Retry-After-Ms: 250":                        250 * time.Millisecond,
		"Retry-After: -3":                            0,
		"Retry-After: NaN":                           0,
		"Retry-After: 1e300":                         24 * time.Hour,
		"Retry-After: soon":                          0,
		"X-Something-Else: yes":                      0,
		"Retry-After: Wed, 21 Oct 2015 07:28:00 GMT": 0,
	} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			_, f := ask(t, fakemodel.Status(429, "", header))
			if f == nil || f.RetryAfter != want {
				t.Errorf("got %+v, want %v", f, want)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	html := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>Log in to the hotel")
	}
	cut := func(w http.ResponseWriter, r *http.Request) {
		fakemodel.Raw("data: 1\n\ndata: 2\n\n")(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	tests := map[string]struct {
		answer http.HandlerFunc
		events int
		want   providers.Class // empty means no failure
		text   string
	}{
		"whole":           {fakemodel.Raw("data: 1\n\ndata: last\n\ndata: 3\n\n"), 2, "", ""},
		"ends too early":  {fakemodel.Raw("data: 1\n\n"), 1, providers.Transport, "ended before the reply did"},
		"empty":           {fakemodel.Raw(""), 0, providers.Transport, "ended before"},
		"cut":             {cut, 2, providers.Transport, "read the stream"},
		"reset":           {fakemodel.Reset(), 0, providers.Transport, "reach the model server"},
		"a huge line":     {fakemodel.Raw("data: " + strings.Repeat("x", sse.MaxEvent+1)), 0, providers.Transport, "too long"},
		"a web page":      {html, 0, providers.Transport, "text/html"},
		"an error in 200": {fakemodel.Status(200, `{"error":{"type":"overloaded_error","message":"busy"}}`), 0, providers.Overloaded, "busy"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, f := ask(t, tt.answer)
			if n != tt.events || (f == nil) != (tt.want == "") || f != nil && (f.Class != tt.want || !strings.Contains(f.Error(), tt.text)) {
				t.Errorf("got %d events and %v, want %d and %s with %q", n, f, tt.events, tt.want, tt.text)
			}
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(nil)
	web.Close()
	s, err := sse.New(sse.Config{Base: "http://user:password@" + strings.TrimPrefix(web.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, f := count(t, s)
	if f == nil || f.Class != providers.Transport || strings.Contains(f.Error(), "password") || !strings.Contains(f.Error(), "refused") {
		t.Errorf("got %v, want a refused connection of class %s without the password", f, providers.Transport)
	}
	if _, err := s.Get(t.Context(), "/models"); err == nil {
		t.Error("a closed port answered, want an error")
	}
}

// Redirects are refused, because they would send the key to another server.
func TestKeysAreNotSentToOtherHosts(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect is followed, want it refused")
	}))
	defer elsewhere.Close()
	_, f := ask(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	if f == nil || f.Class != providers.Invalid {
		t.Errorf("got %v, want class %s", f, providers.Invalid)
	}
}

func TestSilentStreamTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := fakemodel.New()
		client := fake.Pipe()
		defer fake.Close()
		defer client.CloseIdleConnections()
		slow := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 5 { // slow, but within the idle timeout
				_, _ = io.WriteString(w, fmt.Sprintf("data: %d\n\n", i))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(50 * time.Second)
			}
			<-r.Context().Done()
		}
		fake.Next(slow, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		s, err := sse.New(sse.Config{Base: "http://fake", HTTP: client, Idle: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			events int
			took   time.Duration
		}{{5, 4*50*time.Second + time.Minute}, {0, time.Minute}} {
			start := time.Now()
			n, f := count(t, s)
			if n != want.events || f == nil || f.Class != providers.Transport || !errors.Is(f, providers.ErrSilent) {
				t.Errorf("got %d events and %v, want %d and %v of class %s", n, f, want.events, providers.ErrSilent, providers.Transport)
			}
			if took := time.Since(start); took != want.took {
				t.Errorf("it took %v, want %v", took, want.took)
			}
		}
	})
}

// Time spent on processing an event does not count as silence of the server.
func TestSlowReaderIsNotSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := fakemodel.New()
		client := fake.Pipe()
		defer fake.Close()
		defer client.CloseIdleConnections()
		fake.Next(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Minute)
			_, _ = io.WriteString(w, "data: 2\n\n")
		})
		s, err := sse.New(sse.Config{Base: "http://fake", HTTP: client, Idle: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = s.Stream(t.Context(), "/x", nil, func(sse.Event) (bool, error) {
			n++
			time.Sleep(10 * time.Minute)
			return n == 2, nil
		})
		if n != 2 || err != nil {
			t.Errorf("got %d events and %v, want 2 and no error", n, err)
		}
	})
}

func TestWrongConfigurations(t *testing.T) {
	t.Parallel()
	for _, cfg := range []sse.Config{
		{},
		{Base: "api.example.com"},
		{Base: "ftp://example.com"},
		{Base: "http://"},
		{Base: "http://x/?key=abc"},
		{Base: "http://\x00"},
		{Base: "http://x", Header: http.Header{"X-Api-Key": {"abc\n"}}, Secret: "abc\n"},
	} {
		_, err := sse.New(cfg)
		if err == nil || strings.Contains(err.Error(), "abc") {
			t.Errorf("%+v: got error %v, want one without the secret", cfg, err)
		}
	}
}

func TestRequestsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s, err := sse.New(sse.Config{Base: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Stream(t.Context(), "/x", func() {}, func(sse.Event) (bool, error) { return true, errors.New("never") })
	f, _ := errors.AsType[*providers.Failure](err)
	if f == nil || f.Class != providers.Invalid {
		t.Errorf("got %v, want class %s", err, providers.Invalid)
	}
}
