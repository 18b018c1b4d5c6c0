package hubtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build makes the hub's program in a folder and returns its path. Further
// arguments are those of go build. With the race detector in the test, it is in
// the hub too.
func Build(ctx context.Context, folder, name string, args ...string) (string, error) {
	path := filepath.Join(folder, name)
	all := append([]string{"build", "-o", path}, args...)
	if raced {
		all = append(all, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(all, "github.com/everdesk/everdesk/cmd/hub")...) //nolint:gosec // the tests' own arguments
	if raced {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the hub: %w\n%s", err, out)
	}
	return path, nil
}
