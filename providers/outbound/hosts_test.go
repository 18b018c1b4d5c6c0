package outbound_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/outbound"
)

func TestListsOfHosts(t *testing.T) {
	t.Parallel()
	for _, list := range []string{
		"", " , ", "localhost", "localhost:11434", "Models.Example.org.", "127.0.0.1", "127.0.0.1:11434", "[::1]:11434", "::1", "[::1]",
		"10.0.0.0/8, fd00::/8,192.168.1.5:8000",
	} {
		if _, err := outbound.ParseHosts(list); err != nil {
			t.Errorf("list %q: %v, want no error", list, err)
		}
	}
	for _, list := range []string{
		"http://localhost", "localhost:0", "localhost:65536", "localhost:x", "10.0.0.1/8", "10.0.0.0/33", "::ffff:10.0.0.0/104", "fe80::1%eth0",
		"*.example.org", "user@host", "a b", "[localhost]", "ok.example.org,:80",
	} {
		if _, err := outbound.ParseHosts(list); err == nil {
			t.Errorf("list %q is accepted, want an error", list)
		}
	}
}

func TestBaseURLs(t *testing.T) {
	t.Parallel()
	hosts, err := outbound.ParseHosts("127.0.0.1:11434,10.0.0.0/8,169.254.10.0/24")
	if err != nil {
		t.Fatal(err)
	}
	hosts = hosts.With("http://192.168.7.7/v1", "https://192.168.7.8:8443/v1", "no URL")
	for _, good := range []string{
		"https://api.example.org", "http://api.example.org:8080/v1", "http://8.8.8.8", "http://127.0.0.1:11434/v1", "http://[::ffff:127.0.0.1]:11434",
		"https://10.200.0.1:9/v1", "http://169.254.10.9", "http://192.168.7.7", "http://192.168.7.7:80/", "https://192.168.7.8:8443", "http://localhost:1",
	} {
		if err := hosts.CheckURL(good); err != nil {
			t.Errorf("%s: %v, want no error", good, err)
		}
	}
	for _, bad := range []string{
		"http://127.0.0.1", "http://127.0.0.1:11435/v1", "http://[::1]:11434", "http://169.254.169.254/latest", "http://192.168.7.7:81", "https://192.168.7.8",
		"http://[::ffff:192.168.7.9]/", "http://0.0.0.0:11434",
	} {
		refusal, ok := errors.AsType[*outbound.AddressError](hosts.CheckURL(bad))
		if !ok || !strings.Contains(refusal.Error(), outbound.CodeAddress) || !strings.Contains(refusal.Error(), "--provider-hosts") {
			t.Errorf("%s: %v, want a refusal with its code and what the operator can do", bad, refusal)
		}
	}
	for _, bad := range []string{"", "ftp://example.org", "example.org", "https://", "https://u:p@example.org", "https://example.org/?a=b", "https://example.org#a", "http://8.8.8.8:99999"} {
		f, ok := errors.AsType[*providers.Failure](hosts.CheckURL(bad))
		if !ok || f.Class != providers.Invalid {
			t.Errorf("%q: %v, want a failure of the class %s", bad, f, providers.Invalid)
		}
	}
}
