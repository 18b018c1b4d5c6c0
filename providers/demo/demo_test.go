package demo_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/providers/providertest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Bench{
		Around: synctest.Test,
		New:    func(*testing.T) providers.Provider { return demo.New(demo.Config{}) },
		Prompt: script,
		Usage:  true,
		Fails: []providers.Class{
			providers.Auth, providers.Rate, providers.Overloaded, providers.Transport,
			providers.ContextLength, providers.Refused, providers.Invalid,
		},
	})
}

// script returns steps as directives.
func script(steps ...providertest.Step) string {
	var lines []string
	for _, s := range steps {
		switch {
		case s.Say != "":
			lines = append(lines, "/say "+s.Say)
		case s.Recall:
			lines = append(lines, "/recall")
		case s.Hang:
			lines = append(lines, "/hang")
		case s.Fail != "":
			lines = append(lines, "/fail "+string(s.Fail)+": as it was told")
		default:
			line := []string{"/call"}
			for _, c := range s.Calls {
				line = append(line, c.Name, string(c.Input))
			}
			lines = append(lines, strings.Join(line, " "))
		}
	}
	return strings.Join(lines, "\n")
}
