package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers/agent"
)

// A script stands for its command only if the shell is one that the agent did not write.
func TestShellScript(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	t.Setenv("PATH", strings.Join([]string{elsewhere, filepath.Join(dir, "bin"), ".", ""}, string(os.PathListSeparator)))
	for _, tt := range []struct {
		words string
		want  string
	}{
		{"bash -c ls", "ls"},
		{"sh -lc ls", "ls"},
		{"/bin/bash -c ls", "ls"},
		{"/usr/bin/zsh -lc ls", "ls"},
		{elsewhere + "/bash -c ls", "ls"},
		{elsewhere + "/../bash -c ls", ""},
		{"./bash -c ls", ""},
		{"../bash -c ls", ""},
		{"bin/bash -c ls", ""},
		{dir + "/bash -c ls", ""},
		{dir + "/bin/bash -c ls", ""}, // although PATH has it
		{link + "/bin/bash -c ls", ""},
		{"/bin/.." + dir + "/bash -c ls", ""},
		{"/tmp/bash -c ls", ""},
		{"/bash -c ls", ""},
		{`.\bash -c ls`, ""},
		{"/bin/python -c ls", ""},
		{"bash -x ls", ""},
		{"bash -c", ""},
		{"bash -c ls x", ""},
		{"", ""},
	} {
		for _, work := range []string{dir, link} {
			got, ok := agent.ShellScript(strings.Fields(tt.words), work)
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("%s in %s: got %q and %t, want %q", tt.words, work, got, ok, tt.want)
			}
		}
	}
}
