package remote_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
)

// The local hub's token is sent to the local hub only.
func TestParse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, remote.TokenFile), []byte("local\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args    []string
		environ []string
		local   command.Local
		want    string // URL, token
		admin   string // the same for admin requests
	}{
		"nothing":            {want: "http://127.0.0.1:8080 ", admin: "http://127.0.0.1:8080 "},
		"token of its hub":   {local: command.Local{Folder: folder}, want: "http://127.0.0.1:8080 local", admin: "http://127.0.0.1:8080 local"},
		"not for other hubs": {args: []string{"--server", "http://x"}, local: command.Local{Folder: folder}, want: "http://x ", admin: "http://x "},
		"variable":           {environ: []string{"HUB_TOKEN=v"}, local: command.Local{Folder: folder}, want: "http://127.0.0.1:8080 v", admin: "http://127.0.0.1:8080 v"},
		"flag first":         {args: []string{"--token", "f"}, environ: []string{"HUB_TOKEN=v"}, want: "http://127.0.0.1:8080 f", admin: "http://127.0.0.1:8080 f"},
		"URL to click":       {args: []string{"--server=https://x:1/?token=c"}, want: "https://x:1/ c", admin: "https://x:1/ c"},
		"for admins":         {local: command.Local{Addr: "0.0.0.0:1", AdminAddr: "[::]:2"}, want: "http://127.0.0.1:1 ", admin: "http://127.0.0.1:2 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.local.Addr == "" {
				tt.local.Addr = "127.0.0.1:8080"
			}
			c := command.Call{
				Args: append(tt.args, "rest", "--more"), Environ: tt.environ,
				Local: func(args, _ []string, _ *command.UsageErrors) (command.Local, []string) { return tt.local, args },
			}
			var wrong command.UsageErrors
			h, _, rest := remote.Parse(c, nil, &wrong)
			if got := h.URL.String() + " " + h.Token; got != tt.want || !slices.Equal(rest, []string{"rest", "--more"}) {
				t.Errorf("got %q and %q, want %q", got, rest, tt.want)
			}
			h, _, _ = remote.ParseAdmin(c, nil, &wrong)
			if got := h.URL.String() + " " + h.Token; got != tt.admin {
				t.Errorf("admin: got %q, want %q", got, tt.admin)
			}
			if err := wrong.OrNil(); err != nil {
				t.Error(err)
			}
		})
	}
}
