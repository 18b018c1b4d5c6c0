package codex

import "testing"

func TestScript(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"/bin/bash -lc 'git status'":               "git status",
		"bash -lc ls":                              "ls",
		`/bin/zsh -c "echo \"it's\" \$HOME"`:       `echo "it's" $HOME`,
		`/bin/bash -lc 'echo '"'"'a'"'"''`:         "echo 'a'",
		`/bin/bash -lc git\ push`:                  "git push",
		"/bin/bash -lc 'git status && git push'":   "git status && git push",
		"/bin/bash -lc 'a' 'b'":                    "/bin/bash -lc 'a' 'b'",
		"/bin/bash -lc 'git status'; git push":     "/bin/bash -lc 'git status'; git push",
		`/bin/bash -lc "echo $(git push)"`:         `/bin/bash -lc "echo $(git push)"`,
		"/bin/bash -lc `git push`":                 "/bin/bash -lc `git push`",
		"./bash -lc 'git status'":                  "./bash -lc 'git status'",
		"work/bin/bash -lc 'git status'":           "work/bin/bash -lc 'git status'",
		"/work/dir/bash -lc 'git status'":          "/work/dir/bash -lc 'git status'",
		"/bin/../work/dir/bash -lc 'git status'":   "/bin/../work/dir/bash -lc 'git status'",
		"/tmp/bash -lc 'git status'":               "/tmp/bash -lc 'git status'",
		"PATH=. bash -lc 'git status'":             "PATH=. bash -lc 'git status'",
		"/bin/bash --rcfile x -lc 'git status'":    "/bin/bash --rcfile x -lc 'git status'",
		"/bin/bash -lc 'git status":                "/bin/bash -lc 'git status",
		"/bin/bash -lc 'git status' > /etc/passwd": "/bin/bash -lc 'git status' > /etc/passwd",
		"python3 -c 'print(1)'":                    "python3 -c 'print(1)'",
		"git status":                               "git status",
		"":                                         "",
	} {
		if got := script(line, "/work/dir"); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}
