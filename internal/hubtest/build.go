package hubtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build makes the hub's program in a folder and returns its path. Further
// arguments are those of go build. The race detector is not in it, although it may
// be in the test: whole fleets would be so slow that leases run out. The tests of
// cmd/hub run hubs with it.
func Build(ctx context.Context, folder, name string, args ...string) (string, error) {
	path := filepath.Join(folder, name)
	all := append([]string{"build", "-o", path}, args...)
	cmd := exec.CommandContext(ctx, "go", append(all, "github.com/everdesk/everdesk/cmd/hub")...) //nolint:gosec // the tests' own arguments
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")                                               // as everybody builds it, whose work is then not done again
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the hub: %w\n%s", err, out)
	}
	return path, nil
}
