package providers_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

func TestRedactRemovesKeysInEveryForm(t *testing.T) {
	t.Parallel()
	const key = `Zk9-canary/"<&>\71 x`
	for in, want := range map[string]string{
		"Incorrect API key: " + key + ".":                       "Incorrect API key: [key].",
		`{"x-api-key":"Zk9-canary/\"<&>\\71 x"}`:                `{"x-api-key":"[key]"}`,
		`{"x-api-key":"Zk9-canary/\"\u003c\u0026\u003e\\71 x"}`: `{"x-api-key":"[key]"}`,
		"?key=Zk9-canary%2F%22%3C%26%3E%5C71+x&a=1":             "?key=[key]&a=1",
		"base64 Wms5LWNhbmFyeS8iPCY+XDcxIHg=":                   "base64 [key]=",
		"base64url Wms5LWNhbmFyeS8iPCY-XDcxIHg":                 "base64url [key]",
		"Basic dTpaazktY2FuYXJ5LyI8Jj5cNzEgeA==":                "Basic dTp[key]eA==",
		"hex 5a6b392d63616e6172792f223c263e5c37312078":          "hex [key]",
		"it begins with Zk9-ca***, they say":                    "it begins with [key], they say",
		"other key sk-abcdef":                                   "other key [key]",
		"no key":                                                "no key",
	} {
		if got := providers.Redact(in, "", key); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
	if got := providers.Redact("short: ab, abc", "ab"); got != "short: [key], [key]c" {
		t.Errorf("a short key: got %q", got)
	}
}

func TestRedactErrorKeepsClassAndCause(t *testing.T) {
	t.Parallel()
	const key = "Zk9-canary-0815"
	clean := errors.New("no")
	if got := providers.RedactError(clean, key); !errors.Is(got, clean) || got.Error() != "no" {
		t.Errorf("an error without a key: got %v, want it unchanged", got)
	}
	failed := &providers.Failure{Class: providers.Auth, Err: fmt.Errorf("%s is wrong: %w", key, io.EOF)}
	for _, in := range []error{failed, fmt.Errorf("start: %w", failed)} {
		err := providers.RedactError(in, key)
		f, ok := errors.AsType[*providers.Failure](err)
		if !ok || f.Class != providers.Auth || !errors.Is(err, io.EOF) || strings.Contains(f.Error(), key) {
			t.Errorf("got %v, want the failure of class auth with its cause and without the key", err)
		}
	}
	if providers.RedactError(nil, key) != nil {
		t.Error("no error: got one, want none")
	}
}
