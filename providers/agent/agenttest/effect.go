package agenttest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
)

// Execute does in a folder what an approved call of a stand-in's own tool asks for: it runs a command and
// returns its output, or writes a file. Other calls have no effect.
func (s Step) Execute(dir string) (string, error) {
	var in struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
		Content string `json:"content"`
	}
	switch err := json.Unmarshal(s.Input, &in); {
	case err != nil:
		return "", err
	case in.Path != "":
		if !filepath.IsAbs(in.Path) {
			in.Path = filepath.Join(dir, in.Path)
		}
		return "", os.WriteFile(in.Path, []byte(in.Content), 0o600)
	case in.Command != "":
		c := exec.Command("/bin/sh", "-c", in.Command) //nolint:gosec,noctx // the command of a test
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
	return "", nil
}
