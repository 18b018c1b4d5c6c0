package attach

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// noSettings refuses all flags as unknown settings.
func noSettings(args, _ []string, wrong *command.UsageErrors) (command.Local, []string) {
	var rest []string
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			wrong.Add("flag %s: no such setting", arg)
			continue
		}
		rest = append(rest, arg)
	}
	return command.Local{Addr: "127.0.0.1:8080"}, rest
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args  []string
		want  string // server, token, session, title, JSON
		wrong int
	}{
		"nothing":      {want: "http://127.0.0.1:8080||||false"},
		"session":      {args: []string{"ses-1", "--json"}, want: "http://127.0.0.1:8080||ses-1||true"},
		"URL to click": {args: []string{"--server=https://x:1/?token=c"}, want: "https://x:1/|c|||false"},
		"new":          {args: []string{"--new", "My desk"}, want: "http://127.0.0.1:8080|||My desk|false"},
		"mistakes": {
			args:  []string{"a b", "extra", "--server", "ftp://x", "--monitor", "a b", "--for", "x", "--until", "x", "--state-hash=0", "--json=yes", "--plain", "--dance", "--token"},
			wrong: 11,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wrong command.UsageErrors
			a := parse(command.Call{Args: tt.args, Local: noSettings}, &wrong)
			if len(wrong) != tt.wrong {
				t.Errorf("%d mistakes, want %d: %v", len(wrong), tt.wrong, wrong)
			}
			if tt.wrong > 0 {
				return
			}
			got := strings.Join([]string{a.hub.URL.String(), a.hub.Token, string(a.session), a.title, map[bool]string{true: "true", false: "false"}[a.json]}, "|")
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
