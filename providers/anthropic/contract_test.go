package anthropic_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/providertest"
)

// prompt returns the directives for these steps.
func prompt(steps ...providertest.Step) string {
	var b strings.Builder
	for _, s := range steps {
		for _, c := range s.Calls {
			fmt.Fprintf(&b, "/call %s %s\n", c.Name, c.Input)
		}
		switch {
		case s.Say != "":
			fmt.Fprintf(&b, "/say %q\n", s.Say)
		case len(s.Calls) > 0:
			b.WriteString("/results\n")
		case s.Recall:
			b.WriteString("/recall\n")
		case s.Hang:
			b.WriteString("/hang\n")
		case s.Fail != "":
			fmt.Fprintf(&b, "/fail %s\n", s.Fail)
		}
	}
	return b.String()
}

func TestContract(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Bench{
		Around: synctest.Test,
		New: func(t *testing.T) providers.Provider {
			t.Helper()
			fake := fakemodel.New()
			client := fake.Pipe()
			t.Cleanup(func() {
				client.CloseIdleConnections()
				fake.Close()
			})
			p, err := anthropic.New(anthropic.Config{BaseURL: "http://fake", Key: "secret", HTTP: client})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Prompt: prompt,
		Fails: []providers.Class{
			providers.Auth, providers.Rate, providers.Overloaded, providers.Transport,
			providers.ContextLength, providers.Refused, providers.Invalid,
		},
		Usage: true,
	})
}
