package wire_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

type validator interface{ Validate() error }

// idKinds are all kinds of ids, with their maximum length and whether only letters, digits,
// '_' and '-' are allowed.
var idKinds = map[string]struct {
	make func(string) validator
	form *wire.Shape
	name bool
	max  int
}{
	"session":    {func(s string) validator { return wire.SessionID(s) }, wire.FormatOf[wire.SessionID]().Shape(), true, 64},
	"replica":    {func(s string) validator { return wire.ReplicaID(s) }, wire.FormatOf[wire.ReplicaID]().Shape(), true, 64},
	"monitor":    {func(s string) validator { return wire.MonitorID(s) }, wire.FormatOf[wire.MonitorID]().Shape(), true, 64},
	"connection": {func(s string) validator { return wire.ConnectionID(s) }, wire.FormatOf[wire.ConnectionID]().Shape(), true, 64},
	"client":     {func(s string) validator { return wire.ClientID(s) }, wire.FormatOf[wire.ClientID]().Shape(), false, 64},
	"message":    {func(s string) validator { return wire.MessageID(s) }, wire.FormatOf[wire.MessageID]().Shape(), false, 64},
	"window":     {func(s string) validator { return wire.WindowID(s) }, wire.FormatOf[wire.WindowID]().Shape(), false, 64},
	"agent":      {func(s string) validator { return wire.AgentID(s) }, wire.FormatOf[wire.AgentID]().Shape(), false, 192},
	"dialog":     {func(s string) validator { return wire.DialogID(s) }, wire.FormatOf[wire.DialogID]().Shape(), false, 64},
	"prompt":     {func(s string) validator { return wire.PromptID(s) }, wire.FormatOf[wire.PromptID]().Shape(), false, 64},
	"request":    {func(s string) validator { return wire.RequestID(s) }, wire.FormatOf[wire.RequestID]().Shape(), false, 192},
	"plan":       {func(s string) validator { return wire.PlanID(s) }, wire.FormatOf[wire.PlanID]().Shape(), false, 64},
	"todo":       {func(s string) validator { return wire.TodoID(s) }, wire.FormatOf[wire.TodoID]().Shape(), false, 64},
	"task":       {func(s string) validator { return wire.TaskID(s) }, wire.FormatOf[wire.TaskID]().Shape(), false, 64},
	"notice":     {func(s string) validator { return wire.NoticeID(s) }, wire.FormatOf[wire.NoticeID]().Shape(), false, 64},
	"app":        {func(s string) validator { return wire.AppID(s) }, wire.FormatOf[wire.AppID]().Shape(), false, 64},
	"shortcut":   {func(s string) validator { return wire.ShortcutID(s) }, wire.FormatOf[wire.ShortcutID]().Shape(), false, 64},
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for kind, k := range idKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			tests := map[string]bool{
				"ses-1_A": true, "x": true, strings.Repeat("x", k.max): true,
				"": false, strings.Repeat("x", k.max+1): false, strings.Repeat("x", 10<<10): false,
				"a\x00b": false, "a\nb": false, "\x7f": false, "\u0085": false, "a\xffb": false, "\xed\xa0\x80": false,
				"../x": !k.name, "{p1}": !k.name, "window-win1/action-3": !k.name, "a b": !k.name, "창": !k.name,
				strings.Repeat("창", k.max): !k.name, "a\ufffdb": !k.name,
			}
			for id, want := range tests {
				switch err := k.make(id).Validate(); {
				case (err == nil) != want:
					t.Errorf("id %.80q: got error %v, want it valid: %v", id, err, want)
				case err != nil && !errors.Is(err, wire.ErrID):
					t.Errorf("id %.80q: got error %v, want %v", id, err, wire.ErrID)
				}
			}
		})
	}
}

func TestIDsFollowTheirPattern(t *testing.T) {
	t.Parallel()
	for kind, k := range idKinds {
		pattern := regexp.MustCompile(k.form.Pattern)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\x00-\x{a0}]{0,300}`), rapid.StringMatching(`[\w-]{0,70}`)).Draw(t, "id")
				err := k.make(s).Validate()
				if utf8.ValidString(s) && (err == nil) != pattern.MatchString(s) {
					t.Fatalf("id %q: got error %v, want the same verdict as pattern %v", s, err, pattern)
				}
			})
		})
	}
}
