package hubtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build compiles the hub into a folder and returns its path. Further arguments are passed
// to go build. It does not use the race detector, even if the test does: a cluster would be
// so slow that leases expire. The tests of cmd/hub run hubs with the race detector.
func Build(ctx context.Context, folder, name string, args ...string) (string, error) {
	path := filepath.Join(folder, name)
	all := append([]string{"build", "-o", path}, args...)
	cmd := exec.CommandContext(ctx, "go", append(all, "github.com/everdesk/everdesk/cmd/hub")...) //nolint:gosec // the tests' own arguments
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")                                               // the same settings as other builds, so that the build cache is shared
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the hub: %w\n%s", err, out)
	}
	return path, nil
}
