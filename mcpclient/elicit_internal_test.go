package mcpclient

import (
	"context"
	"testing"
)

// Requests of a server go to the only call that can answer them, unless a call of another session could be their cause.
func TestOnlyCaller(t *testing.T) {
	t.Parallel()
	ask := func(context.Context, Question) (Answer, error) { return Answer{}, nil }
	agent := func(user, caller string) *call { return &call{at: Place{user, "ses-1"}, caller: caller, ask: ask} }
	of := func(user string) *call { return &call{at: Place{user, "ses-1"}} }                          // reads a resource
	view := func(user string) *call { return &call{at: Place{user, "ses-1"}, caller: "ses-1/win-1"} } // calls a tool for a view
	for name, one := range map[string]struct {
		calls  []*call
		caller string // "" for none
	}{
		"no call":                              {nil, ""},
		"a view":                               {[]*call{view("ann")}, ""},
		"a resource":                           {[]*call{of("ann")}, ""},
		"an agent":                             {[]*call{agent("ann", "a")}, "a"},
		"two calls of an agent":                {[]*call{agent("ann", "a"), agent("ann", "a")}, "a"},
		"two agents":                           {[]*call{agent("ann", "a"), agent("ann", "b")}, ""},
		"an agent and a resource":              {[]*call{agent("ann", "a"), of("ann")}, "a"},
		"an agent and a view":                  {[]*call{agent("ann", "a"), view("ann"), of("ann")}, "a"},
		"an agent and a resource of another":   {[]*call{agent("ann", "a"), of("bob")}, ""},
		"an agent and a view of another":       {[]*call{agent("ann", "a"), of("ann"), view("bob")}, ""},
		"an agent and a view elsewhere":        {[]*call{agent("ann", "a"), {at: Place{"ann", "ses-2"}}}, ""},
		"agents of two users":                  {[]*call{agent("ann", "a"), agent("bob", "b")}, ""},
		"a resource and an agent without user": {[]*call{of(""), agent("", "a")}, "a"},
	} {
		s := &instance{calls: map[*call]bool{}}
		for _, c := range one.calls {
			s.calls[c] = true
		}
		got := ""
		if c := s.onlyCaller(); c != nil && c.ask != nil {
			got = c.caller
		}
		if got != one.caller {
			t.Errorf("%s: got the caller %q, want %q", name, got, one.caller)
		}
	}
}
