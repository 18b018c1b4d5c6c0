package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exampleOf returns the example of a README: the shell commands in its second code block, after
// those that start the hub.
func exampleOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```sh\n")
	if len(blocks) < 3 {
		t.Fatalf("%s: got %d blocks of shell commands, want at least 2", name, len(blocks)-1)
	}
	example, _, _ := strings.Cut(blocks[2], "```")
	if !strings.Contains(example, "hub attach") {
		t.Fatalf("the second block of %s: got %q, want the example", name, example)
	}
	return example
}

// The example of each README works as written: in the folder of a hub that started with the
// defaults and answers with the demo provider. Only the address differs.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	for name, note := range map[string]string{"README.md": "Hello from curl", "README.ko.md": "curl에서 보낸 인사"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			program, err := exec.LookPath("hub")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(program, filepath.Join(folder, "bin", "hub")); err != nil {
				t.Fatal(err)
			}
			s := newServer(t, testProvider{env: []string{"HUB_PROVIDER=demo"}}, []string{"--auth", "token", "--store", "file:" + filepath.Join(folder, "everdesk-data")})
			s.start(t, "127.0.0.1:0")
			url, _, _ := strings.Cut(s.url, "/?")
			addr := strings.TrimPrefix(url, "http://")

			cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.ReplaceAll(exampleOf(t, name), "127.0.0.1:8080", addr))
			cmd.Dir = folder
			cmd.Env = []string{"GORACE=" + noRaceNap, "PATH=" + os.Getenv("PATH"), "HUB_ADDR=" + addr} // attach looks for the hub there
			cmd.Stderr = t.Output()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var session string
			lines := bufio.NewReader(out)
			for line := ""; !strings.Contains(line, `api_req_finished`); { // the turn has ended
				if line, err = lines.ReadString('\n'); err != nil {
					t.Fatalf("output before the end of the turn: got %q and error %v, want more", line, err)
				}
				if found := regexp.MustCompile(`^http://.*/\?session=(ses-.+)\n`).FindStringSubmatch(line); found != nil {
					session = found[1]
				}
			}
			token, err := os.ReadFile(filepath.Join(folder, "everdesk-data", "token"))
			if err != nil {
				t.Fatal(err)
			}
			v := visitor{t, url, http.Header{"Authorization": {"Bearer " + strings.TrimSpace(string(token))}}}
			var state struct {
				Windows []struct{ Content struct{ Data string } }
			}
			v.do(http.MethodGet, "/api/sessions/"+session+"/snapshot", "", http.StatusOK, &state)
			if len(state.Windows) != 1 || !strings.Contains(state.Windows[0].Content.Data, note) {
				t.Errorf("windows: got %+v, want one with %q", state.Windows, note)
			}
			if _, err := io.WriteString(stdin, ":quit\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, lines); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the example ended with %v, want success", err)
			}
		})
	}
}
